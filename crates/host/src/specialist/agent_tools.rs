//! The tools of the specialist in the hands of a coding agent: offered as an MCP server, called under the policy.

use super::agent_heard::{Heard, pending};
use super::approval::{call_hash, request};
use super::excerpt::excerpt;
use super::messages::{canonical_name, plain_name};
use super::open_agent::Worker;
use super::pending_call::PendingCall;
use super::report::StopReason;
use super::runner::Attempt;
use super::tool_call::rejected;
use crate::agent::{Answered, CallReport, Called, OfferedTool, ToolOffer};
use crate::tool::AgentProcess;
use kb_base::value::Failure;
use kb_core::evidence::InvocationStatus;
use kb_language::definition::{AgentTools, CodingAgent};
use std::collections::BTreeSet;

/// The words of the name of a tool without those of its server, which agents add: `mcp__kb__fs_read`, `fs_read (kb MCP Server)`.
fn bare_name(title: &str) -> Vec<String> {
    let words = title.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let words = words.map(str::to_lowercase);
    words.filter(|word| !["kb", "mcp", "server", "tool"].contains(&word.as_str())).collect()
}

impl Attempt<'_> {
    /// What a session offers to an agent that works with the tools of the specialist; `None` if there is none to offer.
    pub(super) fn tool_offer(
        &self,
        agent: &CodingAgent,
        process: &AgentProcess,
    ) -> Option<ToolOffer> {
        if agent.tools == AgentTools::Own || self.tools.is_empty() {
            return None;
        }
        let mut names = BTreeSet::new();
        let catalog = self.toolset.tools();
        let tools = self.tools.iter().map(|tool| OfferedTool {
            name: plain_name(&tool.name),
            description: format!("`{}`: {}", tool.name, tool.description),
            schema: tool.schema.clone(),
            only_reads: catalog.entry(&tool.name).only_reads,
        });
        let tools = tools.filter(|tool| names.insert(tool.name.clone())).collect();
        Some(ToolOffer {
            folder: process.folder.clone()?,
            program: kb_process::this_program()?,
            tools,
        })
    }

    /// Whether the agent works with the tools of the specialist.
    pub(super) fn with_tools_of_kb(&self) -> bool {
        self.agent.as_ref().is_some_and(|agent| agent.tools == AgentTools::Kb)
    }

    /// Whether what an agent reports is its call of a tool of the specialist.
    pub(super) fn is_of_kb(&self, call: &CallReport) -> bool {
        self.with_tools_of_kb() && call.kind() == "other" && self.names_tool_of_kb(call)
    }

    /// Whether a call that an agent asks about is one of a tool of the specialist.
    pub(super) fn names_tool_of_kb(&self, call: &CallReport) -> bool {
        let title = bare_name(call.title.as_deref().unwrap_or_default());
        self.tools.iter().any(|tool| bare_name(&tool.name) == title)
    }

    /// What a person decided about a call that requires an approval: the reason if it was refused, nothing if it may be
    /// made. The error asks a person: the session ends, and the attempt continues with the decision.
    pub(super) fn decision(&self, call: &PendingCall) -> Result<Option<Failure>, StopReason> {
        match self.toolset.approval(&self.tool_call(call)) {
            Some(why) => self.decision_about(call, &why),
            None => Ok(None),
        }
    }

    /// The same for a call that requires an approval for this reason.
    pub(super) fn decision_about(
        &self,
        call: &PendingCall,
        why: &str,
    ) -> Result<Option<Failure>, StopReason> {
        let (cwd, code) = (&self.request.cwd, self.code(call));
        let hash = call_hash(call, cwd, &code);
        // An equal call of a later session is the same question.
        let id = format!("ask_{}", &hash.to_string()[..16]);
        let decisions = self.conversation.decisions();
        if let Some(rejection) = decisions.rejection(&id) {
            return Ok(Some(rejected(rejection)));
        }
        if decisions.approves(&hash) {
            return Ok(None);
        }
        let before = decisions.approved_code(&id, &code);
        let call = pending(id, &call.tool, call.args.clone());
        let specialist = self.work.specialist.id.as_str();
        let request = request(&call, cwd, specialist, why, code, before);
        Err(StopReason::Asks(Box::new(request)))
    }

    /// Calls a tool for an agent, as for a model, and answers it.
    pub(super) async fn call_tool_of_kb(
        &mut self,
        called: Called,
        heard: &mut Heard,
        worker: &mut Worker,
    ) -> Result<(), StopReason> {
        let Called { tool, args, withdrawn, answer } = called;
        self.end_message(heard).await?;
        self.count_call().await?;
        self.record_own_changes(worker).await?;
        let names: Vec<String> = self.tools.iter().map(|tool| tool.name.clone()).collect();
        let call = pending(self.call_id(), &canonical_name(&names, tool), args);
        let result = self.call_recorded(&call, &withdrawn).await?;
        // They are those of the call.
        let _ = worker.process.changes_so_far().await;
        let part = self.conversation.brief().catalog.entry(&call.tool).result_part;
        let text = excerpt(part, &call.id, &result.result, &self.conversation.brief().context);
        // The program that asked may have gone.
        let _ =
            answer.send(Answered { text, has_failed: result.status != InvocationStatus::Success });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::bare_name;

    #[test]
    fn a_title_is_a_tool_only_as_a_whole() {
        let tool = bare_name("fs:read");
        for title in ["fs_read", "kb_fs_read", "mcp__kb__fs_read", "fs_read (kb MCP Server)"] {
            assert_eq!(bare_name(title), tool, "{title}");
        }
        for title in ["Run: echo fs_read; deploy", "use fs.read", "fs_read x", "fs", ""] {
            assert_ne!(bare_name(title), tool, "{title}");
        }
    }
}
