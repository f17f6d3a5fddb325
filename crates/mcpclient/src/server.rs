//! [`Server`]: requests to a running server, and what it says by itself.

use crate::era::Era;
use crate::fault::Fault;
use kb_base::value::Json;
use kb_jsonrpc::{Answer, Answerer, Channel, NO_METHOD, RemoteError, refusal, result};
use kb_process::Session;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A server that has started. Dropping it ends the process and its descendants.
pub(crate) struct Server {
    channel: Channel,
    /// Whether it said that its tools have changed.
    pub(crate) has_changed: Arc<AtomicBool>,
}

impl Server {
    /// Begins to talk to a server that has started.
    pub(crate) fn of(session: Session) -> Server {
        let has_changed = Arc::<AtomicBool>::default();
        let client = Client { has_changed: has_changed.clone() };
        Server { channel: Channel::of(session, client), has_changed }
    }

    /// Whether requests are still possible.
    pub(crate) fn is_open(&self) -> bool {
        self.channel.is_open()
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
        Ok(self.channel.request(method, &params, Some(cancelled)).await?)
    }

    pub(crate) async fn notify(&self, method: &str) {
        self.channel.notify(method, &json!({})).await;
    }
}

fn cancelled(id: u64) -> (&'static str, Json) {
    let params = json!({"requestId": id, "reason": "the caller does not wait any more"});
    ("notifications/cancelled", params)
}

/// What servers may ask and tell.
struct Client {
    has_changed: Arc<AtomicBool>,
}

impl Answerer for Client {
    async fn request(&mut self, id: Json, method: String, _params: Json) -> Option<String> {
        Some(match method.as_str() {
            "ping" => result(&id, &json!({})),
            // No person is asked: what a server wants to know belongs into the arguments of its tool.
            "elicitation/create" => result(&id, &json!({"action": "decline"})),
            _ => refusal(&id, NO_METHOD, "this client does not offer the method"),
        })
    }

    async fn notification(&mut self, method: String, _params: Json) {
        if method == "notifications/tools/list_changed" {
            self.has_changed.store(true, Ordering::Release);
        }
    }
}
