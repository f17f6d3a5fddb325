//! The fields of a form, from the JSON Schema of what the form sends.

use kb_base::value::{Json, json_text};
use kb_service::service::field_limits;
use serde_json::{Value, json};

/// Maximum number of fields; a larger object is written as JSON.
const FIELDS: usize = 30;

/// The fields of an object, one for each property; `None` if the schema has no or too many properties. `given` has values
/// to begin with.
pub(super) fn fields(schema: &Json, given: Option<&Json>) -> Option<Vec<Value>> {
    let properties = schema["properties"].as_object()?;
    if properties.is_empty() || properties.len() > FIELDS {
        return None;
    }
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
    let one = |(name, part): (&String, &Json)| {
        let value = given.and_then(|all| all.get(name)).or(part.get("default"));
        let label = part["title"].as_str().unwrap_or(name);
        field((name, label), part, required.contains(&name.as_str()), value)
    };
    Some(properties.iter().map(one).collect())
}

/// A field with a name and a label for values of a schema.
pub(super) fn field(
    (name, label): (&str, &str),
    schema: &Json,
    required: bool,
    value: Option<&Json>,
) -> Value {
    let options: Vec<&Json> = schema["enum"].as_array().into_iter().flatten().collect();
    let are_texts = !options.is_empty() && options.iter().all(|option| option.is_string());
    let kind = match schema["type"].as_str() {
        Some(kind) => kind,
        None if are_texts => "string",
        None => "json",
    };
    let secret = (schema["format"] == "secret-reference")
        .then(|| "env:NAME or file:PATH; never the value itself".to_owned());
    let limits = if secret.is_some() { None } else { field_limits(schema) };
    let about = schema["description"].as_str().map(str::to_owned);
    let help: Vec<String> = [about, secret, limits].into_iter().flatten().collect();
    json!({
        "name": name,
        "label": label,
        "type": kind,
        "required": required,
        "value": value.map(json_text).unwrap_or_default(),
        "options": options.into_iter().map(json_text).collect::<Vec<_>>(),
        "help": (!help.is_empty()).then(|| help.join("; ")),
        "min": schema["minimum"], "max": schema["maximum"],
        "minLength": schema["minLength"], "maxLength": schema["maxLength"],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_without_a_type_are_texts_and_limits_are_help() {
        let schema = json!({
            "properties": {
                "region": {"enum": ["eu", "us"]},
                "count": {"type": "integer", "minimum": 1, "maximum": 9, "description": "How many"},
            },
            "required": ["region"],
        });
        let found = fields(&schema, Some(&json!({"count": 3}))).unwrap();
        let part = |name: &str| found.iter().find(|field| field["name"] == name).unwrap();
        assert_eq!(part("region")["type"], "string");
        assert_eq!(part("region")["options"], json!(["eu", "us"]));
        assert_eq!(part("region")["required"], true);
        assert_eq!(part("count")["help"], "How many; from 1 to 9");
        assert_eq!(part("count")["value"], "3");
        assert!(fields(&json!({"type": "string"}), None).is_none());
    }
}
