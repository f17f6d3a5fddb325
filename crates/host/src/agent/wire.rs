//! [`Wire`]: the requests to an agent.

use super::fault::AgentFault;
use super::turn_end::TurnEnd;
use kb_base::value::Json;
use kb_jsonrpc::{Channel, refusal, result};
use serde_json::json;
use std::sync::{Arc, OnceLock};

/// The requests to an agent.
pub(crate) struct Wire {
    pub(super) channel: Channel,
    /// The id of the session, once it is open.
    pub(super) session: Arc<OnceLock<String>>,
}

impl Wire {
    /// Sends a request and waits for its result.
    pub(super) async fn ask(
        &self,
        method: &'static str,
        params: &Json,
    ) -> Result<Json, AgentFault> {
        let answer = self.channel.request(method, params, None).await?;
        answer.map_err(|error| {
            let said = error.data.get("message").or(error.data.get("details"));
            let more = said.and_then(Json::as_str).map(|text| format!(": {text}"));
            let text = format!("{}{}", error.message, more.unwrap_or_default());
            AgentFault::Refused(method, error.code, text)
        })
    }

    /// The id of the session; empty before it is open.
    pub(crate) fn id(&self) -> &str {
        self.session.get().map(String::as_str).unwrap_or_default()
    }

    /// Sends a prompt and waits for the end of the turn.
    pub(crate) async fn prompt(&self, text: &str) -> Result<TurnEnd, AgentFault> {
        let part = json!({"type": "text", "text": text});
        let params = json!({"sessionId": self.id(), "prompt": [part]});
        TurnEnd::of(&self.ask("session/prompt", &params).await?)
    }

    /// Asks the agent to end its turn.
    pub(crate) async fn cancel(&self) {
        self.channel.notify("session/cancel", &json!({"sessionId": self.id()})).await;
    }

    /// Answers a request of the agent.
    pub(crate) async fn answer(&self, id: &Json, answer: &Json) {
        self.channel.replies().send(result(id, answer)).await;
    }

    /// Refuses a request of the agent.
    pub(crate) async fn refuse(&self, id: &Json, code: i64, message: &str) {
        self.channel.replies().send(refusal(id, code, message)).await;
    }
}
