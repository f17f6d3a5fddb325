//! The handle of a namespace worker in `kb`.

use super::listener::{Listener, Received};
use super::message::{KILL_ALL, Report, Stage, TERMINATE};
use super::socket;
use crate::instance::Instance;
use crate::sandbox::Isolation;
use crate::start_order::{StartOrder, StartOutcome};
use crate::watched::watched;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::process::{Signal, pidfd_send_signal};
use std::io;
use std::path::Path;
use std::time::Duration;
use tokio::io::Interest;

/// The time limit for a worker to become ready, and to disappear after it was killed.
const WORKER_TIMEOUT: Duration = Duration::from_secs(10);

/// The handle of a namespace worker in `kb`. Dropping it ends the worker and its namespace.
#[derive(Debug)]
pub(crate) struct Worker {
    listener: Listener,
    /// The pidfd of the worker, from the first report.
    pidfd: Option<OwnedFd>,
}

impl Worker {
    /// Creates a worker that accepts orders before it is ready.
    pub(super) fn create(executable: &Path, instance: &Instance) -> io::Result<Worker> {
        Worker::listen(super::init_link::new_worker(executable, instance)?, None)
    }

    /// Creates a worker and waits until it is ready. Blocks the thread. Also returns in which ways
    /// processes can be isolated. The error is the human-readable reason.
    pub(super) fn create_and_wait(
        executable: &Path,
        instance: &Instance,
    ) -> Result<(Worker, Isolation), String> {
        let socket =
            super::init_link::new_worker(executable, instance).map_err(|error| {
                match error.kind() {
                    io::ErrorKind::BrokenPipe => "the init process ended at once".to_owned(),
                    _ => format!("the init process did not start: {error}"),
                }
            })?;
        let mut pidfd = None;
        let isolation = loop {
            wait_readable(&socket)?;
            match Received::on(&socket) {
                Ok(Some(Received { report: Report::Ready(isolation), .. })) => break isolation,
                Ok(Some(Received { report: Report::Refused(stage, errno), .. })) => {
                    return Err(refusal(stage, errno));
                }
                Ok(Some(received)) => pidfd = pidfd.or(received.descriptor),
                Ok(None) => return Err("the init process ended at once".to_owned()),
                Err(error) => return Err(format!("failed to read from the init process: {error}")),
            }
        };
        let worker = Worker::listen(socket, pidfd);
        worker
            .map(|worker| (worker, isolation))
            .map_err(|error| format!("failed to start a thread: {error}"))
    }

    fn listen(socket: OwnedFd, pidfd: Option<OwnedFd>) -> io::Result<Worker> {
        Ok(Worker { listener: Listener::of(socket)?, pidfd })
    }

    /// Sends an order. An error of kind `BrokenPipe` means that the worker has ended and nothing was
    /// started.
    pub(crate) fn start(&self, order: &StartOrder<'_>) -> io::Result<()> {
        let (message, file) = order.encode()?;
        socket::send(self.listener.socket(), &message, &order.descriptors(file.as_ref()))
    }

    /// Waits for the outcome of the order. Cancel safe.
    pub(crate) async fn ended(&mut self) -> StartOutcome {
        loop {
            return match self.next().await {
                Some(Report::Ended { code, by_signal, leftover, unreached }) => {
                    StartOutcome::Ended { code, by_signal, leftover, unreached }
                }
                Some(Report::NotStarted(errno)) => StartOutcome::NotStarted(errno),
                Some(Report::Refused(stage, errno)) => StartOutcome::Refused(refusal(stage, errno)),
                Some(Report::Created | Report::Ready(_) | Report::Clean) => continue,
                None => {
                    self.gone().await;
                    StartOutcome::WorkerLost
                }
            };
        }
    }

    /// Sends SIGTERM to the process group of the step.
    pub(crate) fn terminate(&self) {
        let _ = socket::send(self.listener.socket(), &[TERMINATE], &[]);
    }

    /// Sends SIGKILL to every process in the namespace but the worker.
    pub(crate) fn kill_all(&self) {
        let _ = socket::send(self.listener.socket(), &[KILL_ALL], &[]);
    }

    /// Kills the worker itself, for one that does not answer.
    pub(crate) fn kill_worker(&self) {
        if let Some(pidfd) = &self.pidfd {
            let _ = pidfd_send_signal(pidfd, Signal::KILL);
        }
    }

    /// Kills the processes that a step left behind and waits until they are gone. Returns false if
    /// the worker had to be killed.
    pub(crate) async fn clean_up(&mut self) -> bool {
        self.kill_all();
        let clean = async {
            loop {
                match self.next().await {
                    Some(Report::Clean) => return true,
                    Some(_) => {}
                    None => return false,
                }
            }
        };
        if matches!(tokio::time::timeout(WORKER_TIMEOUT, clean).await, Ok(true)) {
            return true;
        }
        self.kill_worker();
        self.gone().await;
        false
    }

    /// Waits until the kernel has ended the namespace of a worker that has ended.
    async fn gone(&mut self) {
        let Some(pidfd) = self.pidfd.take() else { return };
        if let Ok(pidfd) = watched(pidfd, Interest::READABLE) {
            let _ = tokio::time::timeout(WORKER_TIMEOUT, pidfd.readable()).await;
        }
    }

    async fn next(&mut self) -> Option<Report> {
        let Received { report, descriptor } = self.listener.next().await?;
        self.pidfd = self.pidfd.take().or(descriptor);
        Some(report)
    }
}

fn wait_readable(socket: &OwnedFd) -> Result<(), String> {
    let limit = Timespec { tv_sec: WORKER_TIMEOUT.as_secs() as i64, tv_nsec: 0 };
    match poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&limit)) {
        Ok(0) => Err("the init process does not answer".to_owned()),
        _ => Ok(()),
    }
}

fn refusal(stage: Stage, errno: i32) -> String {
    let error = io::Error::from_raw_os_error(errno);
    format!("the system refuses {}: {error}", stage.what())
}
