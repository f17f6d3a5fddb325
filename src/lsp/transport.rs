//! Messages of the editor on stdin and answers on stdout.
//!
//! The length that a header announces is what the other side says: memory is taken for what arrives, and a message
//! above the limit ends the server with an error.

use lsp_server::{Connection, Message};
use std::io::{self, BufRead, Read};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{JoinHandle, spawn};

/// Maximum size of a message, in MiB.
const MOST_MIB: u64 = 64;
/// Maximum size of a line of the header.
const LONGEST_HEADER: u64 = 4096;

/// The two threads of stdin and stdout.
pub(super) struct Transport {
    failure: Receiver<io::Error>,
    writer: JoinHandle<io::Result<()>>,
}

impl Transport {
    /// Begins to read stdin and to write stdout.
    pub(super) fn start() -> (Connection, Transport) {
        let (server, Connection { sender, receiver }) = Connection::memory();
        let (failed, failure) = channel();
        spawn(move || {
            if let Err(error) =
                forward(&mut io::stdin().lock(), |message| sender.send(message).is_ok())
            {
                // No thread waits for it when the server has ended.
                let _ = failed.send(error);
            }
            // The server ends when this is closed, and finds the failure then.
            drop(sender);
        });
        let writer = spawn(move || {
            let mut stdout = io::stdout().lock();
            receiver.into_iter().try_for_each(|message| message.write(&mut stdout))
        });
        (server, Transport { failure, writer })
    }

    /// Writes what is left. A failure to read comes before `result`, which it caused.
    pub(super) fn end(self, result: io::Result<()>) -> io::Result<()> {
        let written = self.writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        self.failure.try_recv().map_or(Ok(()), Err)?;
        result.and(written)
    }
}

/// Forwards messages until the end, `exit` or a message that no thread takes.
fn forward(input: &mut impl BufRead, mut send: impl FnMut(Message) -> bool) -> io::Result<()> {
    while let Some(text) = read(input)? {
        let message = serde_json::from_slice(&text);
        let message =
            message.map_err(|error| invalid(format!("a message that cannot be read: {error}")))?;
        let is_exit = matches!(&message, Message::Notification(sent) if sent.method == "exit");
        if !send(message) || is_exit {
            break;
        }
    }
    Ok(())
}

/// The text of the next message; `None`: the input has ended.
fn read(input: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut length = None;
    loop {
        let mut line = String::new();
        if input.by_ref().take(LONGEST_HEADER).read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let Some(line) = line.strip_suffix("\r\n") else {
            return Err(invalid(format!(
                "a header without `\\r\\n` in its first {LONGEST_HEADER} bytes"
            )));
        };
        if line.is_empty() {
            break;
        }
        let Some((name, value)) = line.split_once(':') else {
            return Err(invalid(format!("the header {line:?}, which has no `:`")));
        };
        if name.eq_ignore_ascii_case("Content-Length") {
            length = Some(length_of(value.trim())?);
        }
    }
    let Some(length) = length else {
        return Err(invalid("a message without `Content-Length`".to_owned()));
    };
    let mut text = Vec::new();
    input.take(length).read_to_end(&mut text)?;
    if u64::try_from(text.len()) == Ok(length) {
        Ok(Some(text))
    } else {
        Err(invalid(format!("{} of the {length} bytes of a message", text.len())))
    }
}

fn length_of(value: &str) -> io::Result<u64> {
    let length = value.parse::<u64>().ok().filter(|length| *length <= MOST_MIB << 20);
    length.ok_or_else(|| {
        invalid(format!(
            "a message of `Content-Length: {value}`; a message has at most {MOST_MIB} MiB"
        ))
    })
}

fn invalid(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
