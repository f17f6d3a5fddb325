//! What a namespace worker is told to start, and what it answers. Where there are no workers, nothing reads the order
//! and nothing makes an answer.
#![cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "there are no workers"))]

use super::Unreached;
use super::sandbox::Isolation;
use rustix::fd::BorrowedFd;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// A process to start.
pub(crate) struct StartOrder<'a> {
    pub(crate) program: &'a Path,
    pub(crate) cwd: &'a Path,
    pub(crate) argv: &'a [String],
    pub(crate) env: &'a [(&'a str, &'a str)],
    /// The namespaces and restrictions of the process.
    pub(crate) isolation: Isolation,
    /// The mount plan of the process, and a last text of it.
    pub(crate) mounts: (&'a [OsString], Option<&'a OsStr>),
    pub(crate) stdin: Option<BorrowedFd<'a>>,
    pub(crate) stdout: BorrowedFd<'a>,
    pub(crate) stderr: BorrowedFd<'a>,
    /// The Landlock ruleset that restricts the process.
    pub(crate) rules: Option<BorrowedFd<'a>>,
    /// The file for the report of a failed command.
    pub(crate) report: Option<BorrowedFd<'a>>,
}

/// The outcome of a start order.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum StartOutcome {
    /// The main process ended with this exit code or signal. `leftover` says whether it left other
    /// processes behind.
    Ended { code: i32, by_signal: bool, leftover: bool, unreached: Unreached },
    /// The process could not be started; the errno.
    NotStarted(i32),
    /// The worker could not be created.
    Refused(String),
    /// The worker has ended, and with it every process in its namespace.
    WorkerLost,
}
