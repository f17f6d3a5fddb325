//! The background sync of ordered commits.

use crate::journal::JournalError;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Delay of a background sync. Delay and sync together stay within the guaranteed 50 ms.
const DELAY: Duration = Duration::from_millis(25);

/// Syncs the WAL in the background after ordered commits, and remembers that the disk failed.
pub(super) struct Syncer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    wal: PathBuf,
    /// Locked during a background sync. All syncs use one open file, because the kernel reports a
    /// failed write once per open file.
    file: Mutex<Option<File>>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    unsynced: bool,
    closing: bool,
    failed: Option<JournalError>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Syncs, and stores a failure before another sync can succeed.
    fn sync(&self) {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let result = match &*file {
            Some(open) => open.sync_data(),
            None => File::open(&self.wal).and_then(|open| file.insert(open).sync_data()),
        };
        if let Err(error) = result {
            let mut state = self.lock();
            state.failed.get_or_insert(JournalError::of_file("sync", &self.wal, &error));
        }
    }
}

impl Syncer {
    pub(super) fn start(wal: &Path) -> Result<Syncer, JournalError> {
        let shared = Arc::new(Shared {
            wal: wal.into(),
            file: Mutex::default(),
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let theirs = shared.clone();
        let thread = std::thread::Builder::new()
            .name("kb-sync".into())
            .spawn(move || sync_in_background(&theirs))
            .map_err(|error| JournalError::Broken(format!("cannot start a thread: {error}")))?;
        Ok(Syncer { shared, thread: Some(thread) })
    }

    /// Fails if the disk failed before. The system may drop data that it could not write and report
    /// success for the next sync.
    pub(super) fn check(&self) -> Result<(), JournalError> {
        self.shared.lock().failed.clone().map_or(Ok(()), Err)
    }

    /// Marks the disk as failed.
    pub(super) fn fail(&self, error: &JournalError) {
        self.shared.lock().failed.get_or_insert(error.clone());
    }

    /// Called after SQLite synced all commits. Waits for a background sync and fails if it failed.
    pub(super) fn settle(&self) -> Result<(), JournalError> {
        drop(self.shared.file.lock().unwrap_or_else(PoisonError::into_inner));
        let mut state = self.shared.lock();
        state.unsynced = false;
        state.failed.clone().map_or(Ok(()), Err)
    }

    /// Schedules a sync of the latest commit within 50 ms.
    pub(super) fn sync_soon(&self) {
        let mut state = self.shared.lock();
        if !state.unsynced {
            state.unsynced = true;
            self.shared.changed.notify_one();
        }
    }
}

fn sync_in_background(shared: &Shared) {
    let mut state = shared.lock();
    loop {
        while !state.unsynced && !state.closing {
            state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if !state.closing {
            let waited = shared.changed.wait_timeout_while(state, DELAY, |state| !state.closing);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        if std::mem::take(&mut state.unsynced) {
            drop(state);
            shared.sync();
            state = shared.lock();
        }
        if state.closing {
            return;
        }
    }
}

impl Drop for Syncer {
    fn drop(&mut self) {
        self.shared.lock().closing = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The system may report a failed write to the first caller only, so a durable commit waits for a
    /// background sync that started before it.
    #[test]
    fn a_durable_commit_waits_for_a_background_sync() {
        let syncer = Syncer::start("none".as_ref()).unwrap();
        let failed = JournalError::Broken("the disk fails".into());
        let under_way = syncer.shared.file.lock().unwrap();
        std::thread::scope(|scope| {
            let settled = scope.spawn(|| syncer.settle());
            // Time for it to answer too early.
            std::thread::sleep(Duration::from_millis(50));
            syncer.fail(&failed);
            drop(under_way);
            assert_eq!(settled.join().unwrap(), Err(failed));
        });
    }
}
