//! A JSON Schema as a list that people and small models can read.

use kb_base::value::Json;

/// Maximum depth of nested objects.
const DEPTH: usize = 4;

/// The keys of a schema, one per line, with type and description; nested keys are indented.
pub(super) fn to_text(schema: &Json) -> String {
    let mut out = String::new();
    properties(schema, 0, &mut out);
    if out.is_empty() {
        out = format!("- {}\n", kind(schema));
    }
    out
}

fn properties(schema: &Json, depth: usize, out: &mut String) {
    let Some(map) = schema.get("properties").and_then(Json::as_object) else { return };
    let required = schema.get("required").and_then(Json::as_array);
    for (name, property) in map {
        let must = required.is_some_and(|r| r.iter().any(|x| x == name.as_str()));
        let about = property.get("description").and_then(Json::as_str).unwrap_or_default();
        let indent = "  ".repeat(depth);
        let must = if must { "required" } else { "optional" };
        let colon = if about.is_empty() { "" } else { ": " };
        out.push_str(&format!("{indent}- `{name}` ({}, {must}){colon}{about}\n", kind(property)));
        if depth < DEPTH {
            properties(property, depth + 1, out);
            if let Some(items) = property.get("items") {
                properties(items, depth + 1, out);
            }
        }
    }
}

fn kind(schema: &Json) -> String {
    if let Some(values) = schema.get("enum").and_then(Json::as_array) {
        return values.iter().map(Json::to_string).collect::<Vec<_>>().join(" or ");
    }
    if let Some(value) = schema.get("const") {
        return value.to_string();
    }
    match schema.get("type") {
        Some(Json::String(name)) if name == "array" => match schema.get("items") {
            Some(items) => format!("array of {}", kind(items)),
            None => "array".to_owned(),
        },
        Some(Json::String(name)) => name.clone(),
        Some(Json::Array(names)) => {
            names.iter().filter_map(Json::as_str).collect::<Vec<_>>().join(" or ")
        }
        _ if schema.get("properties").is_some() => "object".to_owned(),
        _ => match schema.as_object() {
            Some(map) if !map.is_empty() => schema.to_string(),
            _ => "any value".to_owned(),
        },
    }
}
