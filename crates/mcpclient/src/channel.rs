//! [`Channel`]: requests to a running server.

use crate::conversation::{Order, Shared, converse};
use crate::era::Era;
use crate::fault::Fault;
use crate::wire::{self, Answer, RemoteError};
use kb_base::value::Json;
use kb_process::Session;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::{mpsc, oneshot};

/// Orders that wait to be sent.
const WAITING: usize = 64;

/// Sends requests to a server. Dropping it ends the process and its descendants.
pub(crate) struct Channel {
    orders: mpsc::Sender<Order>,
    pub(crate) shared: Arc<Shared>,
    next: AtomicU64,
}

impl Channel {
    /// Begins to talk to a server that has started.
    pub(crate) fn of(session: Session) -> Channel {
        let (orders, received) = mpsc::channel(WAITING);
        let shared = Arc::<Shared>::default();
        tokio::spawn(converse(session, received, shared.clone()));
        Channel { orders, shared, next: AtomicU64::new(1) }
    }

    /// Whether requests are still possible.
    pub(crate) fn is_open(&self) -> bool {
        !self.orders.is_closed() && self.shared.fault.get().is_none()
    }

    /// Sends a request and waits for its result.
    pub(crate) async fn ask(
        &self,
        era: Era,
        method: &'static str,
        params: Json,
    ) -> Result<Json, Fault> {
        self.request(method, era.complete(params)).await?.map_err(|error| {
            let RemoteError { code, message, .. } = error;
            Fault::Refused(method, code, message)
        })
    }

    /// Sends a request with exactly these parameters and waits for the answer.
    pub(crate) async fn request(&self, method: &str, params: Json) -> Result<Answer, Fault> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        let mut waiting = Waiting { id, orders: &self.orders, is_over: false };
        let order = Order::Request(id, wire::request(id, method, &params), answer);
        let answer = match self.orders.send(order).await {
            Ok(()) => answered.await.map_err(|_| self.fault()),
            Err(_) => Err(self.fault()),
        };
        waiting.is_over = true;
        answer
    }

    pub(crate) async fn notify(&self, method: &str) {
        let line = wire::notification(method, &json!({}));
        // A server that has ended is noticed by the next request.
        let _ = self.orders.send(Order::Notification(line)).await;
    }

    fn fault(&self) -> Fault {
        let ended = || Fault::Ended("its connection is closed".to_owned(), String::new());
        self.shared.fault.get().cloned().unwrap_or_else(ended)
    }
}

/// Cancels a request whose caller does not wait any more.
struct Waiting<'a> {
    id: u64,
    orders: &'a mpsc::Sender<Order>,
    is_over: bool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            // If the server reads nothing, it does not read this either.
            let _ = self.orders.try_send(Order::Cancel(self.id));
        }
    }
}
