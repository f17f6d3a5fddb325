//! Files of a step of its own: copying the project there, and writing changes back.

use super::content::MAX_HASHED;
use super::dir_handle::open_file_at;
use super::ignore_rules::IgnoreRules;
use super::manifest::Folders;
use super::path_error::{PathError, refused};
use super::path_guard::Workspace;
use super::path_text::Spelling;
use super::write_target::WriteTarget;
use kb_base::value::{Digest, Hasher};
use kb_core::evidence::{FileKind, FileState, Manifest};
use rustix::fs::{Dir, Timespec, Timestamps};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The content of a path, as it is copied from one directory to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FileContent {
    /// A regular file.
    File {
        /// The whole content.
        bytes: Vec<u8>,
        /// Whether the owner may execute it.
        executable: bool,
    },
    /// A symbolic link and its target.
    Link(PathBuf),
    /// A folder; its entries are paths of their own.
    Folder,
}

impl Workspace {
    /// The stat data of every file and link, ignored ones included. Blocks.
    pub(crate) fn all_files(&self) -> (Manifest, Folders) {
        self.scanned(IgnoreRules::none(), &mut None)
    }

    /// The files that a manifest has, and the folders. Blocks.
    pub(crate) fn files_and_folders(&self) -> (Manifest, Folders) {
        self.scanned(self.ignore_rules(), &mut None)
    }

    /// The names of all entries of a folder, as a manifest writes them. Blocks.
    pub(crate) fn names_in(&self, folder: &str) -> Result<Vec<String>, PathError> {
        let io = |error: Errno| refused(folder, error);
        let opened = self.writable().open_folder(Path::new(folder)).map_err(io)?;
        let entries: Vec<_> = Dir::read_from(&opened).map_err(io)?.flatten().collect();
        let names = || entries.iter().map(|entry| entry.file_name().to_bytes());
        let spelling = Spelling::of(names());
        let is_entry = |name: &&[u8]| !matches!(*name, b"." | b"..");
        Ok(names().filter(is_entry).map(|name| spelling.written(name)).collect())
    }

    /// The content of a path; `None` if it does not exist or has none. A link is not followed.
    pub(crate) fn content_of(&self, path: &str) -> Result<Option<FileContent>, PathError> {
        let Some(state) = self.symlink_stat(path)? else { return Ok(None) };
        match state.kind {
            FileKind::File => {
                let executable = state.mode & 0o100 != 0;
                Ok(Some(FileContent::File { bytes: self.read_file(path)?, executable }))
            }
            FileKind::Symlink => Ok(Some(FileContent::Link(self.link_target(path)?))),
            FileKind::Directory => Ok(Some(FileContent::Folder)),
            FileKind::Other => Ok(None),
        }
    }

    /// Writes the content of a path, or removes it. A folder with entries is not removed. Protected paths are refused.
    pub(crate) fn put(&self, path: &str, content: Option<&FileContent>) -> Result<(), PathError> {
        self.writing(path, || self.replace(path, content))
    }

    fn replace(&self, path: &str, content: Option<&FileContent>) -> Result<(), PathError> {
        let target = WriteTarget::find(self, path, false)?;
        let existing = target.existing.as_ref().map(|state| state.kind);
        match content {
            None if existing.is_none() => Ok(()),
            None => target.remove(),
            Some(FileContent::Folder) => {
                if existing.is_some_and(|kind| kind != FileKind::Directory) {
                    target.remove()?;
                }
                WriteTarget::find(self, path, false)?.make_folder()
            }
            Some(FileContent::Link(to)) => {
                if existing.is_some_and(|kind| kind != FileKind::Symlink) {
                    target.remove()?;
                }
                WriteTarget::find(self, path, false)?.write_link(to)
            }
            Some(FileContent::File { bytes, executable }) => {
                if existing.is_some_and(|kind| kind != FileKind::File) {
                    target.remove()?;
                }
                let target = WriteTarget::find(self, path, false)?;
                let before = target.existing.as_ref().map_or(0o644, |state| state.mode & 0o777);
                target.write(bytes)?;
                let mode = if *executable { before | 0o111 } else { before & !0o111 };
                let now = WriteTarget::find(self, path, false)?;
                if now.existing.as_ref().is_some_and(|s| (s.mode & 0o100 != 0) != *executable) {
                    let set = now.open()?.set_permissions(Permissions::from_mode(mode));
                    set.map_err(|error| PathError::io(path, error))?;
                }
                Ok(())
            }
        }
    }

    fn link_target(&self, path: &str) -> Result<PathBuf, PathError> {
        let rel = Path::new(path);
        let io = |error: Errno| refused(path, error);
        let name = rel.file_name().ok_or(PathError::Empty)?;
        let parent = rel.parent().unwrap_or_else(|| Path::new(""));
        let folder = self.writable().open_folder(parent).map_err(io)?;
        let target = rustix::fs::readlinkat(&folder, name, Vec::new()).map_err(io)?;
        Ok(PathBuf::from(OsString::from_vec(target.into_bytes())))
    }

