//! Content-addressed files for large values.

use super::JournalError;
use kb_base::value::Digest;
use rustix::fs::{AtFlags, CWD, FlockOperation, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT};
use rustix::fs::{flock, utimensat};
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Prefix of the names of incomplete files.
const UNFINISHED: &str = ".new-";

/// Maximum size of a blob in bytes.
const LARGEST: u64 = 1 << 30;

/// How long a blob without a reference stays while a lease owner exists.
const RECENT: Duration = Duration::from_secs(3600);

/// Files named by the digest of their content: `ab/cdef…`. A file is renamed into place after it was
/// written completely, is synced before an event refers to it, and is verified when it is read.
pub(super) struct BlobStore {
    directory: PathBuf,
    counter: AtomicU64,
    /// Two-letter folders whose directory entries are synced.
    synced: Mutex<BTreeSet<PathBuf>>,
}

impl BlobStore {
    pub(super) fn new(directory: PathBuf) -> BlobStore {
        BlobStore { directory, counter: AtomicU64::new(0), synced: Mutex::default() }
    }

    fn path(&self, digest: &Digest) -> PathBuf {
        let name = digest.to_string();
        self.directory.join(&name[..2]).join(&name[2..])
    }

    pub(super) fn put(&self, bytes: &[u8]) -> Result<Digest, JournalError> {
        if bytes.len() as u64 > LARGEST {
            return Err(JournalError::Broken("a value over 1 GiB cannot be stored".into()));
        }
        let digest = Digest::of(bytes);
        let path = self.path(&digest);
        let _lock = self.lock(FlockOperation::LockShared)?;
        // A file with other content is damaged; writing it again repairs it.
        let exists = read_file(&path).is_ok_and(|found| found == bytes);
        let written = if exists { touch(&path) } else { self.write_synced(&path, bytes) };
        let synced = written.and_then(|()| self.sync_name(&path));
        synced.map(|()| digest).map_err(|error| JournalError::of_file("write", &path, &error))
    }

    /// Locks the store: shared while a blob is stored, exclusive while unused blobs are removed.
    fn lock(&self, operation: FlockOperation) -> Result<File, JournalError> {
        let path = self.directory.with_extension("lock");
        let failed = |error: io::Error| JournalError::of_file("lock", &path, &error);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        options.custom_flags(libc::O_NONBLOCK);
        let file = options.open(&path).map_err(failed)?;
        flock(&file, operation).map_err(|error| failed(error.into()))?;
        Ok(file)
    }

    /// Keeps all blobs until the returned file is dropped.
    pub(super) fn keep_all(&self) -> Result<File, JournalError> {
        self.lock(FlockOperation::LockShared)
    }

