//! The one place that makes processes by hand: `clone`, with a stack of its own for the child.

use rustix::fd::OwnedFd;
use rustix::process::Pid;
use std::ffi::{c_int, c_void};
use std::io;
use std::os::fd::FromRawFd;

/// Where a child runs until it has its own program, or for ever.
pub(super) struct Stack(Vec<u128>);

impl Stack {
    pub(super) fn new(bytes: usize) -> Stack {
        Stack(vec![0; bytes / size_of::<u128>()])
    }
}

/// A child that shares nothing with this process, in new PID and mount namespaces, and the
/// descriptor by which it is signalled and waited for. `run` is all that it does.
pub(super) fn into_namespaces(
    stack: &mut Stack,
    run: &mut dyn FnMut() -> c_int,
) -> io::Result<(Pid, OwnedFd)> {
    let namespaces = libc::CLONE_NEWPID | libc::CLONE_NEWNS;
    let mut descriptor: c_int = -1;
    let flags = namespaces | libc::CLONE_PIDFD | libc::SIGCHLD;
    let pid = clone(stack, flags, run, &mut descriptor)?;
    // SAFETY: with CLONE_PIDFD a successful `clone` has stored a new descriptor, owned by nobody.
    #[allow(unsafe_code)]
    let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor) };
    Ok((pid, descriptor))
}

/// A child that borrows this process's memory while this process stands still, until it runs another
/// program or ends; a fork would copy page tables first. `run` may make system calls and nothing
/// else: no allocation, no lock, no panic.
pub(super) fn until_exec(
    stack: &mut Stack,
    own_mounts: bool,
    run: &mut dyn FnMut() -> c_int,
) -> io::Result<Pid> {
    let mounts = if own_mounts { libc::CLONE_NEWNS } else { 0 };
    clone(stack, libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD | mounts, run, &mut -1)
}

fn clone(
    stack: &mut Stack,
    flags: c_int,
    mut run: &mut dyn FnMut() -> c_int,
    descriptor: &mut c_int,
) -> io::Result<Pid> {
    let argument: *mut &mut dyn FnMut() -> c_int = &mut run;
    let top = stack.0.as_mut_ptr_range().end;
    // SAFETY: `top` is the aligned end of a stack that nobody else uses: the child has a copy of it,
    // or, with CLONE_VM, this process stands still (CLONE_VFORK) while the child is on it. The
    // argument is what `begin` expects and lives as long: in the copy, or until this call returns.
    // This process has one thread, so that no lock is held by one that the child does not have.
    #[allow(unsafe_code)]
    let pid =
        unsafe { libc::clone(begin, top.cast(), flags, argument.cast(), &raw mut *descriptor) };
    match Pid::from_raw(pid) {
        Some(pid) if pid.as_raw_nonzero().get() > 0 => Ok(pid),
        _ => Err(io::Error::last_os_error()),
    }
}

extern "C" fn begin(argument: *mut c_void) -> c_int {
    // SAFETY: `clone` above passes a pointer to this very type, alive and used by nobody else.
    #[allow(unsafe_code)]
    let run = unsafe { &mut *argument.cast::<&mut dyn FnMut() -> c_int>() };
    run()
}
