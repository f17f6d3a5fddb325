//! The only caller of `clone`, which runs the child on its own stack.

use rustix::fd::OwnedFd;
use rustix::process::Pid;
use std::ffi::{c_int, c_void};
use std::io;
use std::os::fd::FromRawFd;

/// The stack of a child until it executes a program or ends.
pub(super) struct Stack(Vec<u128>);

impl Stack {
    pub(super) fn new(bytes: usize) -> Stack {
        Stack(vec![0; bytes / size_of::<u128>()])
    }
}

/// Creates a child with its own memory, in new PID and mount namespaces, that calls `run` and ends.
/// Returns its process id and pidfd.
pub(super) fn into_namespaces(
    stack: &mut Stack,
    run: &mut dyn FnMut() -> c_int,
) -> io::Result<(Pid, OwnedFd)> {
    let namespaces = libc::CLONE_NEWPID | libc::CLONE_NEWNS;
    let mut descriptor: c_int = -1;
    let flags = namespaces | libc::CLONE_PIDFD | libc::SIGCHLD;
    let pid = clone(stack, flags, run, &mut descriptor)?;
    // SAFETY: with CLONE_PIDFD a successful `clone` has stored a new descriptor, which has no other owner.
    #[allow(unsafe_code)]
    let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor) };
    Ok((pid, descriptor))
}

/// Creates a child that shares the memory and the descriptors of this process until it executes a program or ends. This
/// process is suspended meanwhile. `namespaces` are the new namespaces of the child. Unlike a fork, this copies no page
/// tables. `run` may only make system calls: no allocation, no lock, no panic.
pub(super) fn until_exec(
    stack: &mut Stack,
    namespaces: c_int,
    run: &mut dyn FnMut() -> c_int,
) -> io::Result<Pid> {
    let shared = libc::CLONE_VM | libc::CLONE_FILES | libc::CLONE_VFORK;
    clone(stack, shared | libc::SIGCHLD | namespaces, run, &mut -1)
}

fn clone(
    stack: &mut Stack,
    flags: c_int,
    mut run: &mut dyn FnMut() -> c_int,
    descriptor: &mut c_int,
) -> io::Result<Pid> {
    let argument: *mut &mut dyn FnMut() -> c_int = &mut run;
    let top = stack.0.as_mut_ptr_range().end;
    // SAFETY: `top` is the aligned end of a stack that has no other user: the child has a copy of
    // it, or, with CLONE_VM, this process is suspended (CLONE_VFORK) while the child uses it. The
    // argument has the type that `start` expects and lives long enough: in the copy, or until this
    // call returns. This process has one thread, so no other thread can hold a lock.
    #[allow(unsafe_code)]
    let pid =
        unsafe { libc::clone(start, top.cast(), flags, argument.cast(), &raw mut *descriptor) };
    match Pid::from_raw(pid) {
        Some(pid) if pid.as_raw_nonzero().get() > 0 => Ok(pid),
        _ => Err(io::Error::last_os_error()),
    }
}

extern "C" fn start(argument: *mut c_void) -> c_int {
    // SAFETY: `clone` above passes a valid pointer to this type, and nothing else uses it.
    #[allow(unsafe_code)]
    let run = unsafe { &mut *argument.cast::<&mut dyn FnMut() -> c_int>() };
    run()
}
