//! Stands in for `namespace/` where the system is not Linux: there are no workers, so processes run at
//! the level `group`.

use super::BaseEnvironment;
use super::sandbox::Isolation;
use super::start_order::{StartOrder, StartOutcome};
use std::convert::Infallible;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

/// Never runs an init process.
pub fn run_init_process() -> Option<ExitCode> {
    None
}

/// A worker; there is none.
#[derive(Debug)]
pub(super) struct Worker(Infallible);

impl Worker {
    pub(super) async fn ended(&mut self) -> StartOutcome {
        match self.0 {}
    }

    pub(super) fn terminate(&self) {
        match self.0 {}
    }

    pub(super) fn kill_all(&self) {
        match self.0 {}
    }

    pub(super) fn kill_worker(&self) {
        match self.0 {}
    }

    pub(super) async fn clean_up(&mut self) -> bool {
        match self.0 {}
    }
}

/// A pool without workers.
#[derive(Debug)]
pub(super) struct WorkerPool;

impl WorkerPool {
    pub(super) fn of_this_program(_: Arc<BaseEnvironment>) -> WorkerPool {
        WorkerPool
    }

    pub(super) fn start_init_process(&self) {}

    pub(super) fn of(_: Option<PathBuf>, _: Arc<BaseEnvironment>) -> WorkerPool {
        WorkerPool
    }

    pub(super) fn none(_: Arc<BaseEnvironment>) -> WorkerPool {
        WorkerPool
    }

    pub(super) fn available(&self) -> Result<Isolation, &str> {
        Err("PID namespaces exist on Linux only")
    }

    pub(super) fn start(&self, _: &StartOrder<'_>) -> io::Result<Worker> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn count_change(&self, _: bool) {}

    pub(super) fn mark(&self) -> OsString {
        OsString::new()
    }

    pub(super) fn give_back(&self, worker: Worker) {
        match worker.0 {}
    }

    pub(super) async fn replace(self: Arc<Self>) {}
}
