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
