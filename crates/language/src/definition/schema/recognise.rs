//! Tells a JSON Schema from the short form.

use crate::definition::syntax::{Node, Value};

const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "null", "object", "array"];

/// Keywords beside which `type:` is JSON Schema's own and not a key called `type`.
const KEYWORDS: &[&str] = &[
    "type",
    "title",
    "description",
    "default",
    "examples",
    "format",
    "properties",
    "required",
    "additionalProperties",
    "patternProperties",
    "propertyNames",
    "minProperties",
    "maxProperties",
    "items",
    "prefixItems",
    "contains",
    "minItems",
    "maxItems",
    "uniqueItems",
    "enum",
    "const",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "if",
    "then",
    "else",
    "dependentRequired",
    "unevaluatedProperties",
    "readOnly",
    "writeOnly",
    "deprecated",
];

/// Whether a schema is written as JSON Schema rather than in the short form. A key of the short form
/// may be called like a keyword, so the kind of its value decides too.
pub(super) fn is_json_schema(node: &Node) -> bool {
    let Some(entries) = node.as_map() else { return false };
    let is_type = |node: &Node| match &node.value {
        Value::Seq(items) => {
            items.iter().all(|item| item.as_text().is_some_and(|t| TYPES.contains(&t)))
        }
        _ => node.as_text().is_some_and(|text| TYPES.contains(&text)),
    };
    let all_keywords = || {
        entries
            .iter()
            .all(|(key, _)| key.text.starts_with('$') || KEYWORDS.contains(&key.text.as_str()))
    };
    entries.is_empty()
        || entries.iter().any(|(key, value)| match key.text.as_str() {
            "$schema" | "$ref" | "$defs" | "$id" => true,
            "properties" | "patternProperties" => value.as_map().is_some() && all_keywords(),
            "anyOf" | "oneOf" | "allOf" | "enum" | "prefixItems" => {
                value.as_seq().is_some() && all_keywords()
            }
            "type" => is_type(value) && all_keywords(),
            _ => false,
        })
}
