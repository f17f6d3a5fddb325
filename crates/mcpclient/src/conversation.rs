//! The task that reads what a server writes and writes what is sent to it.

use crate::fault::Fault;
use crate::wire::{self, Answer, Incoming};
use kb_process::{Session, SessionError};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// Maximum length of a line.
const LINE_BYTES: usize = 4 << 20;
/// Maximum number of lines that are no messages.
const NOISE: usize = 1_000;
/// How long a server may not read.
const UNREAD: Duration = Duration::from_secs(10);
/// How long a server that has closed its output may take to end.
const GRACE: Duration = Duration::from_secs(1);
/// A wait without an end: calls have limits of their own.
const ALWAYS: Duration = Duration::from_secs(365 * 24 * 3600);

/// What is sent to a server.
pub(crate) enum Order {
    /// A line with a request, and who waits for the answer.
    Request(u64, String, oneshot::Sender<Answer>),
    /// A line without an answer.
    Notification(String),
    /// No caller waits for this request any more.
    Cancel(u64),
}

/// What is known of a server while it runs.
#[derive(Default)]
pub(crate) struct Shared {
    /// Whether it said that its tools have changed.
    pub(crate) has_changed: AtomicBool,
    /// Why it is not there any more.
    pub(crate) fault: OnceLock<Fault>,
}

/// Talks to a server until it ends, breaks the protocol, or its channel is dropped.
pub(crate) async fn converse(
    mut session: Session,
    mut orders: mpsc::Receiver<Order>,
    shared: Arc<Shared>,
) {
    let mut talk = Talk { open: BTreeMap::new(), noise: 0, shared: shared.clone() };
    let fault = loop {
        let outgoing = tokio::select! {
            order = orders.recv() => match order {
                None => return,
                Some(order) => talk.send(order),
            },
            line = session.line(LINE_BYTES, ALWAYS) => match line {
                Ok(Some(line)) => match talk.take(&line) {
                    Ok(outgoing) => outgoing,
                    Err(fault) => break fault,
                },
                Ok(None) => break Fault::ended(&session.end(GRACE).await),
                Err(SessionError::Silent(_)) => None,
                Err(SessionError::NotRead) => break Fault::NotRead,
                Err(SessionError::TooLong(limit)) => {
                    break Fault::Broken(format!("a line has more than {} MiB", limit >> 20));
                }
            },
        };
        let Some(line) = outgoing else { continue };
        let sent = tokio::time::timeout(UNREAD, session.send_line(&line)).await;
        // What a process wrote before it ended says more than that it does not read.
        if sent.is_err() {
            break Fault::NotRead;
        }
    };
    // Before the senders of `talk` are dropped, whose receivers read it.
    let _ = shared.fault.set(fault);
}

struct Talk {
    open: BTreeMap<u64, oneshot::Sender<Answer>>,
    noise: usize,
    shared: Arc<Shared>,
}

impl Talk {
    /// The line of an order.
    fn send(&mut self, order: Order) -> Option<String> {
        match order {
            Order::Request(id, line, answer) => {
                self.open.insert(id, answer);
                Some(line)
            }
            Order::Notification(line) => Some(line),
            Order::Cancel(id) => {
                self.open.remove(&id)?;
                let params = serde_json::json!({"requestId": id, "reason": "the caller does not wait any more"});
                Some(wire::notification("notifications/cancelled", &params))
            }
        }
    }

    /// Takes a line of the server; returns what answers it.
    fn take(&mut self, line: &str) -> Result<Option<String>, Fault> {
        match Incoming::of(line) {
            Incoming::Answer(id, answer) => match self.open.remove(&id) {
                Some(waits) => {
                    // Who waited may have gone.
                    let _ = waits.send(answer);
                }
                // The answer to a request that was cancelled.
                None => return self.noise(),
            },
            Incoming::Request(id, method) => return Ok(Some(wire::answer(&id, &method))),
            Incoming::Notification(method) => {
                if method == "notifications/tools/list_changed" {
                    self.shared.has_changed.store(true, Ordering::Release);
                }
            }
            Incoming::Noise => return self.noise(),
        }
        Ok(None)
    }

    fn noise(&mut self) -> Result<Option<String>, Fault> {
        self.noise += 1;
        if self.noise > NOISE {
            let why = format!("it wrote more than {NOISE} lines that are no messages to stdout");
            return Err(Fault::Broken(why));
        }
        Ok(None)
    }
}
