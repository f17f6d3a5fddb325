use super::JournalError;
use crate::value::Digest;
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

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
        // A file of another size was damaged by somebody else; writing it again mends it.
        if fs::metadata(&path).is_ok_and(|found| found.len() == bytes.len() as u64) {
            return Ok(digest);
        }
        let count = self.counter.fetch_add(1, Ordering::Relaxed);
        let temporary = path.with_file_name(format!(".new-{}-{count}", std::process::id()));
        let written = write_synced(&path, &temporary, bytes).and_then(|()| self.name(&path));
        written.map_err(|error| {
            let _ = fs::remove_file(&temporary);
            JournalError::of_file("write", &path, &error)
        })?;
        Ok(digest)
    }

    /// Makes sure that the folder of a blob is found again after a crash: it may be new, and not
    /// only this process makes folders.
    fn name(&self, path: &Path) -> io::Result<()> {
        let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
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
                JournalError::Broken(format!("blob `{}` is missing", path.display()))
            }
            _ => JournalError::of_file("read", &path, &error),
        })?;
        if Digest::of(&bytes) != *digest {
            let text = format!("blob `{}` is damaged: its content has changed", path.display());
            return Err(JournalError::Broken(text));
        }
        Ok(bytes)
    }
}

fn write_synced(path: &Path, temporary: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(temporary)?;
    file.write_all(bytes)?;
    file.sync_data()?;
    fs::rename(temporary, path)?;
    File::open(folder)?.sync_all()
}
