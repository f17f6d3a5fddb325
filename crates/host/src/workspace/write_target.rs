//! Writing and removing one file: [`WriteTarget`] is the only code that changes project files.

use super::content::{Content, MAX_HASHED, link_digest};
use super::dir_handle::{kind_of, open_file_at, state_of};
use super::path_error::{PathError, refused, wrong_kind};
use super::path_guard::Workspace;
use super::path_text::{nfc, shown, stored_forms};
use kb_base::value::Digest;
use kb_core::evidence::{FileKind, FileState};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A path in the workspace that may be written: its directory is open, its name is not a link.
///
/// Finding it changes nothing; [`WriteTarget::write`] creates missing directories.
pub(crate) struct WriteTarget {
    folder: OwnedFd,
    /// Missing directories, outermost first.
    missing: Vec<OsString>,
    name: OsString,
    /// Relative to the workspace, with links resolved.
    pub(crate) shown: String,
    /// The current state of the path, not followed, without a digest.
    pub(crate) existing: Option<FileState>,
    owner: Option<(u32, u32)>,
    /// Permission bits of the written file; `None`: those of the existing file, or the default.
    mode: Option<u32>,
}

/// The state of a path before it was written.
#[derive(Debug, Default)]
pub(crate) struct PriorState {
    pub(crate) state: Option<FileState>,
    /// The text of a small text file.
    pub(crate) text: Option<String>,
}

