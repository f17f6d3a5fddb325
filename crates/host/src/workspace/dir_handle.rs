//! Opens paths beneath an open directory, so that no path leads out of it.
//!
//! On Linux the kernel resolves paths (`openat2` with `RESOLVE_BENEATH`); elsewhere, no link is
//! followed. No decision depends on the text of a path alone.

use kb_core::evidence::{FileKind, FileState};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::{Errno, Result};
use rustix::path::Arg;
use std::fs::File;
use std::path::{Component, Path, PathBuf};

/// Directories deeper than this are not scanned.
pub(super) const MAX_DEPTH: usize = 128;
/// Maximum number of entries that are searched; a million take about a second.
pub(super) const MAX_ENTRIES: usize = 1_000_000;
/// The flags with which a scan opens a directory.
pub(super) const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A directory that stays open for as long as this value lives.
#[derive(Debug)]
pub(super) struct DirHandle {
    fd: OwnedFd,
    /// The real path of the directory.
    pub(super) path: PathBuf,
    links: bool,
}

/// A path that was opened for its metadata (`O_PATH`), not for reading.
pub(super) struct OpenedPath {
    pub(super) fd: OwnedFd,
    /// The real path, relative to the directory; empty is the directory itself.
    pub(super) real: PathBuf,
    pub(super) stat: Stat,
}

/// The identity of a file or directory (device and inode), independent of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileId(u64, u64);

impl FileId {
    /// The identity of a path, with links followed.
    pub(super) fn of(path: &Path) -> Option<FileId> {
        rustix::fs::stat(path).ok().map(|stat| FileId::from(&stat))
    }
}

impl From<&Stat> for FileId {
    #[allow(clippy::unnecessary_cast, reason = "the fields differ in width between systems")]
    fn from(stat: &Stat) -> FileId {
        FileId(stat.st_dev as u64, stat.st_ino as u64)
    }
}

#[cfg(target_os = "linux")]
const METADATA: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const METADATA: OFlags = OFlags::NONBLOCK;

impl DirHandle {
    /// Opens the directory itself; its own path may contain links.
    pub(super) fn open(path: &Path) -> std::io::Result<DirHandle> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::open(path, flags, Mode::empty())?;
        match real_path(&fd) {
            Some(path) => Ok(DirHandle { fd, path, links: true }),
            None => Ok(DirHandle { fd, path: path.canonicalize()?, links: false }),
        }
    }

    /// Opens what a path names, through links that stay inside the directory.
    pub(super) fn find(&self, rel: &Path) -> Result<OpenedPath> {
        let fd = self.open_at(rel, METADATA | OFlags::CLOEXEC)?;
        let stat = rustix::fs::fstat(&fd)?;
        let real = match real_path(&fd) {
            Some(path) if self.links => {
                path.strip_prefix(&self.path).map_err(|_| Errno::XDEV)?.to_owned()
            }
            _ => rel.components().filter(|part| matches!(part, Component::Normal(_))).collect(),
        };
        Ok(OpenedPath { fd, real, stat })
    }

    /// Opens a path that was found earlier for reading. Refuses a file that replaced it meanwhile.
    /// Never waits for the other end of a pipe.
    pub(super) fn open_read(&self, found: &OpenedPath) -> Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        if self.links {
            match rustix::fs::open(own_link(&found.fd), flags, Mode::empty()) {
                Err(Errno::NOENT) => {}
                done => return done,
            }
        }
        let fd = self.open_at(&found.real, flags)?;
        let now = rustix::fs::fstat(&fd)?;
        if FileId::from(&now) == FileId::from(&found.stat) { Ok(fd) } else { Err(Errno::AGAIN) }
    }

    /// The identity of a real path beneath the directory; a link is not followed.
    pub(super) fn identity(&self, rel: &Path) -> Option<FileId> {
        let stat = rustix::fs::statat(&self.fd, rel, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(FileId::from(&stat))
    }

    /// Opens a directory beneath this one for reading its entries; empty is the directory itself.
    pub(super) fn open_folder(&self, rel: &Path) -> Result<OwnedFd> {
        self.open_at(rel, OFlags::DIRECTORY | OFlags::CLOEXEC)
    }

    fn open_at(&self, rel: &Path, flags: OFlags) -> Result<OwnedFd> {
        let rel = if rel.as_os_str().is_empty() { Path::new(".") } else { rel };
        #[cfg(target_os = "linux")]
        if self.links {
            match kernel_open(&self.fd, rel, flags) {
                Err(Errno::NOSYS | Errno::PERM) => {}
                done => return done,
            }
        }
        open_without_links(&self.fd, rel, flags)
    }
}

