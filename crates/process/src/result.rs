//! The result of a process.

use super::FailedCommand;
use std::time::Duration;

/// How a process ended and what it wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessResult {
    /// How the main process ended.
    pub end: ProcessEnd,
    /// The first bytes of stdout up to [`super::Spawn::max_stream`]. Invalid UTF-8 is replaced.
    pub stdout: String,
    /// The first bytes of stderr, likewise.
    pub stderr: String,
    /// The number of bytes of stdout beyond the limit.
    pub stdout_cut: u64,
    /// The number of bytes of stderr beyond the limit.
    pub stderr_cut: u64,
    /// The last lines of stdout beyond the limit; empty if nothing is beyond it.
    pub stdout_tail: String,
    /// The last lines of stderr, likewise.
    pub stderr_tail: String,
    /// The command that ended a script of several lines.
    pub failed: Option<FailedCommand>,
    /// The time from the start to the end of the main process and its descendants.
    pub duration: Duration,
    /// What it tried to reach in a network of its own.
    pub unreached: Unreached,
}

/// What a process tried to reach in a network of its own, which has no other machines, as the kernel counted it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Unreached {
    /// Other machines, or their addresses from a resolver.
    pub machines: bool,
    /// A server on this machine that did not listen there.
    pub servers: bool,
}

/// The ways in which a process ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessEnd {
    /// It exited with this code.
    Code(i32),
    /// This signal killed it.
    Signal(i32),
    /// It exceeded its timeout and was stopped.
    TimedOut,
    /// It exceeded its idle timeout and was stopped.
    Idle,
    /// It was cancelled and stopped.
    Cancelled,
    /// Its namespace worker was killed from outside, which killed the process.
    Lost,
    /// It did not start: not found, not executable, no such directory. Holds the reason.
    NotStarted(String),
}

impl ProcessEnd {
    /// The message for [`ProcessEnd::Lost`].
    pub const LOST: &str = "the namespace worker of the process was killed from outside";
    /// The help for [`ProcessEnd::Lost`].
    pub const LOST_HELP: &str =
        "`dmesg` shows whether memory ran out; run the step again with `kb run retry`";
}

impl ProcessResult {
    /// The result of a process of which nothing is known but that it is gone.
    pub fn unknown(duration: Duration) -> Self {
        ProcessResult::silent(ProcessEnd::Lost, duration)
    }

    /// The result of a process that wrote nothing.
    pub(super) fn silent(end: ProcessEnd, duration: Duration) -> Self {
        ProcessResult {
            end,
            stdout: String::new(),
            stderr: String::new(),
            stdout_cut: 0,
            stderr_cut: 0,
            stdout_tail: String::new(),
            stderr_tail: String::new(),
            failed: None,
            duration,
            unreached: Unreached::default(),
        }
    }
}
