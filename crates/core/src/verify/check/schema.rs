//! `schema` checks: the output satisfies a schema.

use super::super::finding::Finding;
use kb_base::value::{Digest, Json};
use kb_language::definition::Schema;
use serde_json::json;

/// Maximum number of violations in the evidence.
const LISTED: usize = 20;

/// The verdict over an output and a schema, with the violations.
pub(in crate::verify) fn evaluate(schema: &Schema, output: &Json) -> (Finding, Option<Json>) {
    let violations = schema.violations(output);
    let Some(first) = violations.first() else { return (Finding::passed(), None) };
    let path = match first.pointer.as_str() {
        "" => "the output".to_owned(),
        pointer => format!("`{pointer}` of the output"),
    };
    let more = match violations.len() - 1 {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    let listed: Vec<Json> = violations
        .iter()
        .take(LISTED)
        .map(|violation| json!({"pointer": violation.pointer, "message": violation.message}))
        .collect();
    let reason = format!("{path} violates the schema: {}{more}", first.message);
    (Finding::failed(reason), Some(json!({ "violations": listed })))
}

/// The digest that stands for a schema in the journal.
pub(in crate::verify) fn digest(schema: &Schema) -> Digest {
    Digest::of_json(schema.json())
}
