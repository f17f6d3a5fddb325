//! [`KeyType`]: the type of the value under a key, as JSON Schema and as the reference names it.

use super::table::{KeyTable, KeyType};
use crate::definition::syntax::step_keys::STEP;
use kb_base::value::Json;
use serde_json::json;

const DURATION: &str = r"^\s*(([0-9]+\.?[0-9]*|\.[0-9]+)(ms|s|m|h|d)\s*)+$";

impl KeyType {
    /// The JSON Schema of values of this type. Maps are references into `$defs`.
    pub(super) fn json_schema(&self) -> Json {
        match self {
            KeyType::Any => json!({}),
            KeyType::Text => json!({"type": "string"}),
            KeyType::Scalar => json!({"type": ["string", "number", "boolean"]}),
            KeyType::Template => json!({"anyOf": [{"type": "string"}, raw_text()]}),
            KeyType::ScalarTemplate => {
                json!({"anyOf": [{"type": ["string", "number", "boolean"]}, raw_text()]})
            }
            KeyType::Expression => json!({"type": ["string", "boolean"]}),
            KeyType::Boolean => json!({"type": "boolean"}),
            KeyType::Integer(least, u32::MAX) => json!({"type": "integer", "minimum": least}),
            KeyType::Integer(least, most) => {
                json!({"type": "integer", "minimum": least, "maximum": most})
            }
            KeyType::Number(least, most) => number(*least, *most),
            KeyType::Duration => json!({"type": "string", "pattern": DURATION}),
            KeyType::Choice(choices) => json!({"enum": choices}),
            KeyType::Constant(text) => json!({"const": text}),
            KeyType::Pattern(pattern) => json!({"type": "string", "pattern": pattern}),
            KeyType::Schema => json!({}),
            KeyType::Map(table) => json!({"$ref": format!("#/$defs/{}", table.name)}),
            KeyType::MapOf(value) => {
                json!({"type": "object", "additionalProperties": value.json_schema()})
            }
            KeyType::AnyMap => json!({"type": "object"}),
            KeyType::Forbidden => json!(false),
            KeyType::Steps => json!({"type": "array", "items": KeyType::Map(&STEP).json_schema()}),
            KeyType::List(item) => json!({"type": "array", "items": item.json_schema()}),
            KeyType::ListOrOne(item) => {
                let item = item.json_schema();
                json!({"anyOf": [item, {"type": "array", "items": item}]})
            }
            KeyType::OneOf(types) => {
                json!({"anyOf": types.iter().map(KeyType::json_schema).collect::<Vec<_>>()})
            }
        }
    }

    /// The type as the reference names it, in markdown.
    pub(super) fn name(&self) -> String {
        match self {
            KeyType::Any => "any value".to_owned(),
            KeyType::Text => "text".to_owned(),
            KeyType::Scalar => "text or number".to_owned(),
            KeyType::Template => "template".to_owned(),
            KeyType::ScalarTemplate => "template or number".to_owned(),
            KeyType::Expression => "expression".to_owned(),
            KeyType::Boolean => "`true` or `false`".to_owned(),
            KeyType::Integer(least, u32::MAX) => format!("integer ≥ {least}"),
            KeyType::Integer(least, most) => format!("integer {least}–{most}"),
            KeyType::Number(least, most) => match (least.is_finite(), most.is_finite()) {
                (true, true) => format!("number {least}–{most}"),
                (true, false) => format!("number ≥ {least}"),
                _ => "number".to_owned(),
            },
            KeyType::Duration => "duration".to_owned(),
            KeyType::Choice(choices) => {
                choices.iter().map(|choice| format!("`{choice}`")).collect::<Vec<_>>().join(", ")
            }
            KeyType::Constant(text) => format!("`{text}`"),
            KeyType::Pattern(_) => "text".to_owned(),
            KeyType::Schema => "schema".to_owned(),
            KeyType::Map(table) => format!("[map](#{})", table.anchor()),
            KeyType::MapOf(value) => format!("map of {}", value.name()),
            KeyType::AnyMap => "map".to_owned(),
            KeyType::Forbidden => "not allowed".to_owned(),
            KeyType::Steps => format!("list of {}", KeyType::Map(&STEP).name()),
            KeyType::List(item) => format!("list of {}", item.name()),
            KeyType::ListOrOne(item) => format!("list of {}", item.name()),
            KeyType::OneOf(types) => {
                types.iter().map(KeyType::name).collect::<Vec<_>>().join(" or ")
            }
        }
    }

