//! Stands in for `namespace/` where the system is not Linux: there are no workers, so processes run at
//! the level `group`.

use super::BaseEnvironment;
use super::sandbox::Isolation;
use rustix::fd::BorrowedFd;
use std::convert::Infallible;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Never runs an init process.
pub fn run_init_process() -> Option<ExitCode> {
    None
}

/// A process to start; nothing reads it.
#[allow(dead_code, reason = "the fields are those of `namespace::StartOrder`")]
pub(super) struct StartOrder<'a> {
    pub(super) program: &'a Path,
    pub(super) cwd: &'a Path,
    pub(super) argv: &'a [String],
    pub(super) env: &'a [(&'a str, &'a str)],
    pub(super) isolation: Isolation,
    pub(super) mounts: &'a [OsString],
    pub(super) stdin: Option<BorrowedFd<'a>>,
    pub(super) stdout: BorrowedFd<'a>,
    pub(super) stderr: BorrowedFd<'a>,
    pub(super) rules: Option<BorrowedFd<'a>>,
    pub(super) report: Option<BorrowedFd<'a>>,
}

/// The outcome of a start order; none is sent.
#[allow(dead_code, reason = "the variants are those of `namespace::StartOutcome`")]
pub(super) enum StartOutcome {
    Ended { code: i32, by_signal: bool, leftover: bool, unreached: super::Unreached },
    NotStarted(i32),
    Refused(String),
    WorkerLost,
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

    pub(super) fn give_back(&self, worker: Worker) {
        match worker.0 {}
    }

    pub(super) async fn replace(self: Arc<Self>) {}
}
