//! The types of a tool call.

use super::input_request::{InputAnswers, InputRequest};
use crate::workspace::PathError;
use kb_base::value::{Failure, Json};
use kb_core::evidence::{Change, EvidenceRef, InvocationStatus, ProcessEvidence};
use kb_language::definition::NetworkAccess;
use serde_json::json;
use std::sync::Arc;

/// One call of a tool, before it is permitted and executed.
#[derive(Debug, Clone)]
pub struct Call {
    /// Unique within the attempt.
    pub id: String,
    /// The name of the tool.
    pub tool: String,
    /// The arguments, not checked yet.
    pub args: Json,
    /// The caller, which determines the allow-list and whether approval is required.
    pub caller: Caller,
    /// Environment variables of its processes, in addition to the inherited ones.
    pub env: Vec<(String, String)>,
    /// Working directory relative to the workspace root; empty is the root.
    pub cwd: String,
    /// Whether file changes of its processes are recorded.
    pub evidence: bool,
    /// Whether a person approved this call, so that it requires no further approval.
    pub approved: bool,
    /// What people answered to questions of the server of the tool.
    pub answers: Arc<InputAnswers>,
}

/// The origin of a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// A `tool` step, written by the author of the playbook.
    Author,
    /// A model called the tool.
    Specialist {
        /// The id of the specialist.
        id: String,
        /// The tools that it may call: names, aliases and globs such as `fs:*`.
        allow_list: Vec<String>,
        /// The network that its commands can use.
        network: NetworkAccess,
    },
}

/// The result of a tool call.
#[derive(Debug, Clone)]
pub struct CallResult {
    /// How the call ended.
    pub status: InvocationStatus,
    /// The result for the caller, or `{error: {code, message, help}}`.
    pub result: Json,
    /// The reason of a call that did not succeed.
    pub failure: Option<Failure>,
    /// File changes; paths are relative to the workspace.
    pub changes: Vec<Change>,
    /// References to files that were read and URLs that were requested.
    pub evidence: Vec<EvidenceRef>,
    /// The trace of its process: argv, working directory, exit code, truncated bytes.
    pub process: Option<Box<ProcessEvidence>>,
    /// What the server of the tool asks a person. The call failed without an answer, and can be made again with one.
    pub asks: Option<Box<InputRequest>>,
}

impl CallResult {
    /// A successful call with this result.
    pub fn success(result: Json) -> Self {
        CallResult {
            status: InvocationStatus::Success,
            result,
            failure: None,
            changes: Vec::new(),
            evidence: Vec::new(),
            process: None,
            asks: None,
        }
    }

    /// A call that did not succeed; the caller sees the failure as the result.
    pub fn failed(status: InvocationStatus, failure: Failure) -> Self {
        let result = json!({ "error": error_view(&failure) });
        CallResult { status, failure: Some(failure), ..CallResult::success(result) }
    }

    /// Adds file changes.
    #[must_use]
    pub fn with_changes(mut self, changes: Vec<Change>) -> Self {
        self.changes = changes;
        self
    }
}

/// A failure as shown to a model.
pub(super) fn error_view(failure: &Failure) -> Json {
    let mut view = json!({ "code": failure.code, "message": failure.message });
    if let Some(help) = &failure.help {
        view["help"] = json!(help);
    }
    view
}

/// The reason why a tool did not execute a call.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Refusal {
    /// A rule forbids the call; nothing was changed.
    Denied(Box<Failure>),
    /// The call failed.
    Failed(Box<Failure>),
}

impl Refusal {
    pub(super) fn denied(failure: Failure) -> Self {
        Refusal::Denied(Box::new(failure))
    }

    pub(super) fn failed(failure: Failure) -> Self {
        Refusal::Failed(Box::new(failure))
    }
}

impl From<Refusal> for CallResult {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Denied(failure) => CallResult::failed(InvocationStatus::Denied, *failure),
            Refusal::Failed(failure) => CallResult::failed(InvocationStatus::Failed, *failure),
        }
    }
}

impl From<Result<CallResult, Refusal>> for CallResult {
    fn from(result: Result<CallResult, Refusal>) -> Self {
        result.unwrap_or_else(CallResult::from)
    }
}

impl From<PathError> for Refusal {
    fn from(error: PathError) -> Self {
        if error.is_denial() {
            Refusal::denied(error.failure())
        } else {
            Refusal::failed(error.failure())
        }
    }
}
