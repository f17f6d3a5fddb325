//! The init process: creates namespace workers until `kb` ends, then ends them all.

use super::clone::{Stack, into_namespaces};
use super::message::{Report, Stage};
use super::signals::{self, Children};
use super::{setup, socket, worker_process};
use crate::base_environment::HELPER_MARKER;
use crate::instance::Instance;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::process::{Pid, Signal, WaitOptions};
use rustix::thread::CapabilitySet;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::OnceLock;

/// The hidden first argument of the init process.
const INIT_ARGUMENT: &str = "__init";

/// Set if this program calls [`run_init_process`] and so can be started as its own init process.
static CALLED: OnceLock<()> = OnceLock::new();

/// Runs the init process if this process was started as one, and returns its exit code.
///
/// A program calls this first in `main`, before it reads arguments or settings. It can then start
/// itself again as its own init process. In a program that does not call it, processes run at the
/// level `group`.
pub fn run_init_process() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().as_deref() != Some(INIT_ARGUMENT.as_ref()) {
        let _ = CALLED.set(());
        return None;
    }
    let temporary = arguments.next().filter(|path| !path.is_empty()).map(PathBuf::from);
    Some(match run(temporary) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    })
}

/// The path of this program, if it calls [`run_init_process`]. The path stays valid when the file is
/// replaced.
pub(super) fn own_executable() -> Option<PathBuf> {
    CALLED.get().map(|()| PathBuf::from("/proc/self/exe"))
}

/// The arguments of the init process: the hidden argument, the temporary directory to remove, and the mark of a
/// helper process, which everybody can read there.
pub(super) fn arguments(instance: &Instance) -> [OsString; 3] {
    let temporary = instance.temporary_directory();
    let mark = format!("{HELPER_MARKER}={}", instance.name());
    [INIT_ARGUMENT.into(), temporary.map_or_else(OsString::new, Into::into), mark.into()]
}

struct InitProcess {
    /// The socket to `kb`. It closes when `kb` ends. Workers do not have it.
    control: Option<OwnedFd>,
    dev_null: OwnedFd,
    /// The capabilities from before the user namespace, or the errno of entering it.
    capabilities: Result<CapabilitySet, i32>,
    workers: Vec<Pid>,
    stack: Stack,
}

/// Creates workers until `kb` has ended, then kills them and removes the temporary directory.
fn run(temporary: Option<PathBuf>) -> io::Result<()> {
    let control = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    let dev_null: OwnedFd = OpenOptions::new().read(true).write(true).open("/dev/null")?.into();
    rustix::stdio::dup2_stdin(&dev_null)?;
    let _ = rustix::process::setsid();
    let _ = rustix::thread::set_name(c"kb-init");
    signals::block()?;
    let children = Children::watch()?;
    let capabilities =
        setup::enter_user_namespace().map_err(|error| error.raw_os_error().unwrap_or(0));
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    let mut init = InitProcess {
        control: Some(control),
        dev_null,
        capabilities,
        workers: Vec::new(),
        stack: Stack::new(256 << 10),
    };
    init.serve(&children);
    init.kill_workers();
    temporary.map_or(Ok(()), remove)
}

/// Replaces this process by one that removes a directory.
fn remove(directory: PathBuf) -> io::Result<()> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", crate::watchdog::REMOVE, "kb-init"]).arg(directory);
    // The environment holds only the variables that mark a helper process, so `PATH` is added.
    command.env("PATH", crate::watchdog::PATH);
    Err(command.exec())
}

impl InitProcess {
    fn serve(&mut self, children: &Children) {
        while let Some(control) = &self.control {
            let mut ready =
                [PollFd::new(control, PollFlags::IN), PollFd::new(children, PollFlags::IN)];
            if poll(&mut ready, None).is_err() {
                continue;
            }
            let [has_request, has_ended_child] = ready.map(|one| !one.revents().is_empty());
            if has_ended_child {
                children.clear();
                self.reap(WaitOptions::NOHANG);
            }
            if has_request && !self.answer() {
                return;
            }
        }
    }

    /// Handles one request, which carries the socket for a new worker. Returns false when `kb` has
    /// ended.
    fn answer(&mut self) -> bool {
        let Some(control) = &self.control else { return false };
        let mut descriptors = Vec::new();
        match socket::receive(control, &mut [0], &mut descriptors) {
            Err(error) => error.kind() == io::ErrorKind::Interrupted,
            Ok(0) => false,
            Ok(_) => {
                descriptors.into_iter().for_each(|socket| self.create_worker(socket));
                true
            }
        }
    }

    fn create_worker(&mut self, socket: OwnedFd) {
        let report = match self.capabilities {
            Err(errno) => Report::Refused(Stage::UserNamespace, errno),
            Ok(capabilities) => {
                let (control, dev_null) = (&mut self.control, self.dev_null.as_fd());
                // Runs on the copy of the memory in the child. The worker must not keep the control
                // socket open.
                let mut run = || {
                    control.take();
                    worker_process::run(socket.as_fd(), dev_null, capabilities)
                };
                match into_namespaces(&mut self.stack, &mut run) {
                    Ok((pid, pidfd)) => {
                        self.workers.push(pid);
                        let created = Report::Created.encode();
                        let _ = socket::send(&socket, &created, &[pidfd.as_fd()]);
                        return;
                    }
                    Err(error) => {
                        Report::Refused(Stage::PidNamespace, error.raw_os_error().unwrap_or(0))
                    }
                }
            }
        };
        let _ = socket::send(&socket, &report.encode(), &[]);
    }

    fn kill_workers(&mut self) {
        for worker in &self.workers {
            let _ = rustix::process::kill_process(*worker, Signal::KILL);
        }
        while !self.workers.is_empty() && self.reap(WaitOptions::empty()) {}
    }

    /// Reaps workers that have ended. Returns false if no child is left.
    fn reap(&mut self, options: WaitOptions) -> bool {
        loop {
            match rustix::process::wait(options) {
                Ok(Some((pid, _))) => self.workers.retain(|worker| *worker != pid),
                Ok(None) => return true,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return false,
            }
        }
    }
}
