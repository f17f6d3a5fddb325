use std::time::Duration;

/// How it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessResult {
    /// Its end.
    pub end: ProcessEnd,
    /// The first bytes of stdout, lossily as text, up to the limit.
    pub stdout: String,
    /// The first bytes of stderr, likewise.
    pub stderr: String,
    /// Bytes of stdout beyond the limit.
    pub stdout_cut: u64,
    /// Bytes of stderr beyond the limit.
    pub stderr_cut: u64,
    /// How long it took.
    pub duration: Duration,
}

/// The ways in which a process ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessEnd {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// Its time ran out; it was stopped.
    TimedOut,
    /// It was silent for too long; it was stopped.
    Idle,
    /// It was cancelled; it was stopped.
    Cancelled,
    /// What kept it was killed from outside, and it with that.
    Lost,
    /// It never began: not found, not executable, no such directory.
    NotStarted(String),
}

impl ProcessEnd {
    /// What [`ProcessEnd::Lost`] means, for people.
    pub const LOST: &str = "what kept the process was killed from outside, and it with that";
    /// What to do about it.
    pub const LOST_HELP: &str =
        "`dmesg` tells whether memory ran out; run it again with `kb run retry`";
}

impl ProcessResult {
    /// One that has written nothing.
    pub(super) fn silent(end: ProcessEnd, duration: Duration) -> Self {
        let (stdout, stderr) = (String::new(), String::new());
        ProcessResult { end, stdout, stderr, stdout_cut: 0, stderr_cut: 0, duration }
    }
}
