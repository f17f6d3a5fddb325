use super::JournalError;
use crate::value::RunId;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Who asks whether a run is held has the lock for a moment; a taker tries again over that.
const TRIES: u32 = 10;
const PAUSE: Duration = Duration::from_millis(2);

/// Leases on runs: a locked file each. The kernel lets go when the holder ends, however it ends, so
/// a run of a dead holder can be taken at once and one of a living holder never.
pub(super) struct Leases {
    directory: PathBuf,
    held: Mutex<BTreeMap<RunId, Lease>>,
}

struct Lease {
    epoch: u64,
    locked: Locked,
}

struct Locked {
    file: File,
    /// Who was named in it.
    before: Option<u32>,
}

impl Leases {
    pub(super) fn new(directory: PathBuf) -> Leases {
        Leases { directory, held: Mutex::default() }
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<RunId, Lease>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn path(&self, run: &RunId) -> PathBuf {
        self.directory.join(format!("{run}.lock"))
    }

    /// Locks the run, lets `claim` store the new epoch, and keeps the lock under it.
    pub(super) fn acquire(
        &self,
        run: &RunId,
        claim: impl FnOnce() -> Result<u64, JournalError>,
    ) -> Result<u64, JournalError> {
        let path = self.path(run);
        let locked = self.lock(run, &path)?;
        match claim() {
            Ok(epoch) => {
                self.held().insert(run.clone(), Lease { epoch, locked });
                Ok(epoch)
            }
            Err(error) => {
                remove(&locked.file, &path);
                Err(error)
            }
        }
    }

    fn lock(&self, run: &RunId, path: &Path) -> Result<Locked, JournalError> {
        let failed = |error: io::Error| JournalError::of_file("lock", path, &error);
        for _ in 0..TRIES {
            let mut file = open(path).map_err(failed)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) if is_still_at(&file, path) => {
                    let before = name_holder(&mut file).map_err(failed)?;
                    return Ok(Locked { file, before });
                }
                Ok(()) => continue, // its last holder removed it between our opening and locking it
                Err(Errno::WOULDBLOCK) => std::thread::sleep(PAUSE),
                Err(error) => return Err(failed(error.into())),
            }
        }
        let pid = std::fs::read_to_string(path).unwrap_or_default().trim().parse().unwrap_or(0);
        Err(JournalError::Leased { run: run.to_string(), pid })
    }

    /// Lets go of the run, if it is held under this epoch.
    pub(super) fn release(&self, run: &RunId, epoch: u64) {
        let mut held = self.held();
        let path = self.path(run);
        if let Some(hold) = held.get(run).filter(|hold| hold.epoch == epoch) {
            remove(&hold.locked.file, &path);
            held.remove(run);
        }
    }

    /// The process that was named as the holder when this journal took hold of the run: whoever lets
    /// go takes the name along.
    pub(super) fn previous_owner(&self, run: &RunId) -> Option<u32> {
        self.held().get(run)?.locked.before
    }

    /// Whether this journal holds the run under this epoch.
    pub(super) fn has(&self, run: &RunId, epoch: u64) -> bool {
        self.held().get(run).is_some_and(|hold| hold.epoch == epoch)
    }

    /// Whether any process holds the run.
    pub(super) fn is_leased(&self, run: &RunId) -> Result<bool, JournalError> {
        let path = self.path(run);
        loop {
            let file = match File::open(&path) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
                Err(error) => return Err(JournalError::of_file("open", &path, &error)),
            };
            match flock(&file, FlockOperation::NonBlockingLockShared) {
                Ok(()) if is_still_at(&file, &path) => return Ok(false),
                Ok(()) => continue, // another file is there by now, or none
                Err(Errno::WOULDBLOCK) => return Ok(true),
                Err(error) => return Err(JournalError::of_file("lock", &path, &error.into())),
            }
        }
    }
}

impl Drop for Leases {
    fn drop(&mut self) {
        for (run, hold) in self.held().iter() {
            remove(&hold.locked.file, &self.path(run));
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// Removes a lock file while it is locked, so that who has opened it meanwhile sees that it is gone.
/// Where the lock was lost, another holder's file is there by now, and stays.
fn remove(locked: &File, path: &Path) {
    if is_still_at(locked, path) {
        let _ = std::fs::remove_file(path);
    }
}

fn is_still_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(ours), Ok(there)) => (ours.dev(), ours.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

/// Names this process; gives who was named before.
fn name_holder(file: &mut File) -> io::Result<Option<u32>> {
    let mut before = String::new();
    file.read_to_string(&mut before)?;
    file.set_len(0)?;
    file.rewind()?;
    write!(file, "{}", std::process::id())?;
    Ok(before.trim().parse().ok())
}
