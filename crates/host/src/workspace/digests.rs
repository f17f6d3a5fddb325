//! Adds digests to a manifest, from the cache of contents where the stat data shows no change.

use super::content::{MAX_HASHED, SMALL};
use super::path_guard::Workspace;
use kb_base::value::Timestamp;
use kb_core::evidence::{FileKind, FileState, Manifest};

/// Maximum number of larger, just written files that are hashed in one scan.
const MAX_RACY: usize = 256;
/// Time in which a file can change again without a new timestamp: longer than a clock tick.
const TICK_NS: i64 = 50_000_000;
/// The same for file systems that store whole seconds.
const COARSE_TICK_NS: i64 = 2_000_000_000;

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
                    kept.keep(path, state, Some(&bytes));
                }
            } else if recent && state.size <= MAX_HASHED && racy.len() < MAX_RACY {
                state.sha256 = self.stat(path).ok().flatten().and_then(|seen| seen.sha256);
            } else if kept.has_room(path) && kept.may_read(state.size) {
                let seen = self.stat(path).ok().flatten().filter(|seen| seen.same_stat(state));
                state.sha256 = seen.and_then(|seen| seen.sha256);
                if state.sha256.is_some() {
                    kept.keep(path, state, None);
                }
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