const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl WriteTarget {
    /// Resolves a path for writing and refuses protected paths. A link to a file inside stands for
    /// that file if `follow` is set, else for the link itself.
    pub(crate) fn find(
        workspace: &Workspace,
        path: &str,
        follow: bool,
    ) -> Result<WriteTarget, PathError> {
        let (root, rel) = workspace.relative(path)?;
        if root != 0 {
            return Err(PathError::Outside(path.to_owned()));
        }
        let mut found = None;
        for form in stored_forms(&rel) {
            let target = Self::find_relative(workspace, path, &form)?;
            let exists = target.0.existing.is_some();
            // A new file gets the composed form.
            if exists || found.is_none() || form == Path::new(&nfc(&*rel)) {
                found = Some(target);
            }
            if exists {
                break;
            }
        }
        let (target, full) = found.ok_or_else(|| PathError::Missing(path.to_owned()))?;
        if path.ends_with('/') || path.ends_with("/.") {
            target.check_folder(path)?;
        }
        match &target.existing {
            Some(state) if follow && state.kind == FileKind::Symlink => {
                let target = workspace.writable().find(&full).map_err(|error| match error {
                    Errno::NOENT => PathError::Outside(path.to_owned()),
                    other => refused(path, other),
                })?;
                // A link that appeared here meanwhile is refused later, because it is not a regular
                // file.
                Ok(Self::find_relative(workspace, path, &target.real)?.0)
            }
            _ => Ok(target),
        }
    }

    fn find_relative(
        workspace: &Workspace,
        path: &str,
        rel: &Path,
    ) -> Result<(WriteTarget, PathBuf), PathError> {
        let name = match rel.components().next_back() {
            Some(Component::Normal(name)) => name.to_owned(),
            Some(Component::ParentDir) if rel.components().count() > 1 => {
                return Err(wrong_kind(path, FileKind::Directory, "a file"));
            }
            Some(Component::ParentDir) => return Err(PathError::Outside(path.to_owned())),
            _ => return Err(wrong_kind(path, FileKind::Directory, "a file")),
        };
        let (folder, missing) =
            deepest(workspace, path, rel.parent().unwrap_or_else(|| Path::new("")))?;
        let real = missing.iter().fold(folder.real, |real, name| real.join(name)).join(&name);
        workspace.check_writable(path, &real)?;
        let at = missing
            .is_empty()
            .then(|| rustix::fs::statat(&folder.fd, name.as_os_str(), AtFlags::SYMLINK_NOFOLLOW));
        let stat = match at {
            None | Some(Err(Errno::NOENT)) => None,
            Some(Ok(stat)) => Some(stat),
            Some(Err(error)) => return Err(refused(path, error)),
        };
        let target = WriteTarget {
            folder: folder.fd,
            missing,
            name,
            shown: shown(&real),
            existing: stat.as_ref().map(state_of),
            owner: stat.as_ref().map(|stat| (stat.st_uid, stat.st_gid)),
            mode: None,
        };
        Ok((target, real))
    }

    /// Refuses a path with a trailing `/` that does not name a directory. `link/` names the target
    /// of the link, so a link is refused as well.
    fn check_folder(&self, path: &str) -> Result<(), PathError> {
        match self.existing.as_ref().map(|state| state.kind) {
            Some(FileKind::Directory) => Ok(()),
            Some(FileKind::Symlink) => Err(PathError::Outside(path.to_owned())),
            Some(kind) => Err(wrong_kind(path, kind, "a directory")),
            None => Err(wrong_kind(path, FileKind::Directory, "a file")),
        }
    }

    /// Opens the existing regular file for reading.
    pub(crate) fn open(&self) -> Result<File, PathError> {
        match &self.existing {
            None => Err(PathError::Missing(self.shown.clone())),
            Some(state) if state.kind != FileKind::File => {
                Err(wrong_kind(&self.shown, state.kind, "a file"))
            }
            Some(_) => open_file_at(&self.folder, self.name.as_os_str())
                .map_err(|error| refused(&self.shown, error)),
        }
    }

    /// The current state, with the digest of a regular file and the text of a small one.
    pub(crate) fn observed(&self) -> Result<PriorState, PathError> {
        let Some(mut state) = self.existing.clone() else { return Ok(PriorState::default()) };
        let mut text = None;
        match state.kind {
            FileKind::File if state.size <= MAX_HASHED => {
                let content = Content::of(self.open()?);
                let content = content.map_err(|error| PathError::io(&self.shown, error))?;
                state.sha256 = content.sha256;
                text = content.small.and_then(|bytes| String::from_utf8(bytes).ok());
            }
            FileKind::Symlink => state.sha256 = link_digest(&self.folder, self.name.as_os_str()),
            _ => {}
        }
        Ok(PriorState { state: Some(state), text })
    }

    /// Writes the whole file. The bytes go to a new file, which is then renamed over the old one:
    /// no reader sees a partial file, and hard links to the old file keep the old content.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<FileState, PathError> {
        match &self.existing {
            Some(state) if state.kind != FileKind::File => {
                return Err(wrong_kind(&self.shown, state.kind, "a file"));
            }
            _ => {}
        }
        let io = |error: Errno| refused(&self.shown, error);
        let made;
        let folder = if self.missing.is_empty() {
            &self.folder
        } else {
            made = make_folders(&self.folder, &self.missing).map_err(io)?;
            &made
        };
        if let Some(state) = self.write_nameless(folder, bytes)? {
            return Ok(self.renamed(folder, state));
        }
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | FOLDER.difference(OFlags::DIRECTORY);
        let mut file = None;
        let beside = name_beside(|beside| {
            file = Some(rustix::fs::openat(folder, beside, flags, NEW)?);
            Ok(())
        });
        let (beside, file) = (beside.map_err(io)?, file.ok_or(Errno::IO).map_err(io)?);
        let state = self.fill(&mut File::from(file), bytes).inspect_err(|_| {
            let _ = rustix::fs::unlinkat(folder, beside.as_str(), AtFlags::empty());
        })?;
        self.rename(folder, &beside).map_err(io)?;
        Ok(self.renamed(folder, state))
    }

    /// The same, with these permission bits.
    pub(crate) fn write_with_mode(
        &mut self,
        bytes: &[u8],
        mode: u32,
    ) -> Result<FileState, PathError> {
        self.mode = Some(mode);
        self.write(bytes)
    }

    /// The final state of a written file; linking and renaming change its ctime.
    fn renamed(&self, folder: &OwnedFd, written: FileState) -> FileState {
        let name = self.name.as_os_str();
        let now = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok();
        match now.as_ref().map(state_of) {
            Some(now) if (now.inode, now.size) == (written.inode, written.size) => {
                FileState { sha256: written.sha256, ..now }
            }
            _ => written,
        }
    }

    /// Writes an unnamed file (`O_TMPFILE`) first, so that a kill leaves no partial file. Returns
    /// `None` if the file system does not support this. A file that replaces another one has a
    /// temporary name just before the rename; a kill at that moment leaves the temporary file.
    fn write_nameless(
        &self,
        folder: &OwnedFd,
        bytes: &[u8],
    ) -> Result<Option<FileState>, PathError> {
        let Some(mut file) = nameless(folder) else { return Ok(None) };
        let state = self.fill(&mut file, bytes)?;
        if self.existing.is_none() && link(&file, folder, &self.name).is_ok() {
            return Ok(Some(state));
        }
        match name_beside(|beside| link(&file, folder, OsStr::new(beside))) {
            Ok(beside) => {
                self.rename(folder, &beside).map_err(|error| refused(&self.shown, error))?;
                Ok(Some(state))
            }
            Err(_) => Ok(None),
        }
    }

    fn rename(&self, folder: &OwnedFd, beside: &str) -> rustix::io::Result<()> {
        rustix::fs::renameat(folder, beside, folder, self.name.as_os_str()).inspect_err(|_| {
            let _ = rustix::fs::unlinkat(folder, beside, AtFlags::empty());
        })
    }

    fn fill(&self, file: &mut File, bytes: &[u8]) -> Result<FileState, PathError> {
        let io = |error: Errno| refused(&self.shown, error);
        file.write_all(bytes).map_err(|error| PathError::io(&self.shown, error))?;
        if self.existing.is_some() {
            self.keep_owner(file);
        }
        if let Some(mode) = self.mode.or(self.existing.as_ref().map(|state| state.mode)) {
            rustix::fs::fchmod(&*file, permissions(mode)).map_err(io)?;
        }
        let mut state = state_of(&rustix::fs::fstat(&*file).map_err(io)?);
        state.sha256 = Some(Digest::of(bytes));
        Ok(state)
    }

    /// Keeps the owner of the replaced file, where the process may change owners.
    fn keep_owner(&self, file: &File) {
        if let Some((user, group)) = self.owner {
            let user = rustix::fs::Uid::from_raw(user);
            let group = rustix::fs::Gid::from_raw(group);
            let _ = rustix::fs::fchown(file, Some(user), Some(group));
        }
    }

    /// Creates a link where nothing exists, or replaces a link.
    pub(crate) fn write_link(&self, to: &Path) -> Result<(), PathError> {
        let io = |error: Errno| refused(&self.shown, error);
        if let Some(state) = self.existing.as_ref().filter(|state| state.kind != FileKind::Symlink)
        {
            return Err(wrong_kind(&self.shown, state.kind, "a link"));
        }
        let folder = make_folders(&self.folder, &self.missing).map_err(io)?;
        let beside = name_beside(|beside| rustix::fs::symlinkat(to, &folder, beside));
        self.rename(&folder, &beside.map_err(io)?).map_err(io)
    }

    /// Makes a directory, and those above it that are missing.
    pub(crate) fn make_folder(&self) -> Result<(), PathError> {
        let names: Vec<OsString> = self.missing.iter().chain([&self.name]).cloned().collect();
        let made = make_folders(&self.folder, &names);
        made.map(drop).map_err(|error| refused(&self.shown, error))
    }

    /// Removes the file, the link itself, or the empty directory.
    pub(crate) fn remove(&self) -> Result<(), PathError> {
        let flags = match &self.existing {
            None => return Err(PathError::Missing(self.shown.clone())),
            Some(state) if state.kind == FileKind::Directory => AtFlags::REMOVEDIR,
            Some(_) => AtFlags::empty(),
        };
        rustix::fs::unlinkat(&self.folder, self.name.as_os_str(), flags)
            .map_err(|error| refused(&self.shown, error))
    }
}