    /// Removes the blobs that `used` does not contain; returns the number of their bytes. While a
    /// lease owner exists, blobs that were stored within the last hour stay, because the event that
    /// refers to them may not be appended yet. `scan` reads the journal after no blob can be stored.
    pub(super) fn remove_unused(
        &self,
        scan: impl FnOnce() -> Result<(BTreeSet<Digest>, bool), JournalError>,
    ) -> Result<u64, JournalError> {
        let lock = self.lock(FlockOperation::LockExclusive)?;
        let (used, has_owner) = scan()?;
        let failed = |error: io::Error| JournalError::of_file("read", &self.directory, &error);
        // The time of the file system, which also stamps the blobs.
        touch(&self.directory.with_extension("lock")).map_err(failed)?;
        let now = lock.metadata().and_then(|file| file.modified()).map_err(failed)?;
        let is_recent = |file: &fs::Metadata| {
            file.modified().is_ok_and(|at| now.duration_since(at).is_ok_and(|age| age < RECENT))
                || file.modified().is_ok_and(|at| at > now)
        };
        let mut removed = 0;
        let folders = fs::read_dir(&self.directory).map_err(failed)?.flatten();
        for entry in folders.flat_map(|folder| fs::read_dir(folder.path())).flatten().flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            let folder = path.parent().and_then(Path::file_name).unwrap_or_default();
            let digest = format!("{}{}", folder.to_string_lossy(), name.to_string_lossy());
            let Some(digest) = Digest::from_hex(&digest) else { continue };
            let Ok(file) = entry.metadata() else { continue };
            let kept = used.contains(&digest) || has_owner && is_recent(&file);
            if !kept {
                fs::remove_file(&path).map_err(|e| JournalError::of_file("remove", &path, &e))?;
                removed += file.len();
            }
        }
        Ok(removed)
    }

    fn write_synced(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let (mut file, temporary) = self.create_temporary(folder)?;
        let written = file
            .write_all(bytes)
            .and_then(|()| file.sync_data())
            .and_then(|()| fs::rename(&temporary, path));
        written.inspect_err(|_| drop(fs::remove_file(&temporary)))
    }

    /// Creates a temporary file that stays locked while it is written. A killed writer with the same
    /// process id, as in a restarted container, may have left a file with the same name.
    fn create_temporary(&self, folder: &Path) -> io::Result<(File, PathBuf)> {
        loop {
            let count = self.counter.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!("{UNFINISHED}{}-{count}", std::process::id()));
            match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
                Ok(file) => {
                    flock(&file, FlockOperation::LockExclusive)?;
                    // `sweep` may have removed it before it was locked.
                    if path.exists() {
                        return Ok((file, path));
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Removes incomplete files whose writers have ended. A live writer holds a lock on its file.
    pub(super) fn sweep(&self) {
        let folders = fs::read_dir(&self.directory).into_iter().flatten().flatten();
        for entry in folders.flat_map(|folder| fs::read_dir(folder.path())).flatten().flatten() {
            let unfinished = entry.file_name().to_string_lossy().starts_with(UNFINISHED);
            let lock = |file: File| flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
            if unfinished && File::open(entry.path()).is_ok_and(lock) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// Syncs the directory entries of a blob whose content is synced. The process that wrote the blob
    /// may have been killed before this, and the folder may be new.
    fn sync_name(&self, path: &Path) -> io::Result<()> {
        let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
        File::open(folder)?.sync_all()?;
        let synced = || self.synced.lock().unwrap_or_else(PoisonError::into_inner);
        if !synced().contains(folder) {
            File::open(&self.directory)?.sync_all()?;
            synced().insert(folder.to_owned());
        }
        Ok(())
    }

    pub(super) fn get(&self, digest: &Digest) -> Result<Vec<u8>, JournalError> {
        let path = self.path(digest);
        let damaged =
            |what: &str| JournalError::Damaged(format!("blob `{}` {what}", path.display()));
        let bytes = read_file(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => damaged("is missing"),
            io::ErrorKind::InvalidData => damaged("is damaged: it is not a file"),
            io::ErrorKind::FileTooLarge => damaged("is damaged: it is too large"),
            _ => JournalError::of_file("read", &path, &error),
        })?;
        if Digest::of(&bytes) != *digest {
            return Err(damaged("is damaged: its content has changed"));
        }
        Ok(bytes)
    }
}

/// Reads a file without waiting for the other end of a pipe or reading a device. The errors are
/// `InvalidData` for anything but a file, and `FileTooLarge`.
fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let mut options = OpenOptions::new();
    let file = options.read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::ErrorKind::InvalidData.into());
    }
    if found.len() > LARGEST {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let mut bytes = Vec::with_capacity(found.len() as usize);
    file.take(LARGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Sets the modification time of a file to now.
fn touch(path: &Path) -> io::Result<()> {
    let time = |nanoseconds| Timespec { tv_sec: 0, tv_nsec: nanoseconds };
    let times = Timestamps { last_access: time(UTIME_OMIT), last_modification: time(UTIME_NOW) };
    Ok(utimensat(CWD, path, &times, AtFlags::empty())?)
}
