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

/// Begins the name of a file that is not all there yet.
const UNFINISHED: &str = ".new-";

/// Files named by what is in them: `ab/cdef…`. They appear whole or not at all, are synced before
/// anything refers to them, and are checked when they are read.
pub(super) struct BlobStore {
    directory: PathBuf,
    counter: AtomicU64,
    /// The two-letter folders whose own names are known to be on disk.
    named: Mutex<BTreeSet<PathBuf>>,
}

impl BlobStore {
    pub(super) fn new(directory: PathBuf) -> BlobStore {
        BlobStore { directory, counter: AtomicU64::new(0), named: Mutex::default() }
    }

    fn path(&self, digest: &Digest) -> PathBuf {
        let name = digest.to_string();
        self.directory.join(&name[..2]).join(&name[2..])
    }

    pub(super) fn put(&self, bytes: &[u8]) -> Result<Digest, JournalError> {
        let digest = Digest::of(bytes);
        let path = self.path(&digest);
        // What is there and is not this was damaged by somebody else; writing it again mends it.
        let is_there = fs::read(&path).is_ok_and(|found| found == bytes);
        let written = if is_there { Ok(()) } else { self.write_synced(&path, bytes) };
        let named = written.and_then(|()| self.name(&path));
        named.map(|()| digest).map_err(|error| JournalError::of_file("write", &path, &error))
    }

    fn write_synced(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let (mut file, temporary) = self.begin(folder)?;
        let written = file
            .write_all(bytes)
            .and_then(|()| file.sync_data())
            .and_then(|()| fs::rename(&temporary, path));
        written.inspect_err(|_| drop(fs::remove_file(&temporary)))
    }

    /// A new file that is locked for as long as somebody writes it. Its name may have been left by a
    /// killed writer that had the same process id, as it is in a container that starts again.
    fn begin(&self, folder: &Path) -> io::Result<(File, PathBuf)> {
        loop {
            let count = self.counter.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!("{UNFINISHED}{}-{count}", std::process::id()));
            match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
                Ok(file) => {
                    flock(&file, FlockOperation::LockExclusive)?;
                    // Somebody may have swept it away before it was locked.
                    if path.exists() {
                        return Ok((file, path));
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Removes what writers left unfinished that are gone; a living one has its file locked.
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

    /// Makes sure that a blob, whose content is safe, is found again after a crash. Whoever wrote it
    /// may have been stopped before this, and its folder may be as new.
    fn name(&self, path: &Path) -> io::Result<()> {
        let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
        File::open(folder)?.sync_all()?;
        let named = || self.named.lock().unwrap_or_else(PoisonError::into_inner);
        if !named().contains(folder) {
            File::open(&self.directory)?.sync_all()?;
            named().insert(folder.to_owned());
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
