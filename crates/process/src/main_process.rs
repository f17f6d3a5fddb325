//! The main process of a step, at either process level.

use super::group::GroupProcess;
use super::namespace::{Worker, WorkerPool};
use super::program::Program;
use super::start_order::StartOutcome;
use super::{ProcessEnd, Unreached};
use std::io;
use std::sync::Arc;

/// The main process of a step. Dropping it kills the process and its descendants.
pub(super) enum MainProcess {
    Group(GroupProcess),
    Namespace(NamespaceProcess),
}

impl MainProcess {
    /// Waits for the process to end. Cancel safe.
    pub(super) async fn ended(&mut self) -> ProcessEnd {
        match self {
            MainProcess::Group(process) => process.ended().await,
            MainProcess::Namespace(process) => process.ended().await,
        }
    }

    /// Sends SIGTERM to the process group.
    pub(super) fn terminate(&self) {
        match self {
            MainProcess::Group(process) => process.terminate(),
            MainProcess::Namespace(process) => process.worker.terminate(),
        }
    }

    /// Sends SIGKILL to everything in the process group or namespace.
    pub(super) fn kill(&self) {
        match self {
            MainProcess::Group(process) => process.kill(),
            MainProcess::Namespace(process) => process.worker.kill_all(),
        }
    }

    /// Kills the namespace worker of a process that did not end after [`MainProcess::kill`]. Returns
    /// false for a process group, where no stronger means exists.
    pub(super) fn force(&self) -> bool {
        match self {
            MainProcess::Group(_) => false,
            MainProcess::Namespace(process) => {
                process.worker.kill_worker();
                true
            }
        }
    }

    /// What the process tried to reach in a network of its own, once it has ended.
    pub(super) fn unreached(&self) -> Unreached {
        match self {
            MainProcess::Group(_) => Unreached::default(),
            MainProcess::Namespace(process) => process.unreached,
        }
    }

    /// Kills the descendants that outlived the main process and waits until they are gone.
    pub(super) async fn clean_up(self) {
        match self {
            MainProcess::Group(mut process) => process.clean_up().await,
            MainProcess::Namespace(process) => process.clean_up().await,
        }
    }
}

/// The main process of a step in a PID namespace.
pub(super) struct NamespaceProcess {
    worker: Worker,
    pool: Arc<WorkerPool>,
    leftover: Leftover,
    unreached: Unreached,
    program: Program,
}

/// Processes of the step that outlived its main process.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Leftover {
    /// The main process has not ended yet.
    Unknown,
    Nothing,
    Something,
    /// The worker has ended, and the kernel has ended its namespace.
    NoWorker,
}

impl NamespaceProcess {
    pub(super) fn new(worker: Worker, pool: Arc<WorkerPool>, program: Program) -> Self {
        let (leftover, unreached) = (Leftover::Unknown, Unreached::default());
        NamespaceProcess { worker, pool, leftover, unreached, program }
    }

    async fn ended(&mut self) -> ProcessEnd {
        let (leftover, end) = match self.worker.ended().await {
            StartOutcome::Ended { code, by_signal, leftover, unreached } => {
                self.unreached = unreached;
                let leftover = if leftover { Leftover::Something } else { Leftover::Nothing };
                let end = if by_signal { ProcessEnd::Signal(code) } else { ProcessEnd::Code(code) };
                (leftover, end)
            }
            StartOutcome::NotStarted(errno) => {
                let error = io::Error::from_raw_os_error(errno);
                let reason = self.program.explain(&error);
                (Leftover::Nothing, ProcessEnd::NotStarted(reason))
            }
            StartOutcome::Refused(reason) => (Leftover::NoWorker, ProcessEnd::NotStarted(reason)),
            StartOutcome::WorkerLost => (Leftover::NoWorker, ProcessEnd::Lost),
        };
        self.leftover = leftover;
        end
    }

    async fn clean_up(mut self) {
        let is_clean = match self.leftover {
            Leftover::Nothing => true,
            Leftover::Something => self.worker.clean_up().await,
            Leftover::NoWorker => false,
            // The main process did not even end after SIGKILL: the init process reaps the worker.
            Leftover::Unknown => return self.worker.kill_worker(),
        };
        if is_clean { self.pool.give_back(self.worker) } else { self.pool.replace().await }
    }
}
