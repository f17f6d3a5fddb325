//! The address of a question in the API, and the digest of what was seen.

use super::format::part;
use crate::value::Digest;
use crate::wire::Question;

/// The address to which an answer is sent.
pub(super) fn address(run: &str, instance: &str) -> String {
    format!("/api/v1/asks/{}", part(&format!("{run}:{instance}")))
}

/// The digest of a question. An answer to a question that changed meanwhile is refused.
pub(super) fn digest(question: &Question) -> String {
    let text = serde_json::to_string(question).unwrap_or_default();
    Digest::of(text).to_string()
}
