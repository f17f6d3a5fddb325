//! Carries out a mount plan in the child of a namespace worker: builds a new root directory and
//! enters it. Only system calls, since the child shares the memory of the worker.

use super::errno::last_errno;
use crate::sandbox::kind;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, fstat, mkdirat, mknodat, openat, openat2,
    symlinkat, unlinkat,
};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags,
    OpenTreeFlags, UnmountFlags, fsconfig_create, fsconfig_set_string, fsmount, fsopen,
    mount_change, mount_move, move_mount, open_tree, unmount,
};
use std::ffi::CStr;
use std::os::fd::AsRawFd;

/// The directory at which the new root is mounted while it is built. A worker always has it.
const BUILD_SITE: &CStr = c"/proc";
/// What is mounted over hidden files and directories, while the new root is built.
const HIDDEN_FILE: &CStr = c".hidden-file";
const HIDDEN_DIRECTORY: &CStr = c".hidden-directory";

/// Builds the new root from the texts of a plan and makes it the root of this process. The private file systems are added
/// to `memories`, which has room for them. Returns the new root.
pub(super) fn enter(texts: &[&CStr], memories: &mut Vec<OwnedFd>) -> Result<OwnedFd, Errno> {
    mount_change(c"/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    let proc = clone_tree(open_path(CWD, c"/proc")?.as_fd())?;
    let root = memory(c"755")?;
    attach(&root, CWD, BUILD_SITE, MoveMountFlags::empty())?;
    // Empty until the end: overlays need a directory beside the one that they show.
    mkdir(&root, c"proc");
    let mut texts = texts.iter();
    while let Some(text) = texts.next() {
        step(&root, text, &mut texts, memories)?;
    }
    // What is mounted elsewhere stays without its name.
    let _ = unlinkat(&root, HIDDEN_FILE, AtFlags::empty());
    let _ = unlinkat(&root, HIDDEN_DIRECTORY, AtFlags::REMOVEDIR);
    make_read_only(&proc)?;
    attach(&proc, &root, c"proc", MoveMountFlags::empty())?;
    set_read_only(&root, 0)?;
    switch(&root)?;
    Ok(root)
}

/// Whether this system mounts overlays. Changes the mounts of this process.
pub(super) fn has_overlays() -> Result<(), Errno> {
    mount_change(c"/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    let root = memory(c"755")?;
    attach(&root, CWD, BUILD_SITE, MoveMountFlags::empty())?;
    mkdir(&root, c"proc");
    overlay(c"/usr/bin:/proc/proc").map(drop)
}

fn step<'a>(
    root: &OwnedFd,
    text: &CStr,
    more: &mut impl Iterator<Item = &'a &'a CStr>,
    memories: &mut Vec<OwnedFd>,
) -> Result<(), Errno> {
    let (&kind, path) = text.to_bytes_with_nul().split_first().ok_or(Errno::INVAL)?;
    let path = CStr::from_bytes_with_nul(path).map_err(|_| Errno::INVAL)?;
    // The path below the new root: without the leading slash.
    let below = path.to_bytes_with_nul().get(1..).ok_or(Errno::INVAL)?;
    let below = CStr::from_bytes_with_nul(below).map_err(|_| Errno::INVAL)?;
    match kind {
        kind::DIRECTORY => mkdir(root, below),
        kind::LINK => {
            let target = more.next().ok_or(Errno::INVAL)?;
            let _ = symlinkat(*target, root, below);
        }
        kind::READ | kind::WRITE | kind::FROM => {
            mkdir(root, below);
            let source = if kind == kind::FROM { more.next().ok_or(Errno::INVAL)? } else { path };
            bind(root, source, below, kind == kind::READ)?;
        }
        kind::OVERLAY => {
            mkdir(root, below);
            let directories = more.next().ok_or(Errno::INVAL)?;
            match (overlay(directories), open_path(root, below)) {
                (Ok(tree), Ok(to)) => {
                    attach(&tree, &to, c"", MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH)?;
                }
                // Some file systems have no overlay, and it may have been removed.
                _ => bind(root, path, below, true)?,
            }
        }
        kind::ALLOW | kind::MARK | kind::RULES => {}
        kind::READ_FILE | kind::WRITE_FILE => {
            let flags = OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::WRONLY;
            let _ = openat(root, below, flags | OFlags::EXCL, Mode::from_raw_mode(0o644));
            bind(root, path, below, kind == kind::READ_FILE)?;
        }
        kind::MEMORY => {
            mkdir(root, below);
            let tree = memory(c"1777")?;
            attach(&tree, root, below, MoveMountFlags::empty())?;
            memories.push(tree);
        }
        kind::PROTECT | kind::PIN => cover(root, below, kind == kind::PROTECT)?,
        kind::HIDE => hide(root, below)?,
        _ => return Err(Errno::INVAL),
    }
    Ok(())
}

/// Mounts a path of the host. One that has disappeared, or leads through a link now, is skipped.
fn bind(root: &OwnedFd, source: &CStr, below: &CStr, read_only: bool) -> Result<(), Errno> {
    let (source, target) = match (open_path(CWD, source), open_path(root, below)) {
        (Ok(source), Ok(target)) => (source, target),
        (Err(error), _) | (_, Err(error)) => return ignore_missing(error),
    };
    let tree = clone_tree(source.as_fd())?;
    if read_only {
        make_read_only(&tree)?;
    }
    attach(&tree, &target, c"", MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH)
}

/// Mounts a path in the new root over itself.
fn cover(root: &OwnedFd, below: &CStr, read_only: bool) -> Result<(), Errno> {
    let found = match open_path(root, below) {
        Ok(found) => found,
        Err(error) => return ignore_missing(error),
    };
    let tree = clone_tree(found.as_fd())?;
    if read_only {
        make_read_only(&tree)?;
    }
    attach(&tree, &found, c"", MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH)
}

/// Mounts an entry that cannot be read over a path in the new root: an empty directory over a directory,
/// else a socket, which cannot be opened, not even by root.
fn hide(root: &OwnedFd, below: &CStr) -> Result<(), Errno> {
    let found = match open_path(root, below) {
        Ok(found) => found,
        Err(error) => return ignore_missing(error),
    };
    let kind = FileType::from_raw_mode(fstat(&found)?.st_mode);
    let closed = Mode::empty();
    let (name, made) = match kind {
        FileType::Symlink => return Ok(()),
        FileType::Directory => (HIDDEN_DIRECTORY, mkdirat(root, HIDDEN_DIRECTORY, closed)),
        _ => (HIDDEN_FILE, mknodat(root, HIDDEN_FILE, FileType::Socket, closed, 0)),
    };
    if let Err(error) = made
        && error != Errno::EXIST
    {
        return Err(error);
    }
    let tree = clone_tree(open_path(root, name)?.as_fd())?;
    make_read_only(&tree)?;
    attach(&tree, &found, c"", MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH)
}

fn ignore_missing(error: Errno) -> Result<(), Errno> {
    match error {
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS => Ok(()),
        error => Err(error),
    }
}

fn mkdir(root: &OwnedFd, below: &CStr) {
    // It may exist already; if it is missing, opening it fails later.
    let _ = mkdirat(root, below, Mode::from_raw_mode(0o755));
}

/// Opens a path without following any link.
pub(super) fn open_path(at: impl AsFd, path: &CStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    loop {
        match openat2(&at, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            // The kernel found a concurrent change.
            Err(Errno::AGAIN | Errno::INTR) => {}
            other => return other,
        }
    }
}

fn clone_tree(of: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_EMPTY_PATH;
    open_tree(of, c"", flags)
}

/// An empty file system in memory, not mounted yet.
fn memory(mode: &CStr) -> Result<OwnedFd, Errno> {
    let context = fsopen(c"tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(&context, c"mode", mode)?;
    fsconfig_create(&context)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

/// A read-only overlay of directories, not mounted yet.
fn overlay(directories: &CStr) -> Result<OwnedFd, Errno> {
    let context = fsopen(c"overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(&context, c"lowerdir", directories)?;
    fsconfig_create(&context)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_RDONLY;
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

fn attach(tree: &OwnedFd, to: impl AsFd, path: &CStr, flags: MoveMountFlags) -> Result<(), Errno> {
    move_mount(tree, c"", to, path, flags | MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
}

/// Makes a mount and all mounts below it read-only.
fn make_read_only(tree: &OwnedFd) -> Result<(), Errno> {
    set_read_only(tree, libc::AT_RECURSIVE)
}

fn set_read_only(tree: &OwnedFd, flags: libc::c_int) -> Result<(), Errno> {
    let attributes = libc::mount_attr {
        attr_set: libc::MOUNT_ATTR_RDONLY,
        attr_clr: 0,
        propagation: 0,
        userns_fd: 0,
    };
    // SAFETY: the path ends with a zero byte, and the size is that of the structure.
    #[allow(unsafe_code)]
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | flags,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    if done == 0 { Ok(()) } else { Err(last_errno()) }
}

/// Makes the new root the root directory and unmounts the old one. Where the old root cannot be
/// replaced (an initial RAM disk), it stays below the new one, out of reach without a right to
/// `chroot`.
fn switch(root: &OwnedFd) -> Result<(), Errno> {
    rustix::process::fchdir(root)?;
    match rustix::process::pivot_root(c".", c".") {
        Ok(()) => unmount(c".", UnmountFlags::DETACH)?,
        Err(Errno::INVAL) => {
            mount_move(c".", c"/")?;
            rustix::process::chroot(c".")?;
        }
        Err(error) => return Err(error),
    }
    rustix::process::chdir(c"/")
}
