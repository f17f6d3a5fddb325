use crate::journal::JournalError;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long a commit may wait for the next background sync; with the sync itself this stays within
/// the promised 50 ms.
const DELAY: Duration = Duration::from_millis(25);

/// Brings ordered commits from the WAL onto the disk soon, in the background, and remembers that the
/// disk has failed.
pub(super) struct Syncer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    wal: PathBuf,
    /// Held while a background sync is under way. One open file for all of them: the kernel tells
    /// each open file once of a write that failed, whoever asked for that write.
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

    /// Syncs, and notes a failure before anybody can believe a later sync.
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

    /// Whether the disk has failed. After that nothing more is promised: what the system could not
    /// write once it may drop silently, and say that all is well when it is asked again.
    pub(super) fn check(&self) -> Result<(), JournalError> {
        self.shared.lock().failed.clone().map_or(Ok(()), Err)
    }

    /// The disk has failed.
    pub(super) fn fail(&self, error: &JournalError) {
        self.shared.lock().failed.get_or_insert(error.clone());
    }

    /// SQLite has synced all that was committed; whether a background sync under way did not fail.
    pub(super) fn settle(&self) -> Result<(), JournalError> {
        drop(self.shared.file.lock().unwrap_or_else(PoisonError::into_inner));
        let mut state = self.shared.lock();
        state.unsynced = false;
        state.failed.clone().map_or(Ok(()), Err)
    }

    /// Something was committed; it will be on the disk within 50 ms.
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

    /// The system may tell whoever asks first of a write that failed, and nobody after that: a commit
    /// that SQLite has synced meanwhile counts once that sync is over.
    #[test]
    fn what_is_durable_waits_for_a_background_sync_under_way() {
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
