//! The one place where processes are started: groups, limits, output caps, the base environment.

use std::path::PathBuf;
use std::time::Duration;

/// What to start.
#[derive(Debug, Clone)]
pub struct Spawn {
    /// The program and its arguments; never empty.
    pub argv: Vec<String>,
    /// An existing directory.
    pub cwd: PathBuf,
    /// Beyond the base environment.
    pub env: Vec<(String, String)>,
    /// What it reads; nothing where empty.
    pub stdin: Vec<u8>,
    /// The most it may take.
    pub timeout: Option<Duration>,
    /// The longest silence on both streams.
    pub idle: Option<Duration>,
    /// Bytes kept of each stream.
    pub max_stream: usize,
}

/// How it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exited {
    /// Its end.
    pub end: End,
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
pub enum End {
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
    /// It never began: not found, not executable, no such directory.
    NotStarted(String),
}