/// The mode of a new file, before the umask.
const NEW: Mode = Mode::from_raw_mode(0o666);

/// The deepest existing directory on the way to `parent`, and the missing names below it.
pub(super) fn deepest(
    workspace: &Workspace,
    path: &str,
    parent: &Path,
) -> Result<(super::dir_handle::OpenedPath, Vec<OsString>), PathError> {
    let mut at = parent.to_owned();
    let mut missing = Vec::new();
    loop {
        match workspace.writable().find(&at) {
            Ok(found) if kind_of(&found.stat) == FileKind::Directory => {
                missing.reverse();
                return Ok((found, missing));
            }
            Ok(found) => return Err(wrong_kind(&shown(&at), kind_of(&found.stat), "a directory")),
            // A dangling link ends here as well; creating the directory then fails.
            Err(Errno::NOENT) => match at.components().next_back() {
                Some(Component::Normal(name)) => missing.push(name.to_owned()),
                // `missing/..` does not exist.
                _ => return Err(PathError::Missing(path.to_owned())),
            },
            Err(error) => return Err(refused(path, error)),
        }
        at.pop();
    }
}

/// A file without a name in a folder; `None` if the system or the file system has none.
fn nameless(folder: &OwnedFd) -> Option<File> {
    #[cfg(target_os = "linux")]
    let flags = Some(OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC);
    #[cfg(not(target_os = "linux"))]
    let flags: Option<OFlags> = None;
    rustix::fs::openat(folder, ".", flags?, NEW).ok().map(File::from)
}

fn make_folders(folder: &OwnedFd, names: &[OsString]) -> rustix::io::Result<OwnedFd> {
    let mut at = rustix::fs::openat(folder, ".", FOLDER, Mode::empty())?;
    for name in names {
        let name: &OsStr = name;
        match rustix::fs::mkdirat(&at, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error),
        }
        at = rustix::fs::openat(&at, name, FOLDER, Mode::empty())?;
    }
    Ok(at)
}

/// Creates something under an unused temporary name. A killed `kb` with the same process id, as in
/// a restarted container, may have left the same name.
fn name_beside(mut make: impl FnMut(&str) -> rustix::io::Result<()>) -> rustix::io::Result<String> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    loop {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!(".kb-writing-{}-{count}", std::process::id());
        match make(&name) {
            Err(Errno::EXIST) => {}
            made => return made.map(|()| name),
        }
    }
}

/// Gives an unnamed file a name.
fn link(file: &File, folder: &OwnedFd, name: &OsStr) -> rustix::io::Result<()> {
    let from = format!("/proc/self/fd/{}", file.as_raw_fd());
    rustix::fs::linkat(rustix::fs::CWD, &*from, folder, name, AtFlags::SYMLINK_FOLLOW)
}

/// The permission bits that a rewritten file keeps: not set-user-id, set-group-id or sticky.
#[allow(clippy::unnecessary_cast, reason = "the width of a mode differs between systems")]
fn permissions(mode: u32) -> Mode {
    Mode::from_raw_mode((mode & 0o777) as rustix::fs::RawMode)
}
