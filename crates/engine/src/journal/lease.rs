//! Leases as locked files: the kernel releases a lock when its process ends, however it ends.

use super::JournalError;
use super::owner_lock::{is_owned, try_own};
use kb_base::value::{RunId, Timestamp};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// An owner that ends releases its lock with its last process, which may be one that it just started.
const TRIES: u32 = 10;
const PAUSE: Duration = Duration::from_millis(2);

/// The leases of this process, one locked file per run. The lease of a dead owner can be acquired at
/// once, the lease of a live owner never.
pub(super) struct LeaseFiles {
    directory: PathBuf,
    owned: Mutex<BTreeMap<RunId, Lease>>,
}

struct Lease {
    epoch: u64,
    lock: LockFile,
}

struct LockFile {
    file: File,
    /// Process id that the file contained before, and when that process wrote it last.
    previous: Option<(u32, Option<Timestamp>)>,
}

impl LeaseFiles {
    pub(super) fn new(directory: PathBuf) -> LeaseFiles {
        LeaseFiles { directory, owned: Mutex::default() }
    }

    fn owned(&self) -> MutexGuard<'_, BTreeMap<RunId, Lease>> {
        self.owned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn path(&self, run: &RunId) -> PathBuf {
        self.directory.join(format!("{run}.lock"))
    }

    /// Locks the file of the run, stores the new epoch with `claim`, and keeps the lock.
    pub(super) fn acquire(
        &self,
        run: &RunId,
        claim: impl FnOnce() -> Result<u64, JournalError>,
    ) -> Result<u64, JournalError> {
        let path = self.path(run);
        let lock = self.lock_file(run, &path)?;
        match claim() {
            Ok(epoch) => {
                self.owned().insert(run.clone(), Lease { epoch, lock });
                Ok(epoch)
            }
            Err(error) => {
                remove(&lock.file, &path);
                Err(error)
            }
        }
    }

    fn lock_file(&self, run: &RunId, path: &Path) -> Result<LockFile, JournalError> {
        let failed = |error: io::Error| JournalError::of_file("lock", path, &error);
        for _ in 0..TRIES {
            let mut file = open(path).map_err(failed)?;
            if !try_own(&file).map_err(failed)? {
                std::thread::sleep(PAUSE);
            } else if is_still_at(&file, path) {
                let seen = written_at(&file);
                let previous = write_owner(&mut file).map_err(failed)?;
                return Ok(LockFile { file, previous: previous.map(|pid| (pid, seen)) });
            }
            // Else its owner removed it after it was opened here.
        }
        let pid = std::fs::read_to_string(path).unwrap_or_default().trim().parse().unwrap_or(0);
        Err(JournalError::Leased { run: run.to_string(), pid })
    }

    /// Releases the lease if its epoch is `epoch`.
    pub(super) fn release(&self, run: &RunId, epoch: u64) {
        let mut owned = self.owned();
        let path = self.path(run);
        if let Some(lease) = owned.get(run).filter(|lease| lease.epoch == epoch) {
            remove(&lease.lock.file, &path);
            owned.remove(run);
        }
    }

    /// Releases the lease if its epoch is `epoch`, and leaves the file with the present time, as after a kill.
    pub(super) fn abandon(&self, run: &RunId, epoch: u64) {
        if self.owns(run, epoch) {
            self.renew(run);
            self.owned().remove(run);
        }
    }

    /// The process id that the file contained when this process acquired the lease, if it is that of another one. An
    /// owner that releases a lease removes the file.
    pub(super) fn previous_owner(&self, run: &RunId) -> Option<u32> {
        let previous = self.owned().get(run)?.lock.previous;
        previous.map(|(pid, _)| pid).filter(|pid| *pid != std::process::id())
    }

    /// Writes the id of this process again, so that the file has the present time.
    pub(super) fn renew(&self, run: &RunId) {
        if let Some(lease) = self.owned().get_mut(run) {
            // Without a renewal, a killed run shows less of its time.
            let _ = lease.lock.file.rewind();
            let _ = write!(lease.lock.file, "{}", std::process::id());
        }
    }

