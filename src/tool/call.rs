use crate::evidence::{Change, EvidenceRef, InvocationStatus};
use crate::value::{Failure, Json};
use crate::workspace::PathError;
use serde_json::json;

/// One call.
#[derive(Debug, Clone)]
pub struct Call {
    /// Unique within the attempt.
    pub id: String,
    /// Which tool.
    pub tool: String,
    /// Its arguments, unchecked.
    pub args: Json,
    /// Who calls.
    pub caller: Caller,
    /// Environment of its processes, beyond the base.
    pub env: Vec<(String, String)>,
    /// Working directory relative to the workspace root; empty is the root.
    pub cwd: String,
    /// Whether manifests are taken around its processes.
    pub evidence: bool,
}

/// Who calls, which decides what must have been approved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// A `tool:` step: the author's word.
    Author,
    /// A specialist, with its whitelist.
    Specialist {
        /// Who.
        id: String,
        /// The tools it may call; globs such as `fs:*` are understood.
        whitelist: Vec<String>,
    },
}

/// What a call left.
#[derive(Debug, Clone)]
pub struct CallResult {
    /// How it ended.
    pub status: InvocationStatus,
    /// The result, or `{error: {code, message, help}}`.
    pub result: Json,
    /// Why it failed, where it did.
    pub failure: Option<Failure>,
    /// What changed on disk, paths relative to the workspace.
    pub changes: Vec<Change>,
    /// What else it points to.
    pub evidence: Vec<EvidenceRef>,
    /// Argv, cwd, exit, signal, bytes cut.
    pub process: Option<Json>,
}

impl CallResult {
    /// Done, with this result.
    pub fn success(result: Json) -> Self {
        CallResult {
            status: InvocationStatus::Success,
            result,
            failure: None,
            changes: Vec::new(),
            evidence: Vec::new(),
            process: None,
        }
    }

    /// Not done, and why; the caller sees the failure as the result.
    pub fn failed(status: InvocationStatus, failure: Failure) -> Self {
        let result = json!({ "error": error_view(&failure) });
        CallResult { status, failure: Some(failure), ..CallResult::success(result) }
    }

    /// Adds what changed on disk.
    #[must_use]
    pub fn with_changes(mut self, changes: Vec<Change>) -> Self {
        self.changes = changes;
        self
    }
}

/// A failure as a model sees it.
pub(super) fn error_view(failure: &Failure) -> Json {
    let mut view = json!({ "code": failure.code, "message": failure.message });
    if let Some(help) = &failure.help {
        view["help"] = json!(help);
    }
    view
}

/// Why a tool did not do what it was asked: it could not, or it must not.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Refusal {
    /// A rule forbids it; nothing was done.
    Denied(Box<Failure>),
    /// It did not work.
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
        match error.is_denial() {
            true => Refusal::denied(error.failure()),
            false => Refusal::failed(error.failure()),
        }
    }
}
