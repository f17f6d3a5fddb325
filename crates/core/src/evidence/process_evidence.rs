//! Recorded evidence of processes. The serialised names are part of the journal's format.

use super::TestCounts;
use kb_base::value::{Digest, Json};
use serde::{Deserialize, Serialize};

/// The evidence of a process: what was started, how it ended, and what is known about its effects.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProcessEvidence {
    /// Working directory, relative to the workspace root if it is inside.
    pub cwd: String,
    /// Names of the variables that were set for this process, in order.
    pub env: Vec<String>,
    /// Digest of the whole environment with masked values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env_hash: Option<Digest>,
    /// Program and arguments, masked; `None` if they were so long that only their digest is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub argv: Option<Vec<String>>,
    /// Digest of long arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub argv_hash: Option<Digest>,
    /// How it ended; `None` if that was not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<ProcessEndKind>,
    /// Exit code, if it ended with one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// The signal that killed it, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Milliseconds from start to end.
    pub duration_ms: u64,
    /// Bytes of stdout that were stored.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stdout_bytes: u64,
    /// Bytes of stdout over the size limit, which were not stored.
    pub stdout_cut: u64,
    /// Bytes of stderr over the size limit, which were not stored.
    pub stderr_cut: u64,
    /// Numbers of tests in the output, if it has a summary in a known form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestCounts>,
    /// Whether the file changes of the process were observed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub watched: bool,
    /// Whether the manifest of the workspace was incomplete, so that changes may be missing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub manifest_truncated: bool,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ProcessEndKind {
    /// With an exit code.
    Exit,
    /// A signal ended it.
    Signal,
    /// It exceeded its timeout.
    Timeout,
    /// It exceeded its idle timeout.
    Idle,
    /// It was cancelled.
    Cancelled,
    /// It was killed together with its namespace.
    Lost,
    /// It could not be started.
    NotStarted,
}

/// The output of a step's process, as the end of an attempt records it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AttemptStreams<'a> {
    /// Exit code, if it ended with one.
    pub exit_code: Option<i32>,
    /// Text of stdout, as far as it was stored.
    pub stdout: Option<&'a str>,
    /// Text of stderr, as far as it was stored.
    pub stderr: Option<&'a str>,
    /// Bytes of stdout over the size limit.
    #[serde(skip_serializing_if = "is_zero")]
    pub stdout_cut: u64,
    /// Bytes of stderr over the size limit.
    #[serde(skip_serializing_if = "is_zero")]
    pub stderr_cut: u64,
    /// The last lines of stdout over the size limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdout_tail: Option<&'a str>,
    /// The last lines of stderr over the size limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr_tail: Option<&'a str>,
    /// The evidence of the process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<Box<ProcessEvidence>>,
}

impl<'a> AttemptStreams<'a> {
    /// The streams in the recorded form; empty if it is none.
    pub fn of(recorded: &'a Json) -> Self {
        AttemptStreams::deserialize(recorded).unwrap_or_default()
    }

    /// The recorded form.
    pub fn to_json(&self) -> Json {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// The same streams without their texts.
    pub fn without_text(self) -> AttemptStreams<'static> {
        let AttemptStreams { exit_code, stdout_cut, stderr_cut, process, .. } = self;
        AttemptStreams { exit_code, stdout_cut, stderr_cut, process, ..AttemptStreams::default() }
    }
}

/// Whether a number of bytes is left out of the recorded form.
pub(super) fn is_zero(bytes: &u64) -> bool {
    *bytes == 0
}
