//! Content-addressed files for large values.

use super::JournalError;
use crate::value::Digest;
use rustix::fs::{FlockOperation, flock};
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Prefix of the names of incomplete files.
const UNFINISHED: &str = ".new-";

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
        let digest = Digest::of(bytes);
        let path = self.path(&digest);
        // A file with other content is damaged; writing it again repairs it.
        let exists = fs::read(&path).is_ok_and(|found| found == bytes);
        let written = if exists { Ok(()) } else { self.write_synced(&path, bytes) };
        let synced = written.and_then(|()| self.sync_name(&path));
        synced.map(|()| digest).map_err(|error| JournalError::of_file("write", &path, &error))
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
        let bytes = fs::read(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                JournalError::Damaged(format!("blob `{}` is missing", path.display()))
            }
            _ => JournalError::of_file("read", &path, &error),
        })?;
        if Digest::of(&bytes) != *digest {
            let text = format!("blob `{}` is damaged: its content has changed", path.display());
            return Err(JournalError::Damaged(text));
        }
        Ok(bytes)
    }
}
