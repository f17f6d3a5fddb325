//! [`OpenAgent`]: a coding agent whose session is open.

use super::report::StopReason;
use crate::agent::{AgentFault, AgentSession};
use crate::tool::AgentProcess;
use kb_base::value::{Digest, Money, Timestamp};
use kb_core::evidence::{
    AGENT_PROCESS, Change, Invocation, InvocationStatus, Purpose, WITH_TOOLS_OF_KB,
};
use kb_language::definition::{AgentTools, CodingAgent};
use serde_json::json;

/// A coding agent whose session is open.
pub(super) struct OpenAgent {
    pub(super) session: AgentSession,
    pub(super) worker: Worker,
    pub(super) began: std::time::Instant,
    /// What was counted of the cost of the session.
    pub(super) counted: Money,
}

/// The process of an agent, with what is known of its work.
pub(super) struct Worker {
    pub(super) process: AgentProcess,
    pub(super) work: AgentWork,
    /// What the session has cost so far, as the agent says.
    pub(super) cost: Option<Money>,
}

/// An agent whose turns are played.
pub(super) struct PlayedAgent {
    pub(super) work: AgentWork,
    /// What it changed by itself and is not recorded yet.
    pub(super) changes: Vec<Change>,
    /// How many files it changed.
    pub(super) files: u32,
}

/// What the records of an agent say about it.
pub(super) struct AgentWork {
    pub(super) argv: Vec<String>,
    /// Which tools it works with.
    pub(super) tools: AgentTools,
    /// When it started, or when its changes were recorded last.
    pub(super) since: Timestamp,
    /// How often its changes were recorded.
    pub(super) parts: u32,
}

impl AgentWork {
    /// That of an agent which starts now.
    pub(super) fn begin(agent: &CodingAgent, since: Timestamp) -> AgentWork {
        AgentWork { argv: agent.argv.clone(), tools: agent.tools, since, parts: 0 }
    }

    /// The record of what the agent did by itself until now.
    pub(super) fn invocation(
        &mut self,
        attempt: u32,
        now: Timestamp,
        changes: Vec<Change>,
    ) -> Invocation {
        self.parts += 1;
        let mut args = json!({"argv": self.argv});
        if self.tools == AgentTools::Kb {
            args["tools"] = json!(WITH_TOOLS_OF_KB);
        }
        let at = std::mem::replace(&mut self.since, now);
        Invocation {
            id: format!("agent_{attempt}_{}", self.parts),
            tool: AGENT_PROCESS.to_owned(),
            args_hash: Digest::of_json(&args),
            args,
            at,
            duration_ms: now.since(at).as_millis() as u64,
            purpose: Purpose::Execution,
            status: InvocationStatus::Success,
            changes,
            evidence: Vec::new(),
            process: None,
            output: None,
            bytes: 0,
        }
    }
}

/// Why a turn ended early.
pub(super) enum Interrupted {
    Fault(AgentFault),
    Stop(StopReason),
}

impl From<StopReason> for Interrupted {
    fn from(stop: StopReason) -> Interrupted {
        Interrupted::Stop(stop)
    }
}
