//! A stored result of a step.

use super::KeyPart;
use kb_base::value::{Digest, Json, RunId, Timestamp, Usage};
use kb_core::evidence::{Handoff, Invocation};
use kb_core::redaction::{Mask, Redactor};
use serde::{Deserialize, Serialize};

/// A stored result: what a later execution with the same key takes instead of its work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CachedResult {
    /// Digest of everything that made the result; names it in the store.
    pub key: Digest,
    /// The parts of the key.
    pub parts: Vec<KeyPart>,
    /// What made the result.
    pub origin: CachedOrigin,
    /// Duration of the attempt that made it, in milliseconds.
    pub duration_ms: u64,
    /// Usage of the attempt that made it.
    pub usage: Usage,
    /// The output, masked.
    pub output: Json,
    /// Exit code of a process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Stdout of a process, masked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdout: Option<String>,
    /// Stderr of a process, masked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// Number of bytes that were cut from stdout and from stderr.
    #[serde(default)]
    pub cut: [u64; 2],
    /// What a specialist passed on to later steps, masked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handoff: Option<Box<Handoff>>,
    /// The recorded calls, masked; gates read them again.
    pub trace: Vec<Invocation>,
    /// The files that belong to the result, by path.
    pub files: Vec<CachedFile>,
}

/// The execution that made a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CachedOrigin {
    /// Id of the run.
    pub run: RunId,
    /// Id of the playbook or workflow.
    pub definition: String,
    /// Name of the step instance.
    pub instance: String,
    /// Time at which the result was stored.
    pub at: Timestamp,
}

/// One file of a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CachedFile {
    /// Relative to the workspace.
    pub path: String,
    /// Its content; `None` for a file that the step removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<CachedContent>,
}

/// The content of a file of a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CachedContent {
    /// Digest of the content, which names it in the store.
    pub digest: Digest,
    /// Size in bytes.
    pub bytes: u64,
    /// Permission bits.
    pub mode: u32,
}

impl Mask for CachedResult {
    /// The shown texts of the parts were masked when the key was made.
    fn masked_by(self, redactor: &Redactor) -> CachedResult {
        CachedResult {
            output: self.output.masked_by(redactor),
            stdout: self.stdout.masked_by(redactor),
            stderr: self.stderr.masked_by(redactor),
            handoff: self.handoff.masked_by(redactor),
            trace: self.trace.masked_by(redactor),
            files: self.files.masked_by(redactor),
            ..self
        }
    }
}

impl Mask for CachedFile {
    fn masked_by(self, redactor: &Redactor) -> CachedFile {
        CachedFile { path: self.path.masked_by(redactor), ..self }
    }
}
