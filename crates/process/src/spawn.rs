//! The description of a process to start.

use std::path::PathBuf;
use std::time::Duration;

/// A process to start.
#[derive(Debug, Clone)]
pub struct Spawn {
    /// The program and its arguments; never empty.
    pub argv: Vec<String>,
    /// The working directory, which must exist.
    pub cwd: PathBuf,
    /// Variables in addition to the base environment.
    pub env: Vec<(String, String)>,
    /// The bytes of stdin. If empty, stdin is `/dev/null`.
    pub stdin: Vec<u8>,
    /// The maximum run time.
    pub timeout: Option<Duration>,
    /// The maximum time without output on either stream.
    pub idle: Option<Duration>,
    /// The maximum number of bytes to keep of each stream.
    pub max_stream: usize,
}