/// Lets the kernel resolve a path beneath a directory.
#[cfg(target_os = "linux")]
fn kernel_open(fd: &OwnedFd, rel: &Path, flags: OFlags) -> Result<OwnedFd> {
    use rustix::fs::ResolveFlags;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    // The kernel returns AGAIN when a directory on the way is renamed meanwhile.
    for _ in 0..32 {
        match rustix::fs::openat2(fd, rel, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            done => return done,
        }
    }
    Err(Errno::AGAIN)
}

/// Opens a path component by component and refuses every link and every `..`.
fn open_without_links(fd: &OwnedFd, rel: &Path, flags: OFlags) -> Result<OwnedFd> {
    let step = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut parts = Vec::new();
    for part in rel.components() {
        match part {
            Component::Normal(name) => parts.push(name),
            Component::CurDir => {}
            _ => return Err(Errno::XDEV),
        }
    }
    let Some(last) = parts.pop() else {
        return rustix::fs::openat(fd, ".", flags, Mode::empty());
    };
    let mut folder = rustix::fs::openat(fd, ".", step, Mode::empty())?;
    for name in parts {
        folder = rustix::fs::openat(&folder, name, step, Mode::empty())?;
    }
    let opened = rustix::fs::openat(&folder, last, flags | OFlags::NOFOLLOW, Mode::empty())?;
    match kind_of(&rustix::fs::fstat(&opened)?) {
        FileKind::Symlink => Err(Errno::LOOP),
        _ => Ok(opened),
    }
}

/// Opens a regular file in an open directory for reading. Follows no link and opens nothing but a
/// regular file; never waits for the other end of a pipe.
pub(super) fn open_file_at(folder: impl AsFd, name: impl Arg) -> Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY;
    let fd = rustix::fs::openat(folder, name, flags | OFlags::CLOEXEC, Mode::empty())?;
    match kind_of(&rustix::fs::fstat(&fd)?) {
        FileKind::File => Ok(File::from(fd)),
        _ => Err(Errno::AGAIN),
    }
}

/// The real path of an open file, as reported by the kernel.
fn real_path(fd: &impl AsFd) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    if !cfg!(target_os = "linux") {
        return None;
    }
    let target = rustix::fs::readlink(own_link(fd), Vec::new()).ok()?;
    let path = PathBuf::from(std::ffi::OsString::from_vec(target.into_bytes()));
    path.is_absolute().then_some(path)
}

/// The `/proc` path that names an open file, wherever the file was moved.
fn own_link(fd: &impl AsFd) -> String {
    use rustix::fd::AsRawFd;
    format!("/proc/self/fd/{}", fd.as_fd().as_raw_fd())
}

/// The file kind in stat data.
pub(super) fn kind_of(stat: &Stat) -> FileKind {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => FileKind::File,
        FileType::Directory => FileKind::Directory,
        FileType::Symlink => FileKind::Symlink,
        _ => FileKind::Other,
    }
}

