//! [`AgentSession`]: a conversation with an agent that has started.

use super::client::{Client, Event};
use super::fault::AgentFault;
use super::setup;
use super::turn_end::TurnEnd;
use kb_base::value::Json;
use kb_jsonrpc::{Channel, Fault, refusal, result};
use kb_language::definition::CodingAgent;
use kb_process::{ProcessResult, Session};
use serde_json::json;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::mpsc;

/// How long an agent may take from its start until its session is open.
const START: Duration = Duration::from_secs(60);
/// How long it may take to end after its last turn.
const GRACE: Duration = Duration::from_secs(2);
/// Events that wait to be handled. Above it, the agent is not read.
const WAITING: usize = 64;

/// A session of an agent. Dropping it ends the process and its descendants.
pub(crate) struct AgentSession {
    pub(crate) wire: Wire,
    /// What the agent says by itself, in order.
    pub(crate) events: mpsc::Receiver<Event>,
}

/// The requests to an agent.
pub(crate) struct Wire {
    channel: Channel,
    session: Arc<OnceLock<String>>,
}

impl AgentSession {
    /// Opens a session in a folder with an agent that has started, within a minute.
    pub(crate) async fn open(
        process: Session,
        agent: &CodingAgent,
        cwd: &str,
    ) -> Result<AgentSession, AgentFault> {
        let (events, received) = mpsc::channel(WAITING);
        let session = Arc::<OnceLock<String>>::default();
        let client = Client { events, session: session.clone() };
        let wire = Wire { channel: Channel::of(process, client), session };
        let open = async {
            let (id, offered) = setup::open(&wire, cwd).await?;
            // From here on its updates are heard.
            let _ = wire.session.set(id.clone());
            setup::choose(&wire, agent, &id, &offered).await
        };
        let opened = tokio::time::timeout(START, open).await;
        opened.unwrap_or(Err(AgentFault::Silent("session/new", START)))?;
        Ok(AgentSession { wire, events: received })
    }

    /// Ends the process and its descendants. Events that are still to come are lost.
    pub(crate) async fn end(self) -> Result<ProcessResult, Fault> {
        drop(self.events);
        self.wire.channel.end(GRACE).await
    }
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

    fn id(&self) -> &str {
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
