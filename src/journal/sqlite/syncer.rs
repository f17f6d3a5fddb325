use crate::journal::JournalError;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long a commit may wait for the next background sync; with the sync itself this stays within
/// the promised 50 ms.
const DELAY: Duration = Duration::from_millis(25);

/// Brings commits from the WAL onto the disk: at once where asked, else soon, in the background.
pub(super) struct Syncer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    wal: PathBuf,
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
}

impl Syncer {
    pub(super) fn start(wal: &Path) -> Result<Syncer, JournalError> {
        let shared =
            Arc::new(Shared { wal: wal.into(), state: Mutex::default(), changed: Condvar::new() });
        let theirs = shared.clone();
        let thread = std::thread::Builder::new()
            .name("kb-sync".into())
            .spawn(move || sync_in_background(&theirs))
            .map_err(|error| JournalError::Broken(format!("cannot start a thread: {error}")))?;
        Ok(Syncer { shared, thread: Some(thread) })
    }

    /// Whether a background sync has failed. After that nothing more is promised: what the system
    /// could not write once it may drop silently.
    pub(super) fn check(&self) -> Result<(), JournalError> {
        self.shared.lock().failed.clone().map_or(Ok(()), Err)
    }

    /// Everything committed is on the disk when this returns.
    pub(super) fn sync_now(&self) -> Result<(), JournalError> {
        let result = sync(&self.shared.wal);
        let mut state = self.shared.lock();
        match &result {
            Ok(()) => state.unsynced = false,
            Err(error) => state.failed = Some(error.clone()),
        }
        result
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
            let result = sync(&shared.wal);
            state = shared.lock();
            state.failed = state.failed.take().or(result.err());
        }
        if state.closing {
            return;
        }
    }
}

/// By path and anew each time: the WAL has no locks that closing a file could lose, unlike the
/// database itself.
fn sync(wal: &Path) -> Result<(), JournalError> {
    let synced = File::open(wal).and_then(|file| file.sync_data());
    synced.map_err(|error| JournalError::of_file("sync", wal, &error))
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
