//! Tool calls as the runtime recorded them.

use super::{Change, ProcessEvidence};
use kb_base::value::{Digest, Json, Timestamp};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Why a tool was called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Purpose {
    /// To do the step's work.
    Execution,
    /// To verify the work of a step; such calls are not verified themselves.
    Verification,
    /// For the work of the step, as a coding agent reports it. `kb` did not see the call, so it proves nothing.
    Reported,
}

/// How a tool call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InvocationStatus {
    /// The tool did what it describes.
    Success,
    /// The tool reported an error, such as a missing file or a non-zero exit.
    Failed,
    /// The call exceeded its timeout.
    Timeout,
    /// A policy denied the call; nothing was executed.
    Denied,
    /// `kb` was killed during the call; its effects are unknown.
    Unknown,
}

impl InvocationStatus {
    /// The status as shown and serialised.
    pub fn as_str(self) -> &'static str {
        match self {
            InvocationStatus::Success => "success",
            InvocationStatus::Failed => "failed",
            InvocationStatus::Timeout => "timeout",
            InvocationStatus::Denied => "denied",
            InvocationStatus::Unknown => "unknown",
        }
    }
}

/// What a reference names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EvidenceKind {
    /// A file of the workspace.
    File,
    /// The response of an HTTP request.
    Http,
    /// The receipt of a plugin.
    Receipt,
    /// A probe that observed the effect of a plugin.
    Probe,
}

impl EvidenceKind {
    /// The kind as shown and serialised.
    pub fn as_str(self) -> &'static str {
        match self {
            EvidenceKind::File => "file",
            EvidenceKind::Http => "http",
            EvidenceKind::Receipt => "receipt",
            EvidenceKind::Probe => "probe",
        }
    }
}

/// A reference from a call to something outside the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EvidenceRef {
    /// What it names.
    pub kind: EvidenceKind,
    /// Path, URL or id.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Digest of the referenced content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Digest>,
    /// The status code of an HTTP answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
}

/// One recorded tool call. The runtime writes it; a model cannot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Invocation {
    /// Unique within the attempts of the step; not the call id of the model.
    pub id: String,
    /// Name of the tool, such as `fs:write`.
    pub tool: String,
    /// Masked arguments.
    pub args: Json,
    /// Digest of the masked arguments in canonical form. A digest of the unmasked ones would reveal
    /// secrets that are easy to guess.
    pub args_hash: Digest,
    /// Start time of the call.
    pub at: Timestamp,
    /// Duration in milliseconds.
    pub duration_ms: u64,
    /// The reason of the call.
    pub purpose: Purpose,
    /// The result of the call.
    pub status: InvocationStatus,
    /// File changes during the call; paths are relative to the workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// References to files, URLs and receipts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<EvidenceRef>,
    /// Of a process: what was started and how it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<Box<ProcessEvidence>>,
    /// The output of a plugin, so that the verifier can check it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Arc<Json>>,
    /// Size of the result in bytes before truncation.
    pub bytes: u64,
}

/// The name under which the process of a `run:` step is recorded.
pub const STEP_PROCESS: &str = "run";
/// The name under which the process of a coding agent is recorded, with the files that it changed.
pub const AGENT_PROCESS: &str = "agent";
/// `tools` among the arguments of [`AGENT_PROCESS`]: the agent worked with tools of `kb`, each call of which is recorded.
pub const WITH_TOOLS_OF_KB: &str = "kb";
/// What the names of the calls begin with that a coding agent reports.
pub const REPORTED: &str = "reported:";
/// The name under which the runtime records changes of files that earlier attempts of a step left. They start at the
/// state before the step.
pub const FILES_BEFORE: &str = "files:before";
/// The name under which the changes of files of a command of a gate are recorded. They are for people who approve; no
/// gate reads them.
pub const RUN_CHECK: &str = "check:command";

impl Invocation {
    /// Whether a tool was called for the work of the step. The runtime records its own work as invocations, too.
    pub fn is_tool_call(&self) -> bool {
        let is_own = [STEP_PROCESS, AGENT_PROCESS, FILES_BEFORE].contains(&self.tool.as_str());
        self.purpose == Purpose::Execution && !is_own
    }

    /// Whether it is the process of a coding agent that works with tools of its own, whose calls nothing records.
    pub fn works_unseen(&self) -> bool {
        self.tool == AGENT_PROCESS
            && self.args.get("tools").is_none_or(|tools| tools != WITH_TOOLS_OF_KB)
    }

    /// The status code with which a server refused a request that was sent, such as 404 and 500.
    pub fn http_error(&self) -> Option<u16> {
        self.evidence.iter().find_map(|reference| reference.status).filter(|status| *status >= 400)
    }
}

/// The tool calls of one step instance over all attempts of one iteration, as its gate reads them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolTrace {
    invocations: Vec<Invocation>,
    diff_bytes: usize,
    /// Whether the calls are those of a stored result that an attempt took which has not ended.
    taken: bool,
}

/// Maximum size of the diffs in a trace, in bytes. The journal has all of them.
const DIFF_BYTES: usize = 1 << 20;

impl ToolTrace {
    /// Adds a call. Diffs beyond the limit, and what commands of gates changed, are left out.
    pub fn push(&mut self, mut invocation: Invocation) {
        if invocation.tool == RUN_CHECK || invocation.purpose == Purpose::Reported {
            return;
        }
        for change in &mut invocation.changes {
            let bytes = change.diff.as_ref().map_or(0, String::len);
            if self.diff_bytes + bytes > DIFF_BYTES {
                change.diff = None;
            } else {
                self.diff_bytes += bytes;
            }
        }
        self.invocations.push(invocation);
    }

    /// An attempt takes a stored result: its recorded calls are those of the attempt.
    pub fn take(&mut self, calls: &[Invocation]) {
        self.clear();
        calls.iter().for_each(|call| self.push(call.clone()));
        self.taken = true;
    }

    /// The attempt ended.
    pub fn end_attempt(&mut self) {
        self.taken = false;
    }

    /// The attempt was interrupted. It starts again and does not keep the stored result that it took.
    pub fn interrupt(&mut self) {
        if self.taken {
            self.clear();
        }
    }

    /// The calls in the order of their start.
    pub fn invocations(&self) -> &[Invocation] {
        &self.invocations
    }

    /// Removes all calls.
    pub fn clear(&mut self) {
        *self = ToolTrace::default();
    }
}