    /// The texts that a value of this type can be, if they are known one by one, also below a list.
    pub fn known_values(&self) -> Vec<String> {
        match self {
            KeyType::Choice(names) => names.iter().map(|name| (*name).to_owned()).collect(),
            KeyType::Constant(text) => vec![(*text).to_owned()],
            KeyType::Boolean => vec!["true".to_owned(), "false".to_owned()],
            KeyType::Pattern(pattern) => alternatives(pattern),
            KeyType::List(inner) | KeyType::ListOrOne(inner) => inner.known_values(),
            KeyType::OneOf(types) => types.iter().flat_map(KeyType::known_values).collect(),
            KeyType::Any
            | KeyType::Text
            | KeyType::Scalar
            | KeyType::Template
            | KeyType::ScalarTemplate
            | KeyType::Expression
            | KeyType::Integer(..)
            | KeyType::Number(..)
            | KeyType::Duration
            | KeyType::Schema
            | KeyType::Map(_)
            | KeyType::MapOf(_)
            | KeyType::AnyMap
            | KeyType::Steps
            | KeyType::Forbidden => Vec::new(),
        }
    }

    /// Calls `visit` for every table that values of this type can contain directly.
    pub(super) fn tables(&self, visit: &mut dyn FnMut(&'static KeyTable)) {
        match self {
            KeyType::Map(table) => visit(table),
            KeyType::Steps => visit(&STEP),
            KeyType::MapOf(inner) | KeyType::List(inner) | KeyType::ListOrOne(inner) => {
                inner.tables(visit);
            }
            KeyType::OneOf(types) => types.iter().for_each(|inner| inner.tables(visit)),
            KeyType::Any
            | KeyType::Text
            | KeyType::Scalar
            | KeyType::Template
            | KeyType::ScalarTemplate
            | KeyType::Expression
            | KeyType::Boolean
            | KeyType::Integer(..)
            | KeyType::Number(..)
            | KeyType::Duration
            | KeyType::Choice(_)
            | KeyType::Constant(_)
            | KeyType::Pattern(_)
            | KeyType::Schema
            | KeyType::AnyMap
            | KeyType::Forbidden => {}
        }
    }
}

impl KeyTable {
    /// The anchor of its heading in the reference.
    pub(super) fn anchor(&self) -> String {
        self.name.to_lowercase()
    }
}

/// The alternatives of `^(one|two|…)$` that are texts and no expressions.
fn alternatives(pattern: &str) -> Vec<String> {
    let inner = pattern.strip_prefix("^(").and_then(|rest| rest.strip_suffix(")$"));
    let parts = inner.into_iter().flat_map(|inner| inner.split('|'));
    let is_text =
        |part: &&str| !part.replace(r"\*", "").contains(['[', '(', '.', '+', '*', '?', '^', '$']);
    parts.filter(is_text).map(|part| part.replace(r"\*", "*")).collect()
}

fn number(least: f64, most: f64) -> Json {
    let mut schema = json!({"type": "number"});
    if least.is_finite() {
        schema["minimum"] = json!(least);
    }
    if most.is_finite() {
        schema["maximum"] = json!(most);
    }
    schema
}

fn raw_text() -> Json {
    json!({
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "The text."},
            "raw": {"type": "boolean", "description": "Whether placeholders are literal text."},
        },
        "required": ["text", "raw"],
        "additionalProperties": false,
    })
}
