//! The tools as the agent loop sees them.

use crate::llm::ToolDescription;
use crate::tool::{AgentProcess, AgentStart, Call, CallResult, MemoryOrigin, Toolbox};
use crate::workspace::Workspace;
use futures::future::BoxFuture;
use kb_attempt::Recorder;
use kb_base::diagnostic::Code;
use kb_base::value::{Digest, Failure};
use kb_core::evidence::{Invocation, Record};
use kb_language::definition::ToolRules;
use kb_language::toolspec::{ToolCatalog, ToolSpec};
use kb_memory::{Kind, Recall};
use kb_process::Session;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The tools of an attempt. The implementation decides whether a call is allowed; the loop passes on
/// every call that the model requests.
pub trait ToolSet: Send + Sync {
    /// The same tools for one attempt, with their own store of complete results. `limit` and
    /// `idle` are the timeout and the idle timeout of each process that they start, `rules` are further
    /// restrictions. What a call says to other steps goes to `recorder`.
    fn for_attempt(
        &self,
        limit: Duration,
        idle: Option<Duration>,
        rules: Option<&ToolRules>,
        recorder: Arc<dyn Recorder>,
    ) -> Arc<dyn ToolSet>;
    /// The tools on this allow-list, as the model sees them.
    fn describe(&self, allow_list: &[String]) -> Vec<ToolDescription>;
    /// `output:read` or `artifact:get`, which need no entry in an allow-list; `None` if the policy
    /// forbids it.
    fn reader(&self, tool: &str) -> Option<ToolDescription>;
    /// The tools of the run.
    fn tools(&self) -> &ToolCatalog;
    /// Why a call requires the approval of a person; `None` if it does not.
    fn approval(&self, _call: &Call) -> Option<String> {
        None
    }
    /// The code of a plugin, which an approval is bound to: digests by path. Empty for other tools.
    fn code(&self, _tool: &str) -> BTreeMap<String, Digest> {
        BTreeMap::new()
    }
    /// Sets how many characters of a result the model is shown at once by `output:read`.
    fn show(&self, _chars: usize) {}
    /// Makes an artifact of an earlier step available to `artifact:get`.
    fn keep_artifact(&self, _id: &str, _text: &str) {}
    /// Stores the complete result of a call from before a resume, so that `output:read` can read it.
    fn keep(&self, call: &str, text: &str);
    /// Starts a coding agent. Its end is that of its session.
    fn start_agent<'a>(
        &'a self,
        _start: AgentStart,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<(Session, AgentProcess), Failure>> {
        let failure = Failure::new(Code::AGENT_NOT_STARTED, "these tools start no programs");
        Box::pin(std::future::ready(Err(failure)))
    }
    /// Why a coding agent must not do by itself what a tool does, with these paths; `None` if it may.
    fn refusal(&self, _call: &Call, _paths: &[String]) -> Option<Failure> {
        None
    }
    /// The files that the calls concern.
    fn workspace(&self) -> Option<&Workspace> {
        None
    }
    /// Says whose attempt this is, for what it proposes to remember.
    fn begin_memory(&self, _origin: MemoryOrigin) {}
    /// What the specialist is shown of the memory before its first turn. Blocks.
    fn recall(&self, _task: &str, _kinds: &[Kind]) -> Option<Recall> {
        None
    }
    /// Evaluates the checks of what the attempt proposed to remember. Blocks.
    fn confirm_memory(&self) {}
    /// Records of tasks that calls delegated and that ended, each once.
    fn take_delegated(&self) -> Vec<Record> {
        Vec::new()
    }
    /// Executes the call and returns its result with the recorded evidence.
    fn call<'a>(
        &'a self,
        call: &'a Call,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, (CallResult, Invocation)>;
}

impl ToolSet for Toolbox {
    fn for_attempt(
        &self,
        limit: Duration,
        idle: Option<Duration>,
        rules: Option<&ToolRules>,
        recorder: Arc<dyn Recorder>,
    ) -> Arc<dyn ToolSet> {
        let attempt = Toolbox::for_attempt(self, Some(limit)).with_idle(idle);
        let attempt = match rules {
            Some(rules) => attempt.narrowed(rules),
            None => attempt,
        };
        Arc::new(attempt.with_recorder(recorder))
    }

    fn describe(&self, allow_list: &[String]) -> Vec<ToolDescription> {
        Toolbox::describe(self, allow_list).iter().map(|tool| for_model(tool)).collect()
    }

    fn reader(&self, tool: &str) -> Option<ToolDescription> {
        Toolbox::reader(self, tool).map(|tool| for_model(&tool))
    }

    fn tools(&self) -> &ToolCatalog {
        Toolbox::tools(self)
    }

    fn approval(&self, call: &Call) -> Option<String> {
        Toolbox::approval(self, call)
    }

    fn code(&self, tool: &str) -> BTreeMap<String, Digest> {
        Toolbox::code(self, tool)
    }

    fn show(&self, chars: usize) {
        self.outputs().show(chars);
    }

    fn keep(&self, call: &str, text: &str) {
        self.outputs().keep(call, text);
    }

    fn keep_artifact(&self, id: &str, text: &str) {
        self.outputs().keep_artifact(id, text);
    }

    fn start_agent<'a>(
        &'a self,
        start: AgentStart,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<(Session, AgentProcess), Failure>> {
        Box::pin(Toolbox::start_agent(self, start, cancel))
    }

    fn refusal(&self, call: &Call, paths: &[String]) -> Option<Failure> {
        Toolbox::refusal(self, call, paths)
    }

    fn workspace(&self) -> Option<&Workspace> {
        Some(Toolbox::workspace(self))
    }

    fn begin_memory(&self, origin: MemoryOrigin) {
        Toolbox::begin_memory(self, origin);
    }

    fn recall(&self, task: &str, kinds: &[Kind]) -> Option<Recall> {
        Toolbox::recall(self, task, kinds)
    }

    fn confirm_memory(&self) {
        Toolbox::confirm_memory(self);
    }

    fn take_delegated(&self) -> Vec<Record> {
        self.delegates.as_ref().map(|delegates| delegates.take_ended()).unwrap_or_default()
    }

    fn call<'a>(
        &'a self,
        call: &'a Call,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, (CallResult, Invocation)> {
        Box::pin(Toolbox::call(self, call, cancel))
    }
}

fn for_model(tool: &ToolSpec) -> ToolDescription {
    ToolDescription {
        name: tool.name.to_string(),
        description: tool.description.to_string(),
        schema: tool.input.clone(),
    }
}
