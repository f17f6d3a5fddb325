//! Keys of an output schema that no check of a gate reads: what they say leaves the gate `unchecked`.

use super::claim::{claims_of, has_entries};
use super::statement::{Act, Meaning, Sentence, means, statements};
use super::test_claim::test_claims;
use super::{call_claim, command_claim, keys, test_claim};
use kb_base::value::Json;
use serde_json::json;

/// The keys that are compared with the changes of files.
const FILES: &str = "`created`, `modified` or `deleted`";

/// A key that no check reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadKey {
    /// As the schema writes it.
    pub key: String,
    /// The keys that are read instead, for people, if it sounds like a claim that gates know.
    pub instead: Option<&'static str>,
    /// Whether it sounds like a claim that files were changed.
    pub is_of_files: bool,
}

/// The keys of an output schema, at any depth, that nothing reads.
pub fn unread_keys(schema: &Json) -> Vec<UnreadKey> {
    let mut found = Vec::new();
    collect(schema, &mut found);
    found
}

fn collect(schema: &Json, found: &mut Vec<UnreadKey>) {
    for (key, own) in schema.get("properties").and_then(Json::as_object).into_iter().flatten() {
        let value = sample(own);
        if value.is_object() && !is_read(key, &value) {
            collect(own, found);
        } else if !says_nothing(key) && !is_read(key, &value) {
            let instead = sounds_like(key);
            let is_of_files = instead == Some(FILES);
            found.push(UnreadKey { key: key.clone(), instead, is_of_files });
        }
    }
}

/// A value that a schema permits, as a report would have it.
fn sample(schema: &Json) -> Json {
    match schema.get("type").and_then(Json::as_str) {
        Some("boolean") => json!(true),
        Some("integer" | "number") => json!(3),
        Some("array") => json!(["src/a.rs"]),
        Some("object") => json!({}),
        _ if schema.get("properties").is_some() => json!({}),
        _ => json!("passed"),
    }
}

fn is_read(key: &str, value: &Json) -> bool {
    let output = json!({key: value});
    // What a key says by itself, whatever its text.
    let neutral = if value.is_string() { json!({key: "value"}) } else { output.clone() };
    has_entries(key)
        || call_claim::is_read(key)
        || command_claim::is_read(key)
        || test_claim::is_read(key, value)
        || !test_claims(&output).is_empty()
        || !claims_of(&output, "/", true).is_empty()
        || statements(&neutral, &|_, _| false).iter().filter_map(|said| said.act).any(is_compared)
}

/// Whether statements of a kind are compared with the record. What was built or verified is not known to it.
fn is_compared(act: Act) -> bool {
    act != Act::Passed
}

/// Whether what is below a key is a text for people, or a plan.
fn says_nothing(key: &str) -> bool {
    keys::is_neutral(key) || means(&keys::words(key).concat(), Meaning::OtherKey)
}

/// The keys that are read in place of one with such words; `None` if the key sounds like no claim.
fn sounds_like(key: &str) -> Option<&'static str> {
    let words = Sentence::all(&keys::words(key).join(" ")).pop()?;
    let begins = |starts: &[&str]| {
        words.words.iter().any(|word| starts.iter().any(|start| word.starts_with(start)))
    };
    match () {
        () if words.has(Meaning::Tests) => Some("`testResult`, or `tests: {passed, failed}`"),
        () if begins(&["command", "script", "build", "lint", "compil", "typecheck"]) => {
            Some("`commands`")
        }
        () if words.has(Meaning::Lines) => Some("`linesChanged`"),
        () if begins(&["file", "path"]) => Some(FILES),
        () => None,
    }
}
