//! Cached texts of small files and digests of larger ones. With them, a change around a process can
//! be shown as a diff, and a change that leaves the stat data as they were is detected.

use kb_core::evidence::FileState;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Maximum number of cached files.
const MAX_FILES: usize = 4_000;
/// Maximum number of bytes of cached text.
const MAX_TEXT: usize = 8 << 20;
/// Maximum number of bytes of larger files that are read for their digests before a step changed them.
const MAX_LARGER: u64 = 32 << 20;

/// The cached contents of one workspace.
#[derive(Debug, Default)]
pub(super) struct ContentCache(Mutex<CacheState>);

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
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
