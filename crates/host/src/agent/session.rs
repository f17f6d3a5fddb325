//! [`AgentSession`]: a conversation with an agent that has started.

use super::client::{Client, Event};
use super::fault::AgentFault;
use super::setup;
use super::tool_server::{ToolOffer, ToolServer};
use super::wire::Wire;
use kb_jsonrpc::{Channel, Fault};
use kb_language::definition::CodingAgent;
use kb_process::{ProcessResult, Session};
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
    /// Whether it continues with what was said in it before.
    pub(crate) is_loaded: bool,
    /// Why it does not, although the agent can load sessions.
    pub(crate) not_loaded: Option<String>,
    /// The tools of the specialist, if the agent works with them.
    tools: Option<ToolServer>,
}

impl AgentSession {
    /// Opens a session in a folder with an agent that has started, within a minute: the one with the id `before`, if the
    /// agent can load it.
    pub(crate) async fn open(
        process: Session,
        agent: &CodingAgent,
        cwd: &str,
        offer: Option<ToolOffer>,
        before: Option<String>,
    ) -> Result<AgentSession, AgentFault> {
        let (events, received) = mpsc::channel(WAITING);
        // Its calls are events too. They keep no session alive.
        let tools = offer.map(|offer| ToolServer::start(offer, events.downgrade())).transpose();
        let tools = tools.map_err(|error| {
            AgentFault::Over(Fault::NotStarted(format!("its tools cannot be offered: {error}")))
        })?;
        let session = Arc::<OnceLock<String>>::default();
        let client = Client { events, session: session.clone() };
        let wire = Wire { channel: Channel::of(process, client), session };
        let open = async {
            let opened = setup::open(&wire, agent, cwd, tools.as_ref(), before).await?;
            // From here on its updates are heard, and not what it repeats of a session that it loads.
            let _ = wire.session.set(opened.id.clone());
            setup::choose(&wire, agent, &opened.id, &opened.offered).await?;
            Ok((opened.is_loaded, opened.not_loaded))
        };
        let opened = tokio::time::timeout(START, open).await;
        let (is_loaded, not_loaded) =
            opened.unwrap_or(Err(AgentFault::Silent("session/new", START)))?;
        Ok(AgentSession { wire, events: received, is_loaded, not_loaded, tools })
    }

    /// Ends the process and its descendants. Events that are still to come are lost.
    pub(crate) async fn end(self) -> Result<ProcessResult, Fault> {
        drop((self.events, self.tools));
        self.wire.channel.end(GRACE).await
    }
}
