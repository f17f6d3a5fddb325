//! [`Channel`]: requests to a running program.

use crate::conversation::{Answerer, Ended, Order, converse};
use crate::fault::Fault;
use crate::wire::{self, Answer};
use kb_base::value::Json;
use kb_process::{ProcessResult, Session};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use tokio::sync::{mpsc, oneshot};

/// Orders that wait to be sent.
const WAITING: usize = 64;

/// Sends messages to a program. Dropping it ends the process and its descendants.
pub struct Channel {
    orders: mpsc::Sender<Order>,
    fault: Arc<OnceLock<Fault>>,
    ended: oneshot::Receiver<Ended>,
    next: AtomicU64,
}

/// Answers requests of a program later than they came. It keeps no process alive.
#[derive(Clone)]
pub struct Replies(mpsc::WeakSender<Order>);

impl Replies {
    /// Sends a line that answers a request. Lost if the program has ended.
    pub async fn send(&self, line: String) {
        if let Some(orders) = self.0.upgrade() {
            // A program that has ended is noticed by the next request.
            let _ = orders.send(Order::Line(line)).await;
        }
    }
}

impl Channel {
    /// Begins to talk to a program that has started.
    pub fn of(session: Session, answerer: impl Answerer + 'static) -> Channel {
        let (orders, received) = mpsc::channel(WAITING);
        let (end, ended) = oneshot::channel();
        let fault = Arc::<OnceLock<Fault>>::default();
        let shared = fault.clone();
        tokio::spawn(async move {
            let session = converse(session, received, answerer, &shared).await;
            // No caller may wait for it.
            let _ = end.send(session);
        });
        Channel { orders, fault, ended, next: AtomicU64::new(1) }
    }

    /// Whether requests are still possible.
    pub fn is_open(&self) -> bool {
        !self.orders.is_closed() && self.fault.get().is_none()
    }

    /// Sends a request and waits for the answer. `cancelling` is the notification that is sent for the request if the
    /// future is dropped before: its method, and its parameters from the id of the request.
    pub async fn request(
        &self,
        method: &str,
        params: &Json,
        cancelling: Option<Cancelling>,
    ) -> Result<Answer, Fault> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        let mut waiting = Waiting { id, orders: &self.orders, cancelling, is_over: false };
        let order = Order::Request(id, wire::request(id, method, params), answer);
        let answer = match self.orders.send(order).await {
            Ok(()) => answered.await.map_err(|_| self.fault()),
            Err(_) => Err(self.fault()),
        };
        waiting.is_over = true;
        answer
    }

    /// Sends a notification.
    pub async fn notify(&self, method: &str, params: &Json) {
        let line = wire::notification(method, params);
        // A program that has ended is noticed by the next request.
        let _ = self.orders.send(Order::Line(line)).await;
    }

    /// What answers requests of the program.
    pub fn replies(&self) -> Replies {
        Replies(self.orders.downgrade())
    }

    /// Ends the process and its descendants: closes its input, and stops it if it does not end by itself. Returns how it
    /// ended, or the fault if it is not known.
    pub async fn end(self, grace: std::time::Duration) -> Result<ProcessResult, Fault> {
        let Channel { orders, fault, ended, next: _ } = self;
        drop(orders);
        let unknown = || Fault::Ended("its connection is closed".to_owned(), String::new());
        match ended.await {
            Ok(Ended::Running(session)) => Ok(session.end(grace).await),
            Ok(Ended::Over(result)) => Ok(*result),
            Err(_) => Err(fault.get().cloned().unwrap_or_else(unknown)),
        }
    }

    fn fault(&self) -> Fault {
        let ended = || Fault::Ended("its connection is closed".to_owned(), String::new());
        self.fault.get().cloned().unwrap_or_else(ended)
    }
}

/// The notification for a request whose caller does not wait any more.
pub type Cancelling = fn(u64) -> (&'static str, Json);

/// Cancels a request whose caller does not wait any more.
struct Waiting<'a> {
    id: u64,
    orders: &'a mpsc::Sender<Order>,
    cancelling: Option<Cancelling>,
    is_over: bool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            let line = self.cancelling.map(|of| of(self.id));
            let line = line.map(|(method, params)| wire::notification(method, &params));
            // If the program reads nothing, it does not read this either.
            let _ = self.orders.try_send(Order::Cancel(self.id, line));
        }
    }
}
