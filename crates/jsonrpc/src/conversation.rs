//! The task that reads what a program writes and writes what is sent to it.

use crate::fault::Fault;
use crate::wire::{Answer, Incoming};
use kb_base::value::Json;
use kb_process::{ProcessResult, Session, SessionError};
use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// Maximum length of a line.
const LINE_BYTES: usize = 4 << 20;
/// Maximum number of lines that are no messages.
const NOISE: usize = 1_000;
/// How long a program may not read.
const UNREAD: Duration = Duration::from_secs(10);
/// How long a program that has closed its output may take to end.
const GRACE: Duration = Duration::from_secs(1);
/// A wait without an end: requests have limits of their own.
const ALWAYS: Duration = Duration::from_secs(365 * 24 * 3600);

/// What a program asks and tells. While a method of it waits, the program is not read.
pub trait Answerer: Send {
    /// The line that answers a request of the program; `None` if it is sent later.
    fn request(
        &mut self,
        id: Json,
        method: String,
        params: Json,
    ) -> impl Future<Output = Option<String>> + Send;

    /// The program tells something.
    fn notification(&mut self, method: String, params: Json) -> impl Future<Output = ()> + Send;
}

/// What is sent to a program.
pub(crate) enum Order {
    /// A line with a request, and who waits for the answer.
    Request(u64, String, oneshot::Sender<Answer>),
    /// A line without an answer.
    Line(String),
    /// No caller waits for this request any more, which this line says.
    Cancel(u64, Option<String>),
}

/// How a conversation ended.
pub(crate) enum Ended {
    /// Its channel was dropped; the process may still run.
    Running(Session),
    /// The process has ended.
    Over(Box<ProcessResult>),
}

/// Talks to a program until it ends, breaks the protocol, or its channel is dropped.
pub(crate) async fn converse(
    mut session: Session,
    mut orders: mpsc::Receiver<Order>,
    mut answerer: impl Answerer,
    shared: &OnceLock<Fault>,
) -> Ended {
    let mut talk = Talk { open: BTreeMap::new(), noise: 0 };
    let fault = loop {
        // What is sent comes first: a program that writes without end is cancelled too.
        let outgoing = tokio::select! {
            biased;
            order = orders.recv() => match order {
                None => return Ended::Running(session),
                Some(order) => talk.send(order),
            },
            line = session.line(LINE_BYTES, ALWAYS) => match line {
                Ok(Some(line)) => match talk.take(&line, &mut answerer).await {
                    Ok(outgoing) => outgoing,
                    Err(fault) => break fault,
                },
                Ok(None) => {
                    let result = session.end(GRACE).await;
                    // Before the senders of `talk` are dropped, whose receivers read it.
                    let _ = shared.set(Fault::ended(&result));
                    return Ended::Over(Box::new(result));
                }
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
    let _ = shared.set(fault);
    drop(talk);
    Ended::Over(Box::new(session.end(Duration::ZERO).await))
}

struct Talk {
    open: BTreeMap<u64, oneshot::Sender<Answer>>,
    noise: usize,
}

impl Talk {
    /// The line of an order.
    fn send(&mut self, order: Order) -> Option<String> {
        match order {
            Order::Request(id, line, answer) => {
                self.open.insert(id, answer);
                Some(line)
            }
            Order::Line(line) => Some(line),
            Order::Cancel(id, line) => {
                self.open.remove(&id)?;
                line
            }
        }
    }

    /// Takes a line of the program; returns what answers it.
    async fn take(
        &mut self,
        line: &str,
        answerer: &mut impl Answerer,
    ) -> Result<Option<String>, Fault> {
        match Incoming::of(line) {
            Incoming::Answer(id, answer) => match self.open.remove(&id) {
                Some(waits) => {
                    // Who waited may have gone.
                    let _ = waits.send(answer);
                }
                // The answer to a request that was cancelled.
                None => return self.noise(),
            },
            Incoming::Request(id, method, params) => {
                return Ok(answerer.request(id, method, params).await);
            }
            Incoming::Notification(method, params) => answerer.notification(method, params).await,
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
