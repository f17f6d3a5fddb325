use super::listener::{Heard, Listener};
use super::message::{END, Report, StartOrder, TERMINATE};
use super::socket;
use crate::process::watched::watched;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::process::{Signal, pidfd_send_signal};
use std::io;
use std::path::Path;
use std::time::Duration;
use tokio::io::Interest;

/// How long a cell may take to be ready, and to be gone after its end.
const PATIENCE: Duration = Duration::from_secs(10);

/// `kb`'s side of a cell. Dropping it ends everything in the cell.
#[derive(Debug)]
pub(in crate::process) struct Cell {
    listener: Listener,
    /// Its PID 1, once the keeper has told it.
    init: Option<OwnedFd>,
}

/// What became of an order.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::process) enum Fate {
    /// It ran and its main process ended; whether others have not.
    Ended { code: i32, by_signal: bool, left: bool },
    /// The system refused it, by this number.
    NotStarted(i32),
    /// The cell could not be made.
    Refused(String),
    /// The cell is gone, with everything in it.
    Gone,
}

impl Cell {
    /// A cell that may not be ready yet; it takes orders all the same.
    pub(super) fn begin(executable: &Path) -> io::Result<Cell> {
        Cell::listened_to(super::link::new_cell(executable)?, None)
    }

    /// The same, and waits until it is ready, or says why it is not.
    pub(super) fn begin_and_wait(executable: &Path) -> Result<Cell, String> {
        let socket = super::link::new_cell(executable).map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => "the keeper ends at once".to_owned(),
            _ => format!("the keeper does not start: {error}"),
        })?;
        let mut init = None;
        loop {
            wait_readable(&socket)?;
            match Heard::on(&socket) {
                Ok(Some(Heard { report: Report::Ready, .. })) => break,
                Ok(Some(Heard { report: Report::Refused(stage, errno), .. })) => {
                    return Err(refusal(stage, errno));
                }
                Ok(Some(heard)) => init = init.or(heard.descriptor),
                Ok(None) => return Err("the keeper ends at once".to_owned()),
                Err(error) => return Err(format!("the keeper cannot be heard: {error}")),
            }
        }
        Cell::listened_to(socket, init).map_err(|error| format!("no thread for it: {error}"))
    }

    fn listened_to(socket: OwnedFd, init: Option<OwnedFd>) -> io::Result<Cell> {
        Ok(Cell { listener: Listener::of(socket)?, init })
    }

    /// Hands over an order. An error of kind `BrokenPipe` means that the cell is gone and nothing
    /// was started.
    pub(in crate::process) fn start(&self, order: &StartOrder<'_>) -> io::Result<()> {
        let (message, file) = order.encode()?;
        socket::send(self.listener.socket(), &message, &order.descriptors(file.as_ref()))
    }

    /// Waits for the end of what was ordered; dropping the future loses nothing.
    pub(in crate::process) async fn ended(&mut self) -> Fate {
        loop {
            return match self.next().await {
                Some(Report::Ended { code, by_signal, left }) => {
                    Fate::Ended { code, by_signal, left }
                }
                Some(Report::NotStarted(errno)) => Fate::NotStarted(errno),
                Some(Report::Refused(stage, errno)) => Fate::Refused(refusal(stage, errno)),
                Some(Report::Born | Report::Ready | Report::Clear) => continue,
                None => {
                    self.gone().await;
                    Fate::Gone
                }
            };
        }
    }

    /// Asks the step's group to end.
    pub(in crate::process) fn terminate(&self) {
        let _ = socket::send(self.listener.socket(), &[TERMINATE], &[]);
    }

    /// Ends everything that runs in the cell.
    pub(in crate::process) fn end(&self) {
        let _ = socket::send(self.listener.socket(), &[END], &[]);
    }

    /// Ends the cell itself, for one that does not answer.
    pub(in crate::process) fn kill(&self) {
        if let Some(init) = &self.init {
            let _ = pidfd_send_signal(init, Signal::KILL);
        }
    }

    /// Ends what a step has left, and waits until nothing of it is there; false where that took the
    /// cell.
    pub(in crate::process) async fn clear(&mut self) -> bool {
        self.end();
        let cleared = async {
            loop {
                match self.next().await {
                    Some(Report::Clear) => return true,
                    Some(_) => {}
                    None => return false,
                }
            }
        };
        if matches!(tokio::time::timeout(PATIENCE, cleared).await, Ok(true)) {
            return true;
        }
        self.kill();
        self.gone().await;
        false
    }

    /// Waits until the kernel has ended everything in a cell whose PID 1 has ended.
    async fn gone(&mut self) {
        let Some(init) = self.init.take() else { return };
        if let Ok(init) = watched(init, Interest::READABLE) {
            let _ = tokio::time::timeout(PATIENCE, init.readable()).await;
        }
    }

    async fn next(&mut self) -> Option<Report> {
        let Heard { report, descriptor } = self.listener.next().await?;
        self.init = self.init.take().or(descriptor);
        Some(report)
    }
}

fn wait_readable(socket: &OwnedFd) -> Result<(), String> {
    let limit = Timespec { tv_sec: PATIENCE.as_secs() as i64, tv_nsec: 0 };
    match poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&limit)) {
        Ok(0) => Err("the keeper does not answer".to_owned()),
        _ => Ok(()),
    }
}

fn refusal(stage: super::message::Stage, errno: i32) -> String {
    let error = io::Error::from_raw_os_error(errno);
    format!("the system refuses {}: {error}", stage.what())
}
