//! Cached contents of small files. With them, a change around a process can be shown as a diff, and
//! a change that leaves the stat data as they were is detected.

use super::content::{MAX_HASHED, SMALL};
use super::path_guard::Workspace;
use crate::evidence::{FileKind, FileState, Manifest};
use crate::value::Timestamp;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Maximum number of cached files.
const MAX_FILES: usize = 4_000;
/// Maximum number of bytes of cached text.
const MAX_TEXT: usize = 8 << 20;
/// Maximum number of larger, just written files that are hashed in one scan.
const MAX_RACY: usize = 256;
/// Time in which a file can change again without a new timestamp: longer than a clock tick.
const TICK_NS: i64 = 50_000_000;
/// The same for file systems that store whole seconds.
const COARSE_TICK_NS: i64 = 2_000_000_000;

/// The cached contents of one workspace.
#[derive(Debug, Default)]
pub(super) struct ContentCache(Mutex<CacheState>);

#[derive(Debug, Default)]
struct CacheState {
    files: HashMap<String, Entry>,
    text: usize,
}

#[derive(Debug)]
struct Entry {
    /// With the digest of the content.
    state: FileState,
    text: Option<Arc<str>>,
}

impl ContentCache {
    fn lock(&self) -> MutexGuard<'_, CacheState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The cached text of a file in this state.
    pub(super) fn text(&self, path: &str, state: &FileState) -> Option<Arc<str>> {
        let kept = self.lock();
        let entry = kept.files.get(path)?;
        entry.state.same_stat(state).then(|| entry.text.clone()).flatten()
    }

    /// Caches the content of a small file, as far as the limits permit.
    pub(super) fn keep(&self, path: &str, state: &FileState, bytes: &[u8]) {
        self.lock().keep(path, state, bytes);
    }
}

impl CacheState {
    fn keep(&mut self, path: &str, state: &FileState, bytes: &[u8]) {
        if let Some(stale) = self.files.remove(path) {
            self.text -= stale.text.map_or(0, |text| text.len());
        }
        if self.files.len() >= MAX_FILES {
            return;
        }
        let text = std::str::from_utf8(bytes).ok();
        let text = text.filter(|text| self.text + text.len() <= MAX_TEXT).map(Arc::from);
        self.text += text.as_ref().map_or(0, |text: &Arc<str>| text.len());
        self.files.insert(path.to_owned(), Entry { state: state.clone(), text });
    }

    fn has_room(&self, path: &str) -> bool {
        self.files.len() < MAX_FILES || self.files.contains_key(path)
    }
}

impl Workspace {
    /// Adds digests to a manifest, from the cache or by reading small files. Returns the files that
    /// were written so recently that another write would not change their stat data; their content
    /// is read now. Blocks.
    pub(super) fn add_digests(&self, manifest: &mut Manifest, now: Timestamp) -> Vec<String> {
        let mut kept = self.content_cache().lock();
        let mut racy = Vec::new();
        for (path, state) in &mut manifest.files {
            if state.kind != FileKind::File {
                continue;
            }
            let recent = is_recent(state, now);
            let entry = kept.files.get(path).filter(|entry| entry.state.same_stat(state));
            if let Some(entry) = entry.filter(|_| !recent) {
                state.sha256 = entry.state.sha256;
                continue;
            }
            if state.size <= SMALL && kept.has_room(path) {
                let located = self.locate(path);
                let Ok(content) = located.and_then(|now| self.content(&now)) else { continue };
                state.sha256 = content.sha256;
                if let Some(bytes) = content.small {
                    kept.keep(path, state, &bytes);
                }
            } else if recent && state.size <= MAX_HASHED && racy.len() < MAX_RACY {
                state.sha256 = self.stat(path).ok().flatten().and_then(|seen| seen.sha256);
            }
            if recent && state.sha256.is_some() {
                racy.push(path.clone());
            }
        }
        racy
    }
}

/// Whether the timestamps of a file are so recent that another write could leave them unchanged.
fn is_recent(state: &FileState, now: Timestamp) -> bool {
    const SECOND: i64 = 1_000_000_000;
    let newest = state.ctime_ns.max(state.mtime_ns);
    let coarse = state.ctime_ns % SECOND == 0 && state.mtime_ns % SECOND == 0;
    let tick = if coarse { COARSE_TICK_NS } else { TICK_NS };
    newest > now.0.saturating_mul(1_000_000) - tick
}
