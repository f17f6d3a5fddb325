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
    let is_text = |schema: &Json| matches!(schema["type"].as_str(), None | Some("string"));
    let kind = match schema["type"].as_str() {
        // A list of texts is written as on the command line.
        Some("array") if is_text(&schema["items"]) => "list",
        Some(kind) => kind,
        None if are_texts => "string",
        None => "json",
    };
    let expects = match kind {
        "list" => Some("texts with commas between them, or a JSON list"),
        "array" => Some("a JSON list, such as [1, 2]"),
        "object" => Some("a JSON object, such as {\"name\": \"value\"}"),
        "json" => Some("JSON: a text has quotes, as in \"text\""),
        _ => None,
    };
    let secret = (schema["format"] == "secret-reference")
        .then(|| "env:NAME or file:PATH; never the value itself".to_owned());
    let limits = if secret.is_some() { None } else { field_limits(schema) };
    let about = schema["description"].as_str().map(str::to_owned);
    let own = expects.map(str::to_owned);
    let help: Vec<String> = [about, own, secret, limits].into_iter().flatten().collect();
    json!({
        "name": name,
        "label": label,
        "type": kind,
        "required": required,
        "expects": expects,
        "value": value.map(|value| written(kind, value)).unwrap_or_default(),
        "options": options.into_iter().map(json_text).collect::<Vec<_>>(),
        "help": (!help.is_empty()).then(|| help.join("; ")),
        "min": schema["minimum"], "max": schema["maximum"],
        "minLength": schema["minLength"], "maxLength": schema["maxLength"],
    })
}

/// A value as it is written in a field of a kind.
fn written(kind: &str, value: &Json) -> String {
    let plain = |item: &Json| {
        let text = item.as_str()?;
        let is_plain = !text.is_empty() && text.trim() == text && !text.contains([',', '[']);
        is_plain.then(|| text.to_owned())
    };
    let items = value.as_array().filter(|items| kind == "list" && !items.is_empty());
    let texts = items.and_then(|items| items.iter().map(plain).collect::<Option<Vec<_>>>());
    texts.map_or_else(|| json_text(value), |texts| texts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_written_as_on_the_command_line_and_each_field_says_what_it_takes() {
        let schema = json!({"properties": {
            "tags": {"type": "array", "items": {"type": "string"}, "default": ["a", "b"]},
            "odd": {"type": "array", "default": ["a, b", 3]},
            "sizes": {"type": "array", "items": {"type": "integer"}},
            "more": {"type": "object", "description": "Others"},
            "any": {},
        }});
        let found = fields(&schema, None).unwrap();
        let part = |name: &str| found.iter().find(|field| field["name"] == name).unwrap();
        assert_eq!(
            (&part("tags")["type"], &part("tags")["value"]),
            (&json!("list"), &json!("a, b"))
        );
        assert_eq!(part("tags")["help"], "texts with commas between them, or a JSON list");
        assert_eq!(part("odd")["value"], "[\"a, b\",3]");
        assert_eq!(part("sizes")["expects"], "a JSON list, such as [1, 2]");
        assert_eq!(part("more")["help"], "Others; a JSON object, such as {\"name\": \"value\"}");
        assert!(part("any")["expects"].as_str().unwrap().starts_with("JSON"));
    }

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
