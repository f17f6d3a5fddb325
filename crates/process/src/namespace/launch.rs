//! Starts the process of an order in a namespace worker.

use super::clone::{Stack, until_exec};
use super::errno::last_errno;
use super::kept::{Entry, Kept};
use super::landlock_rule::allow_below;
use super::message::Order;
use super::network_counters::NetworkCounters;
use super::{isolation, signals};
use crate::failed_command::DESCRIPTOR;
use crate::sandbox::{READ_ACCESS, SystemCallFilter, drop_capabilities};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::Pid;
use std::ffi::{CStr, c_char, c_int};
use std::os::fd::AsRawFd;

/// Everything that the child needs. It is built before the child starts, since the child must not
/// allocate.
struct Prepared<'a> {
    program: &'a CStr,
    cwd: &'a CStr,
    argv: Vec<*const c_char>,
    env: Vec<*const c_char>,
    entry: &'a Entry<'a>,
    filter: SystemCallFilter,
    stdio: [BorrowedFd<'a>; 3],
    rules: Option<BorrowedFd<'a>>,
    report: Option<BorrowedFd<'a>>,
}

/// Starts the process of an order in its own process group. Returns the counters of its network too, if it has one of
/// its own.
pub(super) fn launch(
    order: &Order,
    stack: &mut Stack,
    kept: &mut Kept,
    dev_null: BorrowedFd<'_>,
) -> Result<(Pid, Option<NetworkCounters>), Errno> {
    let entry = kept.entry(stack, order.isolation, &order.mounts())?;
    if let Some(rules) = &order.rules {
        allow_own_proc(rules.as_fd())?;
        entry.allow(rules.as_fd())?;
    }
    let stdin = order.stdin.as_ref().map_or(dev_null, AsFd::as_fd);
    let prepared = Prepared {
        program: order.program(),
        cwd: order.cwd(),
        argv: order.argv(),
        env: order.env(),
        entry: &entry,
        filter: SystemCallFilter::new(order.isolation),
        stdio: [stdin, order.stdout.as_fd(), order.stderr.as_fd()],
        rules: order.rules.as_ref().map(AsFd::as_fd),
        report: order.report.as_ref().map(AsFd::as_fd),
    };
    let mut failed = None;
    let started = until_exec(stack, isolation::namespaces(order.isolation), &mut || {
        let Err(error) = own_descriptors().and_then(|()| become_program(&prepared));
        failed = Some(error);
        127
    });
    let pid = started.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::AGAIN))?;
    match failed {
        None => Ok((pid, entry.counters())),
        Some(error) => {
            let _ = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty());
            Err(error)
        }
    }
}

enum Never {}

/// Gives the child a table of descriptors of its own, so that it can change them.
fn own_descriptors() -> Result<(), Errno> {
    // SAFETY: a plain system call.
    #[allow(unsafe_code)]
    let done = unsafe { libc::unshare(libc::CLONE_FILES) };
    if done == 0 { Ok(()) } else { Err(last_errno()) }
}

/// Executes the program. Runs in the child on shared memory, so it only makes system calls.
fn become_program(prepared: &Prepared<'_>) -> Result<Never, Errno> {
    rustix::process::setpgid(None, None)?;
    let [stdin, stdout, stderr] = prepared.stdio;
    rustix::stdio::dup2_stdin(stdin)?;
    rustix::stdio::dup2_stdout(stdout)?;
    rustix::stdio::dup2_stderr(stderr)?;
    if let Some(report) = prepared.report {
        pass_on(report);
    }
    prepared.entry.enter()?;
    rustix::process::chdir(prepared.cwd)?;
    signals::restore().map_err(|_| Errno::INVAL)?;
    if let Some(rules) = prepared.rules {
        restrict(rules)?;
        prepared.filter.install()?;
    }
    // SAFETY: both lists end with a null pointer, and their strings live in the order, which the
    // suspended parent owns.
    #[allow(unsafe_code)]
    unsafe {
        libc::execve(prepared.program.as_ptr(), prepared.argv.as_ptr(), prepared.env.as_ptr());
    }
    Err(last_errno())
}

/// Passes a file on as [`DESCRIPTOR`]. The program can do without it, so a failure is ignored.
fn pass_on(report: BorrowedFd<'_>) {
    // SAFETY: the child has its own table of descriptors, and nothing in it uses this number.
    #[allow(unsafe_code)]
    unsafe {
        libc::dup2(report.as_raw_fd(), DESCRIPTOR);
    }
}

/// Adds read access to the `/proc` of this namespace: the rules were created where another one is
/// mounted.
fn allow_own_proc(rules: BorrowedFd<'_>) -> Result<(), Errno> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let proc = rustix::fs::open(c"/proc", flags, Mode::empty())?;
    allow_below(rules, &proc, READ_ACCESS)
}

/// Applies the ruleset to this process and the program that it executes.
fn restrict(rules: BorrowedFd<'_>) -> Result<(), Errno> {
    drop_capabilities().map_err(|_| Errno::PERM)?;
    rustix::thread::set_no_new_privs(true)?;
    // SAFETY: a plain system call with a descriptor and no flags.
    #[allow(unsafe_code)]
    let done =
        unsafe { libc::syscall(libc::SYS_landlock_restrict_self, rules.as_raw_fd(), 0 as c_int) };
    if done == 0 { Ok(()) } else { Err(last_errno()) }
}
