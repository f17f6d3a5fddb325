//! A specialist's input, held to its `input.schema` (LANGUAGE §4, values).

use crate::attempt::SpecialistWork;
use crate::definition::Schema;
use crate::diagnostic::Code;
use crate::value::{Failure, Json, JsonMap, json_text};
use serde_json::json;

/// Fills `task`, renders lists and objects where text is asked for, and says what still does not
/// fit: as warnings, or as a failure where the specialist is strict.
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
    if asks_for(&schema, "task").is_some() && !input.contains_key("task") {
        input.insert("task".to_owned(), json!(work.task));
    }
    for (key, value) in &mut input {
        let wants_text = asks_for(&schema, key).is_some_and(|kind| kind == "string");
        if wants_text && (value.is_array() || value.is_object()) {
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
            "the input does not fit specialist `{}`: {}",
            work.specialist.id,
            problems.join("; ")
        );
        let failure = Failure::new(Code::BAD_INPUT.as_str(), message);
        let help = "give the missing keys in `input:`, or set `inputPolicy: warn`";
        return Err(Box::new(failure.help(help)));
    }
    Ok(problems)
}

/// The `type` that a schema gives a top-level key.
fn asks_for<'s>(schema: &'s Schema, key: &str) -> Option<&'s str> {
    let property = schema.json().get("properties")?.get(key)?;
    Some(property.get("type").and_then(Json::as_str).unwrap_or(""))
}
