//! The tools of the specialist in the hands of a coding agent: offered as an MCP server, called under the policy.

use super::agent_heard::{Heard, pending};
use super::excerpt::excerpt;
use super::messages::{canonical_name, plain_name};
use super::open_agent::Worker;
use super::report::StopReason;
use super::runner::Attempt;
use crate::agent::{Answered, CallReport, Called, OfferedTool, ToolOffer};
use crate::tool::AgentProcess;
use kb_core::evidence::InvocationStatus;
use kb_language::definition::{AgentTools, CodingAgent};
use std::collections::BTreeSet;

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

    /// Whether a call that an agent asks about is one of a tool of the specialist.
    pub(super) fn names_tool_of_kb(&self, call: &CallReport) -> bool {
        let title = plain_name(call.title.as_deref().unwrap_or_default());
        self.tools.iter().any(|tool| title.contains(&plain_name(&tool.name)))
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
        let call = pending(self.call_id(heard), &canonical_name(&names, tool), args);
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