    /// Copies a file or link of a manifest to the same path below a new directory that only `kb` uses,
    /// with its permissions and modification time. Returns the digest of a regular file. Data are
    /// shared with the original where the file system can. `keep` gets the bytes of a small file.
    pub(crate) fn copy_to(
        &self,
        path: &str,
        state: &FileState,
        to: &Path,
        keep: &mut dyn FnMut(&[u8]) -> std::io::Result<()>,
    ) -> Result<Option<Digest>, PathError> {
        let io = |error: std::io::Error| PathError::io(path, error);
        let target = to.join(path);
        if let Some(parent) = target.parent() {
            std::fs::create_dir_all(parent).map_err(io)?;
        }
        if state.kind == FileKind::Symlink {
            let link = self.link_target(path)?;
            let made = rustix::fs::symlinkat(&link, rustix::fs::CWD, &target);
            made.map_err(|error| io(error.into()))?;
            return Ok(None);
        }
        let rel = Path::new(path);
        let parent = rel.parent().unwrap_or_else(|| Path::new(""));
        let name = rel.file_name().ok_or(PathError::Empty)?;
        let folder = self.writable().open_folder(parent).map_err(|error| refused(path, error))?;
        let mut from = open_file_at(&folder, name).map_err(|error| refused(path, error))?;
        let mut copy = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&target)
            .map_err(io)?;
        let shared = shares_blocks(&copy, &from);
        let to = (!shared).then_some(&mut copy);
        let digest = if state.size > MAX_HASHED {
            copy_data(&mut from, to, state.size)
        } else {
            copy_and_hash(&mut from, to, keep)
        };
        let digest = digest.map_err(io)?;
        copy.set_permissions(Permissions::from_mode(state.mode & 0o777)).map_err(io)?;
        let time = Timespec {
            tv_sec: state.mtime_ns.div_euclid(1_000_000_000),
            tv_nsec: state.mtime_ns.rem_euclid(1_000_000_000),
        };
        let times = Timestamps { last_access: time, last_modification: time };
        let _ = rustix::fs::futimens(&copy, &times);
        Ok(Some(digest))
    }
}

/// Lets a new file share the blocks of another one; returns whether the file system can.
fn shares_blocks(copy: &File, from: &File) -> bool {
    #[cfg(target_os = "linux")]
    return rustix::fs::ioctl_ficlone(copy, from).is_ok();
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (copy, from);
        false
    }
}

/// Files of at most this many bytes are kept for the merge of texts.
const KEPT: usize = 1 << 20;

/// Copies the data of a large file without its holes, of which it may have more than the disk has space for. Returns a
/// digest of the data.
fn copy_data(from: &mut File, mut to: Option<&mut File>, size: u64) -> std::io::Result<Digest> {
    let (mut hasher, mut at) = (Hasher::default(), 0);
    while let Some(data) = data_from(from, at, size)? {
        hasher.update(data.start.to_le_bytes());
        from.seek(SeekFrom::Start(data.start))?;
        let mut part = from.take(data.end - data.start);
        let digest = match &mut to {
            Some(to) => {
                to.seek(SeekFrom::Start(data.start))?;
                copy_and_hash(&mut part, Some(to), &mut |_| Ok(()))?
            }
            None => copy_and_hash(&mut part, None, &mut |_| Ok(()))?,
        };
        hasher.update(digest.as_bytes());
        at = data.end;
    }
    to.map_or(Ok(()), |to| to.set_len(size))?;
    Ok(hasher.finish())
}

/// The next part of a file that has data.
fn data_from(file: &File, at: u64, size: u64) -> std::io::Result<Option<Range<u64>>> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::SeekFrom::{Data, Hole};
        let _ = size;
        match rustix::fs::seek(file, Data(at)) {
            Ok(start) => Ok(Some(start..rustix::fs::seek(file, Hole(start))?)),
            Err(Errno::NXIO) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = file;
        Ok((at < size).then_some(at..size))
    }
}

/// Reads a file once: writes it, hashes it, and passes on the bytes of a small one.
fn copy_and_hash(
    from: &mut impl Read,
    mut to: Option<&mut File>,
    keep: &mut dyn FnMut(&[u8]) -> std::io::Result<()>,
) -> std::io::Result<Digest> {
    let mut hasher = Hasher::default();
    let (mut buffer, mut small) = (vec![0; 1 << 17], Some(Vec::new()));
    loop {
        let read = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hasher.update(&buffer[..read]);
        if let Some(to) = &mut to {
            to.write_all(&buffer[..read])?;
        }
        small = small.filter(|kept: &Vec<u8>| kept.len() + read <= KEPT);
        if let Some(kept) = &mut small {
            kept.extend_from_slice(&buffer[..read]);
        }
    }
    if let Some(kept) = small {
        keep(&kept)?;
    }
    Ok(hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{FileExt, MetadataExt};

    #[test]
    fn a_large_file_is_copied_without_its_holes() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        std::fs::create_dir(&from).unwrap();
        std::fs::create_dir(&to).unwrap();
        let file = File::create(from.join("large")).unwrap();
        file.set_len(1 << 40).unwrap();
        file.write_at(b"one", 0).unwrap();
        file.write_at(b"two", 1 << 39).unwrap();
        let workspace = Workspace::open(&from, &[], &[]).unwrap();
        let state = workspace.manifest().files["large"].clone();
        let copied = || workspace.copy_to("large", &state, &to, &mut |_| Ok(())).unwrap();
        let digest = copied();
        let copy = File::open(to.join("large")).unwrap();
        let mut text = [0; 3];
        copy.read_exact_at(&mut text, 1 << 39).unwrap();
        let found = copy.metadata().unwrap();
        assert!(&text == b"two" && found.len() == 1 << 40 && found.blocks() < 1000);
        file.write_at(b"2", 1 << 39).unwrap();
        std::fs::remove_file(to.join("large")).unwrap();
        assert_ne!(copied(), digest);
    }
}
