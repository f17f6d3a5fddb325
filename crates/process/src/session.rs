//! [`Session`]: a conversation with a process whose stdin stays open.

use super::running::Running;
use super::session_output::{Closed, SessionOutput};
use super::{ProcessEnd, ProcessResult};
use kb_clock as clock;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Messages that wait to be written. Above it, who sends waits.
const WAITING_INPUT: usize = 16;

/// A conversation with a process: bytes or lines in both directions, under the limits and in the sandbox of a
/// command. Dropping it stops the process and its descendants.
pub struct Session {
    input: Option<mpsc::Sender<Vec<u8>>>,
    output: Arc<SessionOutput>,
    result: JoinHandle<ProcessResult>,
    stop: CancellationToken,
}

/// Why a session gave no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionError {
    /// The process reads no input any more: it has ended, or has closed its stdin.
    NotRead,
    /// Nothing came within this time.
    Silent(Duration),
    /// A line was longer than this number of bytes. What follows it cannot be told apart, so the session is over.
    TooLong(usize),
}

impl std::fmt::Display for SessionError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SessionError::NotRead => f.write_str("the process does not read its input any more"),
            SessionError::Silent(time) => write!(f, "the process wrote nothing for {time:?}"),
            SessionError::TooLong(limit) => write!(f, "a line has more than {limit} bytes"),
        }
    }
}

impl std::error::Error for SessionError {}

impl Session {
    /// Supervises a process that was started with open input.
    pub(super) fn of(
        running: Running,
        input: mpsc::Sender<Vec<u8>>,
        output: Arc<SessionOutput>,
        cancel: &CancellationToken,
    ) -> Session {
        let stop = cancel.child_token();
        let (own, read) = (stop.clone(), output.clone());
        let result = tokio::spawn(async move {
            // Also after a panic of the supervision.
            let _closed = Closed::of(read);
            running.supervise(&own, clock::instant()).await
        });
        Session { input: Some(input), output, result, stop }
    }

    /// The channel of the input of a session that is about to start.
    pub(super) fn channel() -> (mpsc::Sender<Vec<u8>>, mpsc::Receiver<Vec<u8>>) {
        mpsc::channel(WAITING_INPUT)
    }

    /// Sends bytes to stdin. Waits while too many are not written yet. Cancel safe.
    pub async fn send(&self, bytes: impl Into<Vec<u8>>) -> Result<(), SessionError> {
        let input = self.input.as_ref().ok_or(SessionError::NotRead)?;
        input.send(bytes.into()).await.map_err(|_| SessionError::NotRead)
    }

    /// Sends a line to stdin.
    pub async fn send_line(&self, line: &str) -> Result<(), SessionError> {
        self.send(format!("{line}\n")).await
    }

    /// Closes stdin: the process reads the end of its input after what was sent.
    pub fn close_input(&mut self) {
        self.input = None;
    }

    /// The bytes that the process has written to stdout since the last read, or the next ones; `None` at the end of
    /// its output. Cancel safe.
    pub async fn bytes(&mut self) -> Option<Vec<u8>> {
        self.output.next(|unread| Some(unread.take_all())).await
    }

    /// The next line of stdout without its end, of at most `limit` bytes, that comes within `wait`; `None` at the end
    /// of the output. The last line may have no end. Cancel safe.
    pub async fn line(
        &mut self,
        limit: usize,
        wait: Duration,
    ) -> Result<Option<String>, SessionError> {
        self.output.waits_for(limit);
        let line = self.output.next(|unread| match unread.line(limit) {
            Some(line) => Some(Ok(line)),
            None if unread.len() > limit => Some(Err(SessionError::TooLong(limit))),
            None => None,
        });
        match tokio::time::timeout(wait, line).await {
            Err(_) => Err(SessionError::Silent(wait)),
            Ok(Some(Err(error))) => {
                self.stop.cancel();
                Err(error)
            }
            Ok(Some(Ok(line))) => Ok(Some(text(&line))),
            Ok(None) => {
                let rest = self.output.rest();
                Ok((!rest.is_empty()).then(|| text(&rest)))
            }
        }
    }

    /// Closes stdin and waits until the process has ended; stops it after `grace`. The result has no stdout.
    pub async fn end(mut self, grace: Duration) -> ProcessResult {
        self.close_input();
        self.output.ignore();
        let lost = || ProcessResult::silent(ProcessEnd::Lost, Duration::ZERO);
        if let Ok(ended) = tokio::time::timeout(grace, &mut self.result).await {
            return ended.unwrap_or_else(|_| lost());
        }
        self.stop.cancel();
        (&mut self.result).await.unwrap_or_else(|_| lost())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.output.ignore();
        self.stop.cancel();
    }
}

/// The text of a line without its end.
fn text(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line)).into_owned()
}
