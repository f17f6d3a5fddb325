//! Files that changed since a moment, by the time that the kernel gives to each of them: no ignore rule, no name
//! and no record of a command hides one.

use super::dir_handle::{DirHandle, FOLDER, MAX_DEPTH, MAX_ENTRIES, state_of};
use super::protected_watch::digest;
use kb_base::value::{Digest, Timestamp};
use kb_core::evidence::{FileKind, FileState};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, Dir, Mode};
use rustix::io::Errno;
use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The kernel gives times of its last tick, and file systems may round them down.
const SLACK_NS: i64 = 2_000_000_000;
/// Folders of repositories and of `kb`, which are compared around each command.
const PROTECTED: [&[u8]; 2] = [b".git", b".kb"];

/// A file that changed.
#[derive(Debug, Clone)]
pub struct ChangedFile {
    /// Relative to the folder, as it is stored on disk.
    pub path: PathBuf,
    /// What it is now, without a digest.
    pub state: FileState,
}

impl ChangedFile {
    /// Digest of its content, or of the target of a link, below the folder in which it was found. `None` if it is large or
    /// cannot be read. Blocks.
    pub fn sha256(&self, root: &Path) -> Option<Digest> {
        let name = CString::new(self.path.file_name()?.as_bytes()).ok()?;
        let folder = DirHandle::open(root).ok()?.open_folder(self.path.parent()?).ok()?;
        digest(&folder, &name, self.state.kind, self.state.size)
    }
}

/// The files of a folder that changed, as far as they are known. One serves several questions.
#[derive(Debug, Default)]
pub struct ChangedFiles {
    /// Since when, and the files.
    known: Option<(Timestamp, Option<Vec<ChangedFile>>)>,
}

impl ChangedFiles {
    /// The files below a folder that changed since a moment or came there as new files, by path, and the folders in which
    /// an entry came, went or was renamed; links are not followed.
    /// `None`: a folder cannot be read, or there are too many entries. Repositories and `.kb` are left out. Blocks.
    pub fn since(&mut self, root: &Path, since: Timestamp) -> Option<Vec<ChangedFile>> {
        let known = self.known.take().filter(|(known, _)| *known <= since);
        let (_, all) =
            self.known.insert(known.unwrap_or_else(|| (since, changed_since(root, since))));
        let first = first_of(since);
        let all = all.as_ref()?.iter().filter(|file| file.state.ctime_ns >= first);
        Some(all.cloned().collect())
    }
}

/// The first time of a file that may have changed since a moment.
fn first_of(since: Timestamp) -> i64 {
    since.0.saturating_mul(1_000_000).saturating_sub(SLACK_NS)
}

fn changed_since(root: &Path, since: Timestamp) -> Option<Vec<ChangedFile>> {
    let folder = rustix::fs::openat(CWD, root, FOLDER, Mode::empty()).ok()?;
    let state = state_of(&rustix::fs::fstat(&folder).ok()?);
    let found = vec![ChangedFile { path: PathBuf::new(), state }];
    let mut scan = Scan { since: first_of(since), left: MAX_ENTRIES, found };
    scan.folder(&folder, Path::new(""), MAX_DEPTH)?;
    scan.found.sort_by(|a, b| a.path.cmp(&b.path));
    Some(scan.found)
}

struct Scan {
    since: i64,
    left: usize,
    found: Vec<ChangedFile>,
}

impl Scan {
    fn folder(&mut self, folder: &OwnedFd, above: &Path, depth: usize) -> Option<()> {
        for entry in Dir::read_from(folder).ok()? {
            let entry = entry.ok()?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") || PROTECTED.contains(&name.to_bytes()) {
                continue;
            }
            self.left = self.left.checked_sub(1)?;
            // It may be gone meanwhile.
            let Ok(stat) = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else {
                continue;
            };
            let (path, state) = (above.join(OsStr::from_bytes(name.to_bytes())), state_of(&stat));
            if state.ctime_ns >= self.since {
                self.found.push(ChangedFile { path: path.clone(), state: state.clone() });
            }
            if state.kind == FileKind::Directory {
                let below = match rustix::fs::openat(folder, name, FOLDER, Mode::empty()) {
                    Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
                    opened => opened.ok()?,
                };
                self.folder(&below, &path, depth.checked_sub(1)?)?;
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{SystemTime, UNIX_EPOCH};

    #[test]
    fn what_changed_is_found_whatever_hides_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64;
        let write = |path: &[u8]| {
            let path = root.join(OsStr::from_bytes(path));
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        };
        for path in [&b".gitignore"[..], b"out/ignored", b"z\xff.sh", b".git/config", b".kb/a"] {
            write(path);
        }
        std::os::unix::fs::symlink("/etc", root.join("link")).unwrap();
        let files = |mut found: Vec<ChangedFile>| {
            found.retain(|file| file.state.kind != FileKind::Directory);
            found
        };
        let found = files(changed_since(root, Timestamp(now())).unwrap());
        let paths: Vec<&[u8]> = found.iter().map(|f| f.path.as_os_str().as_bytes()).collect();
        assert_eq!(paths, [&b".gitignore"[..], b"link", b"out/ignored", b"z\xff.sh"]);
        assert!(files(changed_since(root, Timestamp(now() + 60_000)).unwrap()).is_empty());
        assert!(changed_since(&root.join("none"), Timestamp(0)).is_none());
        // What was read once answers later questions about a later moment.
        let mut known = ChangedFiles::default();
        let mut of = |since: i64| files(known.since(root, Timestamp(since)).unwrap()).len();
        assert_eq!(of(now()), 4);
        write(b"later");
        assert_eq!(of(now()), 4);
        assert_eq!(of(now() + 60_000), 0);
        assert_eq!(of(0), 5);
    }
}
