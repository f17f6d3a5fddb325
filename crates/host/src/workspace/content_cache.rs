//! Cached texts of small files and digests of larger ones. With them, a change around a process can
//! be shown as a diff, and a change that leaves the stat data as they were is detected.

use kb_base::value::{Digest, Timestamp};
use kb_core::evidence::FileState;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Maximum number of cached files.
const MAX_FILES: usize = 4_000;
/// Maximum number of protected files whose digests are cached.
const MAX_PROTECTED: usize = 20_000;
/// Maximum number of bytes of cached text.
const MAX_TEXT: usize = 8 << 20;
/// Maximum number of bytes of larger files that are read for their digests before a step changed them.
const MAX_LARGER: u64 = 32 << 20;

/// Time in which a file can change again without a new timestamp: longer than a clock tick.
const TICK_NS: i64 = 50_000_000;
/// The same for file systems that store whole seconds.
const COARSE_TICK_NS: i64 = 2_000_000_000;

/// The cached contents of one workspace.
#[derive(Debug, Default)]
pub(super) struct ContentCache {
    files: Mutex<CacheState>,
    /// The states of protected files, with their digests, by the path as it is written.
    protected: Mutex<HashMap<String, FileState>>,
}

#[derive(Debug, Default)]
pub(super) struct CacheState {
    pub(super) files: HashMap<String, Entry>,
    text: usize,
    /// The bytes of larger files that were read before a step changed them.
    larger: u64,
}

#[derive(Debug)]
pub(super) struct Entry {
    /// With the digest of the content.
    pub(super) state: FileState,
    pub(super) text: Option<Arc<str>>,
}

impl ContentCache {
    pub(super) fn lock(&self) -> MutexGuard<'_, CacheState> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The digest of a protected file in this state. One that was written so recently that another write could leave its
    /// stat data unchanged has none.
    pub(super) fn protected(&self, path: &str, state: &FileState) -> Option<Digest> {
        let kept = self.protected.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(path).filter(|known| known.same_stat(state))?.sha256
    }

    /// Caches the state of a protected file with its digest, which was read after this moment.
    pub(super) fn keep_protected(&self, path: &str, state: &FileState, read: Timestamp) {
        let mut kept = self.protected.lock().unwrap_or_else(PoisonError::into_inner);
        let has_room = kept.len() < MAX_PROTECTED || kept.contains_key(path);
        if has_room && state.sha256.is_some() && !is_recent(state, read) {
            kept.insert(path.to_owned(), state.clone());
        }
    }

    /// The cached text of a file in this state.
    pub(super) fn text(&self, path: &str, state: &FileState) -> Option<Arc<str>> {
        let kept = self.lock();
        let entry = kept.files.get(path)?;
        entry.state.same_stat(state).then(|| entry.text.clone()).flatten()
    }

    /// Caches the state of a file with its digest and, for a small file, its text, as far as the
    /// limits permit.
    pub(super) fn keep(&self, path: &str, state: &FileState, small: Option<&[u8]>) {
        self.lock().keep(path, state, small);
    }
}

impl CacheState {
    pub(super) fn keep(&mut self, path: &str, state: &FileState, small: Option<&[u8]>) {
        if let Some(stale) = self.files.remove(path) {
            self.text -= stale.text.map_or(0, |text| text.len());
        }
        if self.files.len() >= MAX_FILES {
            return;
        }
        let text = small.and_then(|bytes| std::str::from_utf8(bytes).ok());
        let text = text.filter(|text| self.text + text.len() <= MAX_TEXT).map(Arc::from);
        self.text += text.as_ref().map_or(0, |text: &Arc<str>| text.len());
        self.files.insert(path.to_owned(), Entry { state: state.clone(), text });
    }

    pub(super) fn has_room(&self, path: &str) -> bool {
        self.files.len() < MAX_FILES || self.files.contains_key(path)
    }

    /// Whether a larger file of this size may be read for its digest. Counts its bytes if so.
    pub(super) fn may_read(&mut self, size: u64) -> bool {
        let total = self.larger.saturating_add(size);
        let fits = total <= MAX_LARGER;
        if fits {
            self.larger = total;
        }
        fits
    }
}

/// Whether the timestamps of a file are so recent that another write could leave them unchanged.
pub(super) fn is_recent(state: &FileState, now: Timestamp) -> bool {
    const SECOND: i64 = 1_000_000_000;
    let newest = state.ctime_ns.max(state.mtime_ns);
    let coarse = state.ctime_ns % SECOND == 0 && state.mtime_ns % SECOND == 0;
    let tick = if coarse { COARSE_TICK_NS } else { TICK_NS };
    newest > now.0.saturating_mul(1_000_000) - tick
}
