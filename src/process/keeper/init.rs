use super::clone::Stack;
use super::launch::launch;
use super::message::{END, INLINE, Order, Report, START, Stage, TERMINATE};
use super::signals::Children;
use super::{namespace, socket};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};
use rustix::thread::CapabilitySet;
use std::ffi::c_int;
use std::io;

/// PID 1 of a cell: one process at a time, until `kb` closes its socket. When it returns, the kernel
/// ends everything in the namespace.
pub(super) fn serve(
    socket: BorrowedFd<'_>,
    nothing: BorrowedFd<'_>,
    rights: CapabilitySet,
) -> c_int {
    match prepare(rights) {
        Err((stage, errno)) => {
            let errno = errno.raw_os_error();
            let _ = socket::send(socket, &Report::Refused(stage, errno).encode(), &[]);
        }
        Ok(children) => {
            let (stack, message) = (Stack::new(64 << 10), vec![0; INLINE]);
            let mut init = Init { socket, nothing, children, stack, message };
            let _ = init.serve();
        }
    }
    0
}

fn prepare(rights: CapabilitySet) -> Result<Children, (Stage, Errno)> {
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    let _ = rustix::process::setsid();
    let _ = rustix::thread::set_name(c"kb-cell");
    namespace::own_proc().map_err(|errno| (Stage::Proc, errno))?;
    namespace::spread_ids();
    namespace::keep_rights(rights);
    Children::watch()
        .map_err(|error| (Stage::Signals, Errno::from_io_error(&error).unwrap_or(Errno::INVAL)))
}

struct Init<'a> {
    socket: BorrowedFd<'a>,
    nothing: BorrowedFd<'a>,
    children: Children,
    stack: Stack,
    /// Where messages are read into.
    message: Vec<u8>,
}

/// What came from `kb`.
enum Said {
    Start(Order),
    Terminate,
    End,
    /// `kb` is gone, or speaks another language.
    Nothing,
}

impl Init<'_> {
    fn serve(&mut self) -> io::Result<()> {
        self.report(Report::Ready)?;
        loop {
            match self.hear()? {
                Said::Nothing => return Ok(()),
                Said::Terminate => {}
                // Of a step that has ended and left nothing, before that was known.
                Said::End => self.clear()?,
                Said::Start(order) => {
                    let started = launch(&order, &mut self.stack, self.nothing);
                    drop(order);
                    match started {
                        Err(errno) => self.report(Report::NotStarted(errno.raw_os_error()))?,
                        Ok(pid) => self.attend(pid)?,
                    }
                }
            }
        }
    }

    /// Until the step has ended and, where it left something, `kb` has said to end that.
    fn attend(&mut self, pid: Pid) -> io::Result<()> {
        // None once it has ended.
        let mut main = Some(pid);
        loop {
            let [said, ended] = self.wait()?;
            if ended && !self.take_ends(&mut main)? {
                return Ok(());
            }
            if !said {
                continue;
            }
            match (self.hear()?, main) {
                (Said::Nothing, _) => return Err(io::ErrorKind::UnexpectedEof.into()),
                (Said::Terminate, Some(pid)) => {
                    let _ = rustix::process::kill_process_group(pid, Signal::TERM);
                    // One that stands still could not obey.
                    let _ = rustix::process::kill_process_group(pid, Signal::CONT);
                }
                (Said::End, Some(_)) => kill_all(),
                (Said::End, None) => return self.clear(),
                (Said::Terminate, None) | (Said::Start(_), _) => {}
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

    /// Takes in the ends of children, adopted ones too; false once the main process has ended and
    /// nothing is left.
    fn take_ends(&self, main: &mut Option<Pid>) -> io::Result<bool> {
        self.children.take();
        let mut status = None;
        let left = loop {
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
        self.report(ended(status, left))?;
        Ok(left)
    }

    /// Kills and waits until the kernel says that there is no child, which is: nothing at all.
    fn clear(&self) -> io::Result<()> {
        kill_all();
        while !matches!(rustix::process::wait(WaitOptions::empty()), Err(errno) if errno != Errno::INTR)
        {
        }
        self.report(Report::Clear)
    }

    fn hear(&mut self) -> io::Result<Said> {
        let message = &mut self.message;
        let mut descriptors: Vec<OwnedFd> = Vec::new();
        let length = loop {
            match socket::receive(self.socket, message, &mut descriptors) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        Ok(match message.first() {
            Some(&START) if length > 0 => {
                Order::decode(&message[..length], descriptors).map_or(Said::Nothing, Said::Start)
            }
            Some(&TERMINATE) if length > 0 => Said::Terminate,
            Some(&END) if length > 0 => Said::End,
            _ => Said::Nothing,
        })
    }

    fn report(&self, report: Report) -> io::Result<()> {
        socket::send(self.socket, &report.encode(), &[])
    }
}

fn ended(status: WaitStatus, left: bool) -> Report {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Report::Ended { code, by_signal: false, left },
        (None, signal) => Report::Ended { code: signal.unwrap_or_default(), by_signal: true, left },
    }
}

/// Everything in the namespace but PID 1, in one call of the kernel.
fn kill_all() {
    let _ = rustix::process::kill_process_group(Pid::INIT, Signal::KILL);
}
