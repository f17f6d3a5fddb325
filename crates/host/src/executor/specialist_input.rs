//! The input of a specialist, checked against its `input.schema`.

use kb_attempt::SpecialistWork;
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, Json, JsonMap, json_text};
use kb_language::definition::Schema;
use serde_json::json;

/// Adds `task` if the schema declares it, converts lists and objects to text where the schema requires
/// a string, and returns the remaining violations: as warnings, or as a failure with
/// `inputPolicy: strict`.
pub(super) fn fit(work: &mut SpecialistWork) -> Result<Vec<String>, Box<Failure>> {
    let Some(schema) = work.specialist.input_schema.clone() else { return Ok(Vec::new()) };
    let mut input = match work.input.take() {
        None | Some(Json::Null) => JsonMap::new(),
        Some(Json::Object(map)) => map,
        Some(other) => {
            work.input = Some(other);
            return Ok(Vec::new());
        }
    };
    if type_of(&schema, "task").is_some() && !input.contains_key("task") {
        input.insert("task".to_owned(), json!(work.task));
    }
    for (key, value) in &mut input {
        let is_text = type_of(&schema, key).is_some_and(|kind| kind == "string");
        if is_text && (value.is_array() || value.is_object()) {
            *value = Json::String(json_text(value));
        }
    }
    let input = Json::Object(input);
    let problems: Vec<String> = schema
        .violations(&input)
        .into_iter()
        .map(|v| format!("input{}: {}", v.pointer, v.message))
        .collect();
    work.input = Some(input);
    if work.specialist.strict_input && !problems.is_empty() {
        let message = format!(
            "the input does not match the schema of specialist `{}`: {}",
            work.specialist.id,
            problems.join("; ")
        );
        let failure = Failure::new(Code::BAD_INPUT, message);
        let help = "add the missing keys to `input`, or set `inputPolicy: warn`";
        return Err(Box::new(failure.help(help)));
    }
    Ok(problems)
}

/// The `type` of a top-level key; empty if it has none.
fn type_of<'s>(schema: &'s Schema, key: &str) -> Option<&'s str> {
    let property = schema.json().get("properties")?.get(key)?;
    Some(property.get("type").and_then(Json::as_str).unwrap_or(""))
}
