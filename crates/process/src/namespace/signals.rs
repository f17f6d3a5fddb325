//! The signals of the init process and its workers: SIGCHLD arrives on a descriptor, and signals of
//! a terminal or an ending session, which are meant for `kb`, are blocked.

use rustix::fd::{AsFd, OwnedFd};
use std::ffi::c_int;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::FromRawFd;

const BLOCKED: [c_int; 5] =
    [libc::SIGCHLD, libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT];

/// Blocks the signals. Children inherit the mask until they call [`restore`].
pub(super) fn block() -> io::Result<()> {
    set_mask(&BLOCKED)
}

/// Restores the state that a program expects at its start: no signal blocked, and the default action
/// for SIGPIPE, which the Rust runtime ignores.
pub(super) fn restore() -> io::Result<()> {
    // SAFETY: sets a disposition that is no handler.
    #[allow(unsafe_code)]
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
    }
    set_mask(&[])
}

fn set_mask(signals: &[c_int]) -> io::Result<()> {
    let set = set_of(signals);
    // SAFETY: the set is initialised; no old one is asked for.
    #[allow(unsafe_code)]
    match unsafe { libc::sigprocmask(libc::SIG_SETMASK, &set, std::ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn set_of(signals: &[c_int]) -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: `sigemptyset` initialises it; the signals are valid ones.
    #[allow(unsafe_code)]
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in signals {
            libc::sigaddset(set.as_mut_ptr(), *signal);
        }
        set.assume_init()
    }
}

/// A descriptor that is readable when a child has ended. Call [`Children::clear`] before `wait`.
pub(super) struct Children(OwnedFd);

impl Children {
    pub(super) fn watch() -> io::Result<Children> {
        let set = set_of(&[libc::SIGCHLD]);
        // SAFETY: the set is initialised; -1 asks for a new descriptor, which has no other owner.
        #[allow(unsafe_code)]
        match unsafe { libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) } {
            -1 => Err(io::Error::last_os_error()),
            descriptor => Ok(Children(unsafe { OwnedFd::from_raw_fd(descriptor) })),
        }
    }

    /// Reads and discards a pending notification.
    pub(super) fn clear(&self) {
        let mut record = [MaybeUninit::<u8>::uninit(); size_of::<libc::signalfd_siginfo>()];
        let _ = rustix::io::read(&self.0, &mut record[..]);
    }
}

impl AsFd for Children {
    fn as_fd(&self) -> rustix::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}
