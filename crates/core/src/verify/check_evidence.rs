//! What the evidence of a check says of files, besides what people read there. [`super::ReliedFact`] reads it.

use kb_base::value::{Digest, Json};
use serde::Serialize;
use serde_json::json;

/// Key of the digests of changed files, by path.
pub(super) const CONTENT: &str = "content";
/// Key of the check itself.
pub(super) const CRITERION: &str = "check";
/// Maximum number of files whose content is listed.
const LISTED: usize = 20;

/// Adds the check and the contents of changed files to the evidence of a check.
pub(super) fn with_facts<'p>(
    mut evidence: Json,
    criterion: Option<&impl Serialize>,
    changed: impl Iterator<Item = (&'p str, Option<Digest>)>,
) -> Json {
    let contents: serde_json::Map<String, Json> = changed
        .filter_map(|(path, digest)| Some((path.to_owned(), json!(digest?.to_string()))))
        .take(LISTED)
        .collect();
    if !contents.is_empty() {
        evidence[CONTENT] = Json::Object(contents);
    }
    if let Some(criterion) = criterion {
        evidence[CRITERION] = json!(criterion);
    }
    evidence
}
