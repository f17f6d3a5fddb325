//! Tools: one trait, one registry, one policy, one path guard; one file a tool.
//!
//! A call goes through [`Toolbox::call`] whoever makes it: a specialist, a `tool:` step, a script.

use crate::evidence::{Change, EvidenceRef, InvocationStatus};
use crate::value::{Failure, Json};
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

/// How dangerous a tool is (003 §4.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ToolLevel {
    /// Needs nothing.
    Safe,
    /// Reads, inside allowed paths.
    Moderate,
    /// Writes; being whitelisted in the project is the permission.
    Restricted,
    /// Runs commands; needs a person's or the sandbox's approval.
    Critical,
}

/// What a tool is.
#[derive(Debug, Clone)]
pub struct ToolSpec {
    /// `namespace:verb`.
    pub name: &'static str,
    /// How dangerous.
    pub level: ToolLevel,
    /// For models and people.
    pub description: &'static str,
    /// JSON Schema of its arguments.
    pub input: Json,
    /// JSON Schema of its result.
    pub output: Json,
    /// Whether calling it twice changes nothing: an unknown outcome may then be asked again.
    pub only_reads: bool,
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
        /// The tools it may call.
        whitelist: Vec<String>,
    },
}

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

/// A tool.
pub trait Tool: Send + Sync {
    /// What it is.
    fn spec(&self) -> &ToolSpec;
    /// Does it, with arguments that fit its schema. Policy has been asked; paths have not been
    /// resolved: tools do that through the workspace's guard.
    fn call<'a>(
        &'a self,
        call: &'a Call,
        toolbox: &'a Toolbox,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, CallResult>;
}

/// Every tool with the policy and the guard that hold over it.
pub struct Toolbox {}
