//! Opening paths under a folder that is held open, so that nothing outside of it can be reached.
//!
//! The kernel does it (`openat2` with `RESOLVE_BENEATH`); where it cannot, links are not followed
//! at all. No decision here looks at a path's text alone.

use crate::evidence::{FileKind, FileState};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::{Errno, Result};
use std::path::{Component, Path, PathBuf};

/// A folder that is held open.
#[derive(Debug)]
pub(super) struct Folder {
    fd: OwnedFd,
    /// Where it really is.
    pub(super) path: PathBuf,
    links: bool,
}

/// Something that was opened to look at, not to read.
pub(super) struct Found {
    pub(super) fd: OwnedFd,
    /// Where it really is, relative to the folder; empty is the folder itself.
    pub(super) real: PathBuf,
    pub(super) stat: Stat,
}

#[cfg(target_os = "linux")]
const LOOK: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const LOOK: OFlags = OFlags::NONBLOCK;

impl Folder {
    /// Opens the folder itself; its own path may hold links.
    pub(super) fn open(path: &Path) -> std::io::Result<Folder> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::open(path, flags, Mode::empty())?;
        match real_path(&fd) {
            Some(path) => Ok(Folder { fd, path, links: true }),
            None => Ok(Folder { fd, path: path.canonicalize()?, links: false }),
        }
    }

    /// Looks at what a path names, through links that stay inside.
    pub(super) fn find(&self, rel: &Path) -> Result<Found> {
        let fd = self.open_at(rel, LOOK | OFlags::CLOEXEC)?;
        let stat = rustix::fs::fstat(&fd)?;
        let real = match real_path(&fd) {
            Some(path) if self.links => {
                path.strip_prefix(&self.path).map_err(|_| Errno::XDEV)?.to_owned()
            }
            _ => rel.components().filter(|part| matches!(part, Component::Normal(_))).collect(),
        };
        Ok(Found { fd, real, stat })
    }

    /// Opens a path for reading. Never waits for a pipe's other end.
    pub(super) fn open_read(&self, rel: &Path) -> Result<OwnedFd> {
        self.open_at(rel, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC)
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

/// Asks the kernel to resolve a path beneath a folder.
#[cfg(target_os = "linux")]
fn kernel_open(fd: &OwnedFd, rel: &Path, flags: OFlags) -> Result<OwnedFd> {
    use rustix::fs::ResolveFlags;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    // The kernel gives up with AGAIN when somebody renames folders on the way.
    for _ in 0..32 {
        match rustix::fs::openat2(fd, rel, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            done => return done,
        }
    }
    Err(Errno::AGAIN)
}

/// Opens part by part and refuses every link and every `..`.
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

/// Where an open file really is, as the kernel says.
fn real_path(fd: &impl AsFd) -> Option<PathBuf> {
    use rustix::fd::AsRawFd;
    use std::os::unix::ffi::OsStringExt;
    if !cfg!(target_os = "linux") {
        return None;
    }
    let link = format!("/proc/self/fd/{}", fd.as_fd().as_raw_fd());
    let target = rustix::fs::readlink(link, Vec::new()).ok()?;
    let path = PathBuf::from(std::ffi::OsString::from_vec(target.into_bytes()));
    path.is_absolute().then_some(path)
}

/// What kind of thing stat data speak of.
pub(super) fn kind_of(stat: &Stat) -> FileKind {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => FileKind::File,
        FileType::Directory => FileKind::Directory,
        FileType::Symlink => FileKind::Symlink,
        _ => FileKind::Other,
    }
}

/// Stat data as evidence; without a digest.
#[allow(clippy::unnecessary_cast, reason = "the fields differ in width between systems")]
pub(super) fn state_of(stat: &Stat) -> FileState {
    FileState {
        kind: kind_of(stat),
        size: stat.st_size.max(0) as u64,
        mtime_ns: (stat.st_mtime as i64)
            .saturating_mul(1_000_000_000)
            .saturating_add(stat.st_mtime_nsec as i64),
        inode: stat.st_ino as u64,
        mode: stat.st_mode as u32 & 0o7777,
        sha256: None,
    }
}
