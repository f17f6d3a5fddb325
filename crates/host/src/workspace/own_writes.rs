//! Writes of `kb` itself while a process is watched: merges, files of stored results and calls of file
//! tools. They are known, so they do not count as changes of the process.

use kb_core::evidence::{FileState, Manifest};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The writes of `kb` in one workspace, as long as something is watched there.
#[derive(Debug, Default)]
pub(super) struct OwnWrites {
    /// Held for reading by a scan, for writing by a write: a scan sees a write whole or not at all.
    scans: RwLock<()>,
    log: Mutex<Log>,
}

#[derive(Debug, Default)]
struct Log {
    watchers: usize,
    writes: Vec<OwnWrite>,
}

/// One path before and after a write, with digests.
#[derive(Debug)]
pub(super) struct OwnWrite {
    pub(super) path: String,
    pub(super) before: Option<FileState>,
    pub(super) after: Option<FileState>,
}

/// A watched process: the writes from here on are not its own.
#[derive(Debug)]
pub(super) struct Watching {
    writes: Arc<OwnWrites>,
    from: usize,
}

impl OwnWrites {
    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps writes of `kb` away until the result is dropped. Blocks while one happens.
    pub(super) fn scanning(&self) -> RwLockReadGuard<'_, ()> {
        self.scans.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps scans and other writes of `kb` away until the result is dropped. Blocks while one happens.
    pub(super) fn writing(&self) -> RwLockWriteGuard<'_, ()> {
        self.scans.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a process is watched. Call it while [`OwnWrites::writing`] is held.
    pub(super) fn is_watched(&self) -> bool {
        self.log().watchers > 0
    }

    /// Notes a write for those who watch. Call it while [`OwnWrites::writing`] is held.
    pub(super) fn note(&self, write: OwnWrite) {
        self.log().writes.push(write);
    }

    /// Notes the writes from now on. Call it while [`OwnWrites::scanning`] is held.
    pub(super) fn watching(self: &Arc<Self>) -> Watching {
        let mut log = self.log();
        log.watchers += 1;
        Watching { writes: self.clone(), from: log.writes.len() }
    }
}

impl Watching {
    /// Adds the noted writes to the state before the process, as far as the process had not changed the
    /// same path before. `racy` gets their paths, because the process may have written directly after.
    pub(super) fn add_to(&self, before: &mut Manifest, racy: &mut Vec<String>) {
        let log = self.writes.log();
        for write in log.writes.iter().skip(self.from) {
            let is_same = match (before.files.get(&write.path), &write.before) {
                (None, None) => true,
                (Some(seen), Some(found)) => {
                    let digests = seen.sha256.zip(found.sha256);
                    seen.same_stat(found) && digests.is_none_or(|(seen, found)| seen == found)
                }
                (Some(_), None) | (None, Some(_)) => false,
            };
            if !is_same {
                continue;
            }
            match &write.after {
                Some(after) => before.files.insert(write.path.clone(), after.clone()),
                None => before.files.remove(&write.path),
            };
            racy.push(write.path.clone());
        }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let mut log = self.writes.log();
        log.watchers -= 1;
        if log.watchers == 0 {
            log.writes = Vec::new();
        }
    }
}
