//! Recorded turns of a coding agent: what it did is done again, with the policy and the records of then, and no agent is
//! started.

use super::agent_heard::pending;
use super::agent_prompt::Seen;
use super::open_agent::{AgentWork, PlayedAgent};
use super::prompt_record::model_call;
use super::report::StopReason;
use super::runner::Attempt;
use super::turn::Turn;
use crate::agent::{CallReport, Permission};
use crate::llm::{AgentEvent, ModelError};
use crate::tool::{Call, Caller};
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, Json, OutcomeKind};
use kb_core::evidence::{AGENT_PROCESS, Payload, ProcessEvidence, Record};
use kb_language::definition::CodingAgent;
use kb_language::toolspec::{FILE_DELETER, FILE_WRITER};
use serde_json::json;
use tokio_util::sync::CancellationToken;

impl Attempt<'_> {
    /// Plays the next turn of a recording.
    pub(super) async fn play_turn(
        &mut self,
        turn: Turn,
        agent: &CodingAgent,
    ) -> Result<(), StopReason> {
        let seen = if self.played.is_some() { Seen::ToLastAnswer } else { Seen::Nothing };
        if self.played.is_none() {
            let work = AgentWork::begin(agent, self.clock.now());
            self.played = Some(PlayedAgent { work, changes: Vec::new(), files: 0 });
        }
        let mut request = self.agent_request(turn, agent, seen);
        let events = self.provider.played_events(&request.origin).transpose();
        let events = events.map_err(StopReason::Model)?.unwrap_or_default();
        // An attempt that continues has recorded the first ones already.
        let mut recorded = self.recorded_in_turn();
        for event in events {
            match recorded {
                0 => self.repeat(event).await?,
                _ => recorded -= usize::from(event.is_call()),
            }
        }
        let reply = self.chat(&mut request).await.map_err(|stop| match stop {
            StopReason::Model(ModelError::Timeout { .. }) => StopReason::TimedOut,
            StopReason::Model(ModelError::Transient { message, .. }) => {
                let failure = Failure::new(Code::AGENT_ENDED, message);
                StopReason::Agent(OutcomeKind::ToolError, failure)
            }
            other => other,
        });
        let reply = reply?;
        self.keep_reply(&request, &reply, seen);
        self.record(model_call(&request, reply, Vec::new())).await
    }

    /// Number of calls of the current turn that were recorded before.
    fn recorded_in_turn(&self) -> usize {
        let of_turn = |record: &&Record| {
            matches!(record, Record::ToolResult { turn, invocation, .. }
                if *turn == self.agent_turn && invocation.tool != AGENT_PROCESS)
        };
        self.work.history.iter().filter(of_turn).count()
    }

    async fn repeat(&mut self, event: AgentEvent) -> Result<(), StopReason> {
        match event {
            AgentEvent::Called { tool, args } => {
                self.record_played_changes().await?;
                self.count_call().await?;
                let call = pending(self.call_id(), &tool, args);
                self.call_recorded(&call, &CancellationToken::new()).await.map(drop)
            }
            AgentEvent::Reported { kind, args, status } => {
                let report = CallReport::recorded(&kind, &args);
                let id = self.begin_report(&report).await?;
                self.record_report(id, &report, status).await
            }
            AgentEvent::Asked { kind, args } => {
                let permission = Permission::for_once(CallReport::recorded(&kind, &args));
                self.decide(&permission).await.map(drop)
            }
            AgentEvent::Wrote { path, content } => {
                self.change(FILE_WRITER, json!({"path": path, "content": content})).await
            }
            AgentEvent::Deleted { path } => self.change(FILE_DELETER, json!({"path": path})).await,
        }
    }

    /// Changes a file in the place of the agent, which did so without a tool.
    async fn change(&mut self, tool: &str, args: Json) -> Result<(), StopReason> {
        let specialist = &self.work.specialist;
        if !specialist.agent_writes() {
            let why = format!("the agent of `{}` cannot change files by itself", specialist.id);
            return Err(not_repeated(Code::POLICY_DENIED, &why));
        }
        let Some(played) = &mut self.played else { return Ok(()) };
        played.files += 1;
        let id = format!("file_{}_{}", self.request.attempt, played.files);
        let call = self.tool_call(&pending(id, tool, args));
        let caller = Caller::Specialist {
            id: self.work.specialist.id.to_string(),
            allow_list: vec![tool.to_owned()],
            network: self.work.specialist.network,
        };
        let call = Call { caller, approved: true, ..call };
        let toolset = self.toolset.clone();
        let (result, invocation) = toolset.call(&call, &self.context.cancel.child_token()).await;
        if let Some(failure) = result.failure {
            return Err(not_repeated(failure.code, &failure.message));
        }
        if let Some(played) = &mut self.played {
            played.changes.extend(invocation.changes);
        }
        Ok(())
    }

    async fn record_played_changes(&mut self) -> Result<(), StopReason> {
        match &self.played {
            Some(played) if !played.changes.is_empty() => self.record_played(None).await,
            _ => Ok(()),
        }
    }

    /// Records what the agent changed by itself, at its end with a process.
    async fn record_played(&mut self, process: Option<ProcessEvidence>) -> Result<(), StopReason> {
        let (attempt, now) = (self.request.attempt, self.clock.now());
        let Some(played) = &mut self.played else { return Ok(()) };
        let changes = std::mem::take(&mut played.changes);
        self.keep_changes(&changes);
        let Some(played) = &mut self.played else { return Ok(()) };
        let mut invocation = played.work.invocation(attempt, now, changes);
        invocation.process = process.map(Box::new);
        let (turn, result) = (self.turn_of_call(), Payload::inline(Json::Null));
        self.record(Record::ToolResult { turn, invocation, result }).await
    }

    /// Records that the agent has ended, with what it changed.
    pub(super) async fn close_played(
        &mut self,
        ended: Result<(), StopReason>,
    ) -> Result<(), StopReason> {
        if self.played.is_none() {
            return ended;
        }
        let recorded = self.record_played(Some(ProcessEvidence::default())).await;
        ended.and(recorded)
    }
}

/// The end of a session whose recorded changes must not or cannot be made.
fn not_repeated(code: Code, why: &str) -> StopReason {
    let message = format!("what the agent did cannot be repeated: {why}");
    StopReason::Agent(OutcomeKind::ToolError, Failure::new(code, message))
}
