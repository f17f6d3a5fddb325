//! The use of a stored result in place of the work of a step: one of the cache, or one of the run that a run
//! continues.

use super::Invocation;
use kb_base::value::{Digest, RunId, Timestamp, Usage};
use serde::{Deserialize, Serialize};

/// An attempt took a stored result in place of its work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CacheHit {
    /// Digest of the key.
    pub key: Digest,
    /// The run that made the result.
    pub run: RunId,
    /// The step instance that made the result.
    pub instance: String,
    /// Time at which the result was stored.
    pub at: Timestamp,
    /// Usage of the attempt that made the result.
    #[serde(default, skip_serializing_if = "Usage::is_none")]
    pub usage: Usage,
    /// Duration of the attempt that made the result, in milliseconds.
    pub duration_ms: u64,
    /// Number of files of the result.
    #[serde(default)]
    pub files: u32,
    /// The files whose content was not that of the result and was restored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub restored: Vec<String>,
    /// Whether the result is that of the run which this one continues, and not one of the cache.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub kept: bool,
    /// The calls that the earlier run recorded. The gate of the step reads them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trace: Vec<Invocation>,
}