/// Stat data as evidence, without a digest.
#[allow(clippy::unnecessary_cast, reason = "the fields differ in width between systems")]
pub(super) fn state_of(stat: &Stat) -> FileState {
    FileState {
        kind: kind_of(stat),
        size: stat.st_size.max(0) as u64,
        mtime_ns: (stat.st_mtime as i64)
            .saturating_mul(1_000_000_000)
            .saturating_add(stat.st_mtime_nsec as i64),
        ctime_ns: (stat.st_ctime as i64)
            .saturating_mul(1_000_000_000)
            .saturating_add(stat.st_ctime_nsec as i64),
        inode: stat.st_ino as u64,
        mode: stat.st_mode as u32 & 0o7777,
        sha256: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_regular_file_in_the_directory_itself_is_opened() {
        let dir = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("secret"), "s").unwrap();
        std::fs::write(dir.path().join("file"), "f").unwrap();
        std::fs::create_dir(dir.path().join("folder")).unwrap();
        std::os::unix::fs::symlink(outside.path().join("secret"), dir.path().join("out")).unwrap();
        std::os::unix::fs::symlink("file", dir.path().join("in")).unwrap();
        let socket = std::os::unix::net::UnixListener::bind(dir.path().join("socket")).unwrap();
        let folder = DirHandle::open(dir.path()).unwrap().open_folder(Path::new("")).unwrap();
        let refused = |name: &str| open_file_at(&folder, name).err();
        assert_eq!(refused("file"), None);
        assert_eq!(refused("folder"), Some(Errno::AGAIN));
        assert_eq!(refused("out"), Some(Errno::LOOP));
        assert_eq!(refused("in"), Some(Errno::LOOP));
        assert_eq!(refused("socket"), Some(Errno::NXIO));
        assert_eq!(refused("none"), Some(Errno::NOENT));
        drop(socket);
    }

    /// A handle as on a system without `openat2`.
    fn without_openat2(dir: &tempfile::TempDir) -> DirHandle {
        DirHandle { links: false, ..DirHandle::open(dir.path()).unwrap() }
    }

    #[test]
    fn without_openat2_no_link_is_followed_and_no_path_leads_out() {
        let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let at = |name: &str| dir.path().join(name);
        std::fs::write(outside.path().join("secret"), "s").unwrap();
        std::fs::create_dir(at("folder")).unwrap();
        std::fs::write(at("folder/file"), "f").unwrap();
        for (target, link) in [
            (outside.path(), "out"),
            (&outside.path().join("secret"), "folder/out"),
            (Path::new("folder"), "in"),
            (Path::new("file"), "folder/in"),
        ] {
            std::os::unix::fs::symlink(target, at(link)).unwrap();
        }
        let folder = without_openat2(&dir);
        let refused = |rel: &str| {
            [METADATA, OFlags::RDONLY].map(|flags| folder.open_at(Path::new(rel), flags).is_err())
        };
        for rel in ["", ".", "folder", "folder/file", "./folder/./file"] {
            assert_eq!(refused(rel), [false; 2], "{rel}");
        }
        let above = outside.path().display().to_string();
        for rel in [
            "out/secret",
            "out",
            "folder/out",
            "in/file",
            "in",
            "folder/in",
            "..",
            "folder/..",
            "folder/../..",
            "/",
            &above,
        ] {
            assert_eq!(refused(rel), [true; 2], "{rel}");
        }
    }

    #[test]
    fn a_file_that_replaced_the_opened_one_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for (folder, expected) in [
            (DirHandle::open(dir.path()).unwrap(), Ok("found".to_owned())),
            (without_openat2(&dir), Err(Errno::AGAIN)),
        ] {
            std::fs::write(at("file"), "found").unwrap();
            std::fs::write(at("other"), "new").unwrap();
            let found = folder.find(Path::new("file")).unwrap();
            std::fs::rename(at("other"), at("file")).unwrap();
            let read = folder.open_read(&found);
            let read = read.map(|fd| std::io::read_to_string(File::from(fd)).unwrap());
            assert_eq!(read, expected);
        }
    }
}
