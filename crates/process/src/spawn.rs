//! The description of a process to start, and the shell of scripts.

use std::path::PathBuf;
use std::time::Duration;

/// A process to start.
#[derive(Debug, Clone)]
pub struct Spawn {
    /// The program and its arguments; never empty.
    pub argv: Vec<String>,
    /// Whether `kb` chose the program, such as the shell of a script or its own `git`. No file of the project is it
    /// then, also where a folder of the project is on `PATH`.
    pub own_program: bool,
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

/// The program that executes scripts, with its options.
const SHELL: [&str; 4] = ["bash", "-euo", "pipefail", "-c"];

impl Spawn {
    /// The program and arguments that execute a script.
    pub fn script(text: &str) -> Vec<String> {
        SHELL.into_iter().chain([text]).map(str::to_owned).collect()
    }

    /// Whether these are the program and arguments of a script.
    pub fn is_script(argv: &[String]) -> bool {
        argv.len() == SHELL.len() + 1 && argv.iter().zip(SHELL).all(|(word, of)| word == of)
    }
}
