//! Reading and writing the files of the cache: verified by digest, renamed into place.

use kb_base::value::Digest;
use rustix::fs::{AtFlags, CWD, FlockOperation, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT};
use rustix::fs::{flock, utimensat};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Prefix of the names of incomplete files.
pub(super) const UNFINISHED: &str = ".new-";

/// Maximum size of a file of the cache that is read, in bytes.
const LARGEST: u64 = 1 << 30;

/// Creates a directory that only the user can read.
pub(super) fn make_folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Writes a file under a temporary name and renames it. Nothing is synced: content that a power cut
/// damaged does not match its digest and is a miss.
pub(super) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (file, temporary) = create_temporary(path)?;
    let written = fill(file, bytes).and_then(|()| fs::rename(&temporary, path));
    written.inspect_err(|_| drop(fs::remove_file(&temporary)))
}

/// The same, unless the file exists already, whatever it contains.
pub(super) fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (file, temporary) = create_temporary(path)?;
    let written = fill(file, bytes).and_then(|()| match fs::hard_link(&temporary, path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        linked => linked,
    });
    drop(fs::remove_file(&temporary));
    written
}

fn fill(mut file: File, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)
}

/// Creates a temporary file that stays locked while it is written.
fn create_temporary(path: &Path) -> io::Result<(File, PathBuf)> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    make_folder(folder)?;
    loop {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let temporary = folder.join(format!("{UNFINISHED}{}-{count}", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary) {
            Ok(file) => {
                flock(&file, FlockOperation::LockExclusive)?;
                // `sweep` may have removed it before it was locked.
                if temporary.exists() {
                    return Ok((file, temporary));
                }
            }
            // A killed process with the same id may have left the file.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

/// Removes incomplete files of killed processes in a folder and `depth` levels below. A live writer holds a
/// lock on its file.
pub(super) fn sweep(folder: &Path, depth: usize) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if depth > 0 && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            sweep(&path, depth - 1);
            continue;
        }
        let unfinished = entry.file_name().to_string_lossy().starts_with(UNFINISHED);
        let lock = |file: File| flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
        if unfinished && File::open(&path).is_ok_and(lock) {
            let _ = fs::remove_file(&path);
        }
    }
}

/// Reads a regular file without waiting for the other end of a pipe.
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    let found = file.metadata()?;
    if !found.is_file() || found.len() > LARGEST {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut bytes = Vec::with_capacity(found.len() as usize);
    file.take(LARGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A text with its digest in front, so that any change of it is found.
pub(super) fn sealed(text: &str) -> Vec<u8> {
    format!("{}\n{text}", Digest::of(text)).into_bytes()
}

/// The text of a sealed file; `None` if it was changed.
pub(super) fn unsealed(bytes: &[u8]) -> Option<&str> {
    let (digest, text) = std::str::from_utf8(bytes).ok()?.split_once('\n')?;
    (Digest::from_hex(digest)? == Digest::of(text)).then_some(text)
}

/// Marks a file as used now.
pub(super) fn touch(path: &Path) {
    let time = |nanoseconds| Timespec { tv_sec: 0, tv_nsec: nanoseconds };
    let times = Timestamps { last_access: time(UTIME_OMIT), last_modification: time(UTIME_NOW) };
    // A result that cannot be marked is removed earlier than others.
    let _ = utimensat(CWD, path, &times, AtFlags::empty());
}

/// The path of a file that is named by a digest, in one of 256 directories.
pub(super) fn by_digest(folder: &Path, digest: &Digest) -> PathBuf {
    let name = digest.to_string();
    folder.join(&name[..2]).join(&name[2..])
}
