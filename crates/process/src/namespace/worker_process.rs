//! The process that a namespace worker is: PID 1 of a PID namespace.

use super::clone::Stack;
use super::kept::Kept;
use super::launch::launch;
use super::message::{INLINE, KILL_ALL, Order, Report, START, Stage, TERMINATE};
use super::network_counters::NetworkCounters;
use super::signals::Children;
use super::{isolation, setup, socket};
use crate::result::Unreached;
use crate::sandbox::Isolation;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};
use rustix::thread::CapabilitySet;
use std::ffi::c_int;
use std::io;

/// Runs the worker: one process at a time, until `kb` closes the socket. When it returns, the kernel
/// ends every process in the namespace.
pub(super) fn run(
    socket: BorrowedFd<'_>,
    dev_null: BorrowedFd<'_>,
    capabilities: CapabilitySet,
) -> c_int {
    match prepare(capabilities) {
        Err((stage, errno)) => {
            let errno = errno.raw_os_error();
            let _ = socket::send(socket, &Report::Refused(stage, errno).encode(), &[]);
        }
        Ok(children) => {
            let (mut stack, message) = (Stack::new(64 << 10), vec![0; INLINE]);
            let available = isolation::detect(&mut stack);
            let kept = Kept::default();
            let mut worker = WorkerProcess { socket, dev_null, children, stack, kept, message };
            let _ = worker.serve(available);
        }
    }
    0
}

fn prepare(capabilities: CapabilitySet) -> Result<Children, (Stage, Errno)> {
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    let _ = rustix::process::setsid();
    let _ = rustix::thread::set_name(c"kb-worker");
    setup::mount_proc().map_err(|errno| (Stage::Proc, errno))?;
    setup::randomize_pids();
    setup::limit_capabilities(capabilities);
    Children::watch()
        .map_err(|error| (Stage::Signals, Errno::from_io_error(&error).unwrap_or(Errno::INVAL)))
}

struct WorkerProcess<'a> {
    socket: BorrowedFd<'a>,
    dev_null: BorrowedFd<'a>,
    children: Children,
    stack: Stack,
    kept: Kept,
    /// The buffer for received messages.
    message: Vec<u8>,
}

/// How long a worker without a command keeps its namespaces.
const KEPT_WHEN_IDLE: Timespec = Timespec { tv_sec: 5, tv_nsec: 0 };

/// A request from `kb`.
enum Request {
    Start(Order),
    Terminate,
    KillAll,
    /// `kb` has ended, or the message is malformed.
    Closed,
}

impl WorkerProcess<'_> {
    fn serve(&mut self, available: Isolation) -> io::Result<()> {
        self.report(Report::Ready(available))?;
        loop {
            self.forget_when_idle();
            match self.receive()? {
                Request::Closed => return Ok(()),
                Request::Terminate => {}
                // For a step that ended without leftover processes before `kb` knew it.
                Request::KillAll => self.clean_up()?,
                Request::Start(order) => {
                    let started = launch(&order, &mut self.stack, &mut self.kept, self.dev_null);
                    drop(order);
                    match started {
                        Err(errno) => self.report(Report::NotStarted(errno.raw_os_error()))?,
                        Ok((pid, counters)) => self.supervise(pid, counters)?,
                    }
                }
            }
        }
    }

    /// Waits for a message. After a while, nothing is kept: mounts in a kept namespace stay although the host unmounts them.
    fn forget_when_idle(&mut self) {
        if !self.kept.is_empty() {
            let mut ready = [PollFd::from_borrowed_fd(self.socket, PollFlags::IN)];
            if let Ok(0) = poll(&mut ready, Some(&KEPT_WHEN_IDLE)) {
                self.kept = Kept::default();
            }
        }
    }

    /// Runs until the step has ended and, if it left processes behind, `kb` has ordered to kill them.
    fn supervise(&mut self, pid: Pid, mut counters: Option<NetworkCounters>) -> io::Result<()> {
        // `None` once the main process has ended.
        let mut main = Some(pid);
        loop {
            let [has_request, has_ended_child] = self.wait()?;
            if has_ended_child && !self.reap(&mut main, &mut counters)? {
                return Ok(());
            }
            if !has_request {
                continue;
            }
            match (self.receive()?, main) {
                (Request::Closed, _) => return Err(io::ErrorKind::UnexpectedEof.into()),
                (Request::Terminate, Some(pid)) => {
                    let _ = rustix::process::kill_process_group(pid, Signal::TERM);
                    // A stopped process handles SIGTERM only after SIGCONT.
                    let _ = rustix::process::kill_process_group(pid, Signal::CONT);
                }
                (Request::KillAll, Some(_)) => kill_all(),
                (Request::KillAll, None) => return self.clean_up(),
                (Request::Terminate, None) | (Request::Start(_), _) => {}
            }
        }
    }

    fn wait(&self) -> io::Result<[bool; 2]> {
        let mut ready = [
            PollFd::from_borrowed_fd(self.socket, PollFlags::IN),
            PollFd::new(&self.children, PollFlags::IN),
        ];
        while let Err(errno) = poll(&mut ready, None) {
            if errno != Errno::INTR {
                return Err(errno.into());
            }
        }
        Ok(ready.map(|one| !one.revents().is_empty()))
    }

    /// Reaps children, adopted orphans included. Returns false once the main process has ended and
    /// no child is left.
    fn reap(
        &self,
        main: &mut Option<Pid>,
        counters: &mut Option<NetworkCounters>,
    ) -> io::Result<bool> {
        self.children.clear();
        let mut status = None;
        let leftover = loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, end))) => {
                    if *main == Some(pid) {
                        status = Some(end);
                    }
                }
                Ok(None) => break true,
                Err(Errno::INTR) => {}
                Err(_) => break false,
            }
        };
        let Some(status) = status else { return Ok(true) };
        *main = None;
        let unreached = match status.exit_status() {
            Some(0) => Unreached::default(),
            _ => counters.take().map(|own| own.unreached()).unwrap_or_default(),
        };
        self.report(ended(status, leftover, unreached))?;
        Ok(leftover)
    }

    /// Kills every process in the namespace and waits until the kernel reports no child.
    fn clean_up(&self) -> io::Result<()> {
        kill_all();
        while !matches!(rustix::process::wait(WaitOptions::empty()), Err(errno) if errno != Errno::INTR)
        {
        }
        self.report(Report::Clean)
    }

    fn receive(&mut self) -> io::Result<Request> {
        let message = &mut self.message;
        let mut descriptors: Vec<OwnedFd> = Vec::new();
        let length = loop {
            match socket::receive(self.socket, message, &mut descriptors) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        Ok(match message.first() {
            Some(&START) if length > 0 => Order::decode(&message[..length], descriptors)
                .map_or(Request::Closed, Request::Start),
            Some(&TERMINATE) if length > 0 => Request::Terminate,
            Some(&KILL_ALL) if length > 0 => Request::KillAll,
            _ => Request::Closed,
        })
    }

    fn report(&self, report: Report) -> io::Result<()> {
        socket::send(self.socket, &report.encode(), &[])
    }
}

fn ended(status: WaitStatus, leftover: bool, unreached: Unreached) -> Report {
    let (code, by_signal) = match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => (code, false),
        (None, signal) => (signal.unwrap_or_default(), true),
    };
    Report::Ended { code, by_signal, leftover, unreached }
}

/// Sends SIGKILL to every process in the namespace but this one, in one system call.
fn kill_all() {
    let _ = rustix::process::kill_process_group(Pid::INIT, Signal::KILL);
}
