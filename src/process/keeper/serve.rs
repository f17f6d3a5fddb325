use super::clone::{Stack, into_namespaces};
use super::message::{Report, Stage};
use super::signals::{self, Children};
use super::{init, namespace, socket};
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

/// The hidden first argument of a keeper.
pub(super) const KEEPER: &str = "__keep";

/// Whether this program answers to [`KEEPER`].
static ANSWERS: OnceLock<()> = OnceLock::new();

/// To be called first of all in `main`: makes this process a keeper where it was started as one, and
/// gives its end. A program that calls this can be started again as its own keeper; in any other,
/// processes are supervised at the level `group`.
pub fn supervise() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().as_deref() != Some(KEEPER.as_ref()) {
        let _ = ANSWERS.set(());
        return None;
    }
    let temporary = arguments.next().filter(|path| !path.is_empty()).map(PathBuf::from);
    Some(match keep(temporary) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    })
}

/// This program's own path as a keeper, where it calls [`supervise`]. Right even when the file was
/// replaced meanwhile.
pub(super) fn own_executable() -> Option<PathBuf> {
    ANSWERS.get().map(|()| PathBuf::from("/proc/self/exe"))
}

/// The arguments of a keeper.
pub(super) fn arguments(temporary: Option<&std::path::Path>) -> [OsString; 2] {
    [KEEPER.into(), temporary.map_or_else(OsString::new, Into::into)]
}

struct Keeper {
    /// To `kb`; closed when that ends, however it ends. Gone in a cell.
    control: Option<OwnedFd>,
    nothing: OwnedFd,
    /// The rights from before the user namespace, or what refused that.
    rights: Result<CapabilitySet, i32>,
    cells: Vec<Pid>,
    stack: Stack,
}

/// Makes cells until `kb` is gone, then ends them all and removes the temporary directory.
fn keep(temporary: Option<PathBuf>) -> io::Result<()> {
    let control = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    let nothing: OwnedFd = OpenOptions::new().read(true).write(true).open("/dev/null")?.into();
    rustix::stdio::dup2_stdin(&nothing)?;
    let _ = rustix::process::setsid();
    let _ = rustix::thread::set_name(c"kb-keeper");
    signals::hold_back()?;
    let children = Children::watch()?;
    let rights = namespace::enter_user().map_err(|error| error.raw_os_error().unwrap_or(0));
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    let stack = Stack::new(256 << 10);
    let mut keeper = Keeper { control: Some(control), nothing, rights, cells: Vec::new(), stack };
    keeper.serve(&children);
    keeper.end();
    temporary.map_or(Ok(()), remove)
}

/// Ends this process as one that removes a directory.
fn remove(directory: PathBuf) -> io::Result<()> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "exec rm -rf -- \"$1\"", "kb-keeper"]).arg(directory);
    // The environment is what marks a keeper, and nothing else.
    command.env("PATH", crate::process::guardian::PATH);
    Err(command.exec())
}

impl Keeper {
    fn serve(&mut self, children: &Children) {
        while let Some(control) = &self.control {
            let mut ready =
                [PollFd::new(control, PollFlags::IN), PollFd::new(children, PollFlags::IN)];
            if poll(&mut ready, None).is_err() {
                continue;
            }
            let [asked, ended] = ready.map(|one| !one.revents().is_empty());
            if ended {
                children.take();
                self.reap(WaitOptions::NOHANG);
            }
            if asked && !self.answer() {
                return;
            }
        }
    }

    /// Takes one request, which is a socket for a new cell; false when `kb` is gone.
    fn answer(&mut self) -> bool {
        let Some(control) = &self.control else { return false };
        let mut descriptors = Vec::new();
        match socket::receive(control, &mut [0], &mut descriptors) {
            Err(error) => error.kind() == io::ErrorKind::Interrupted,
            Ok(0) => false,
            Ok(_) => {
                descriptors.into_iter().for_each(|socket| self.make_cell(socket));
                true
            }
        }
    }

    fn make_cell(&mut self, socket: OwnedFd) {
        let report = match self.rights {
            Err(errno) => Report::Refused(Stage::User, errno),
            Ok(rights) => {
                let (control, nothing) = (&mut self.control, self.nothing.as_fd());
                // In the child's copy of the memory: only the keeper may hold that line open.
                let mut run = || {
                    control.take();
                    init::serve(socket.as_fd(), nothing, rights)
                };
                match into_namespaces(&mut self.stack, &mut run) {
                    Ok((pid, descriptor)) => {
                        self.cells.push(pid);
                        let born = Report::Born.encode();
                        let _ = socket::send(&socket, &born, &[descriptor.as_fd()]);
                        return;
                    }
                    Err(error) => Report::Refused(Stage::Pid, error.raw_os_error().unwrap_or(0)),
                }
            }
        };
        let _ = socket::send(&socket, &report.encode(), &[]);
    }

    fn end(&mut self) {
        for cell in &self.cells {
            let _ = rustix::process::kill_process(*cell, Signal::KILL);
        }
        while !self.cells.is_empty() && self.reap(WaitOptions::empty()) {}
    }

    /// Takes in ends; false where no child is left.
    fn reap(&mut self, options: WaitOptions) -> bool {
        loop {
            match rustix::process::wait(options) {
                Ok(Some((pid, _))) => self.cells.retain(|cell| *cell != pid),
                Ok(None) => return true,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return false,
            }
        }
    }
}