    /// When the last owner that did not release the lease wrote the file.
    pub(super) fn last_renewal(&self, run: &RunId) -> Option<Timestamp> {
        if let Some(lease) = self.owned().get(run) {
            return lease.lock.previous.and_then(|(_, seen)| seen);
        }
        let mut options = OpenOptions::new();
        let file = options.read(true).custom_flags(libc::O_NONBLOCK).open(self.path(run));
        written_at(&file.ok()?)
    }

    /// Whether this process owns the lease with this epoch.
    pub(super) fn owns(&self, run: &RunId, epoch: u64) -> bool {
        self.owned().get(run).is_some_and(|lease| lease.epoch == epoch)
    }

    /// Whether any process owns the lease of any run.
    pub(super) fn any_is_leased(&self) -> Result<bool, JournalError> {
        if !self.owned().is_empty() {
            return Ok(true);
        }
        let failed = |error: io::Error| JournalError::of_file("read", &self.directory, &error);
        for entry in std::fs::read_dir(&self.directory).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            let name = name.to_string_lossy();
            let run = name.strip_suffix(".lock").and_then(|name| RunId::new(name).ok());
            if let Some(run) = run
                && self.is_leased(&run)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether any process owns the lease.
    pub(super) fn is_leased(&self, run: &RunId) -> Result<bool, JournalError> {
        let path = self.path(run);
        loop {
            let mut options = OpenOptions::new();
            let file = match options.read(true).custom_flags(libc::O_NONBLOCK).open(&path) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
                Err(error) => return Err(JournalError::of_file("open", &path, &error)),
            };
            let failed = |error| JournalError::of_file("lock", &path, &error);
            if is_owned(&file).map_err(failed)? {
                return Ok(true);
            }
            // Else the file was removed or replaced.
            if is_still_at(&file, &path) {
                return Ok(false);
            }
        }
    }
}

impl Drop for LeaseFiles {
    fn drop(&mut self) {
        for (run, lease) in self.owned().iter() {
            remove(&lease.lock.file, &self.path(run));
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    options.custom_flags(libc::O_NONBLOCK).open(path)
}

/// Removes a lock file while it is locked, so that a process that opened it meanwhile detects the
/// removal. If the lock was lost, the path names the file of another owner, which stays.
fn remove(locked: &File, path: &Path) {
    if is_still_at(locked, path) {
        let _ = std::fs::remove_file(path);
    }
}

fn written_at(file: &File) -> Option<Timestamp> {
    let metadata = file.metadata().ok()?;
    Some(Timestamp(metadata.mtime() * 1_000 + metadata.mtime_nsec() / 1_000_000))
}

fn is_still_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(ours), Ok(there)) => (ours.dev(), ours.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

/// Writes the id of this process; returns the id that the file contained before.
fn write_owner(file: &mut File) -> io::Result<Option<u32>> {
    let mut before = String::new();
    file.read_to_string(&mut before)?;
    if !before.is_empty() {
        // Only then: some file systems write a truncated file at once when it is closed.
        file.set_len(0)?;
        file.rewind()?;
    }
    write!(file, "{}", std::process::id())?;
    Ok(before.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Its work ended with its process, so that changes of files until then can be those of the work.
    #[test]
    fn an_abandoned_lease_tells_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let (leases, run) = (LeaseFiles::new(folder.path().to_owned()), RunId::new("r1").unwrap());
        assert_eq!(leases.acquire(&run, || Ok(1)), Ok(1));
        leases.abandon(&run, 7);
        assert_eq!(leases.is_leased(&run), Ok(true));
        leases.abandon(&run, 1);
        assert_eq!(leases.is_leased(&run), Ok(false));
        assert!(leases.last_renewal(&run).is_some());
        assert_eq!(leases.acquire(&run, || Ok(2)), Ok(2));
        assert!(leases.last_renewal(&run).is_some());
        // Its process lives: no process of the work is left.
        assert_eq!(leases.previous_owner(&run), None);
        leases.release(&run, 2);
        assert_eq!(leases.last_renewal(&run), None);
    }
}
