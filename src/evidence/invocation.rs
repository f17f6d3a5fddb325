use super::Change;
use crate::value::{Digest, Json, Timestamp};
use serde::{Deserialize, Serialize};

/// Why a tool was called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Purpose {
    /// To do the step's work.
    Execution,
    /// To look at work that was done; never verified itself.
    Verification,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InvocationStatus {
    /// It did what it says.
    Success,
    /// It answered that it could not (a missing file, a non-zero exit).
    Failed,
    /// Its time ran out.
    Timeout,
    /// A policy refused it; nothing was done.
    Denied,
    /// The runtime died while it was under way; what it did is not known.
    Unknown,
}

/// Something outside the journal that a call points to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EvidenceRef {
    /// `file`, `http`, `receipt`, `log` or `hash`.
    pub kind: String,
    /// Path, URL or id.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Digest of what it pointed to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Digest>,
}

/// One recorded tool call. Written by the runtime, never by a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Invocation {
    /// Unique within the step's attempts; the model's own call id is kept apart.
    pub id: String,
    /// Tool name, `fs:write`.
    pub tool: String,
    /// Arguments after masking.
    pub args: Json,
    /// Digest of these arguments, canonical. Not of the unmasked ones: it would tell a secret that is
    /// easily guessed.
    pub args_hash: Digest,
    /// When it started.
    pub at: Timestamp,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// Why it was called.
    pub purpose: Purpose,
    /// How it ended.
    pub status: InvocationStatus,
    /// What changed on disk while it ran, paths relative to the workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// What else it points to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<EvidenceRef>,
    /// Argv, cwd, exit code, signal, bytes cut: what a process leaves behind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<Json>,
    /// Bytes of the whole result before any cut.
    pub bytes: u64,
}

/// The calls of one step over all its attempts in one iteration, in order.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ToolTrace {
    /// In the order in which they were started.
    pub invocations: Vec<Invocation>,
}
