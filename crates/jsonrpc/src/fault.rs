//! [`Fault`]: why a conversation is over.

use kb_base::value::one_line;
use kb_process::{ProcessEnd, ProcessResult};

/// Characters of the last line of stderr that a message shows.
const SHOWN: usize = 500;

/// Why a program cannot be spoken to any more. Texts of the program are not masked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// It did not start, for this reason.
    NotStarted(String),
    /// It ended: how, and the last line of its stderr.
    Ended(String, String),
    /// It does not read what is sent to it.
    NotRead,
    /// It broke the protocol or a limit.
    Broken(String),
}

impl Fault {
    /// The fault of a process that has ended.
    pub(crate) fn ended(result: &ProcessResult) -> Fault {
        let how = match &result.end {
            ProcessEnd::Code(code) => format!("exit code {code}"),
            ProcessEnd::Signal(signal) => format!("signal {signal}"),
            ProcessEnd::NotStarted(reason) => return Fault::NotStarted(reason.clone()),
            ProcessEnd::TimedOut | ProcessEnd::Idle | ProcessEnd::Cancelled => {
                "it was stopped".to_owned()
            }
            ProcessEnd::Lost => ProcessEnd::LOST.to_owned(),
        };
        let tail = if result.stderr_tail.is_empty() { &result.stderr } else { &result.stderr_tail };
        let last = tail.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
        Fault::Ended(how, one_line(last, SHOWN))
    }
}
