//! Signals of the keeper and its cells: children's ends as a descriptor, and what would end them
//! from a terminal or a session's end held back, since it is meant for `kb`.

use rustix::fd::{AsFd, OwnedFd};
use std::ffi::c_int;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::FromRawFd;

const HELD_BACK: [c_int; 5] =
    [libc::SIGCHLD, libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT];

/// Holds the signals back from here on; children inherit that until they undo it.
pub(super) fn hold_back() -> io::Result<()> {
    set_mask(&HELD_BACK)
}

/// What a program expects when it begins: nothing held back, and SIGPIPE ends it, which the start of
/// every Rust program has changed.
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

/// Readable when a child has ended; [`Children::take`] before asking which.
pub(super) struct Children(OwnedFd);

impl Children {
    pub(super) fn watch() -> io::Result<Children> {
        let set = set_of(&[libc::SIGCHLD]);
        // SAFETY: the set is initialised; -1 asks for a new descriptor, which nobody else owns.
        #[allow(unsafe_code)]
        match unsafe { libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) } {
            -1 => Err(io::Error::last_os_error()),
            descriptor => Ok(Children(unsafe { OwnedFd::from_raw_fd(descriptor) })),
        }
    }

    /// Forgets what was told so far.
    pub(super) fn take(&self) {
        let mut record = [MaybeUninit::<u8>::uninit(); size_of::<libc::signalfd_siginfo>()];
        let _ = rustix::io::read(&self.0, &mut record[..]);
    }
}

impl AsFd for Children {
    fn as_fd(&self) -> rustix::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}
