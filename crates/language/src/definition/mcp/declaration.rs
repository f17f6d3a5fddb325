//! [`ToolDeclaration`]: what a server says about one of its tools, checked before anything uses it.

use crate::definition::Schema;
use crate::toolspec::ToolSpec;
use kb_base::value::{Digest, Json, JsonMap, is_hidden, json_text};

/// The parts of a declaration that are pinned. Others, such as icons, have no effect.
const PINNED: [&str; 6] =
    ["name", "title", "description", "inputSchema", "outputSchema", "annotations"];
/// Maximum size of a declaration in bytes.
const LARGEST: usize = 64 << 10;
/// Maximum length of the name of a tool. Providers of models allow 64 characters with the name of the server.
const LONGEST_NAME: usize = 64;

/// The parts of a declaration that are pinned; checked when it is made.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDeclaration {
    name: String,
    json: JsonMap,
}

impl ToolDeclaration {
    /// Checks a declaration. The error says what is wrong with it, without its name.
    pub fn of(declared: &Json) -> Result<ToolDeclaration, String> {
        let map = declared.as_object().ok_or_else(|| "a tool is no object".to_owned())?;
        let taken =
            PINNED.iter().filter_map(|key| Some(((*key).to_owned(), map.get(*key)?.clone())));
        let json: JsonMap = taken.filter(|(_, value)| !value.is_null()).collect();
        let name = match json.get("name").and_then(Json::as_str) {
            Some(name) if is_tool_name(name) => name.to_owned(),
            Some(name) => {
                let shown = name.escape_debug().take(80).collect::<String>();
                return Err(format!(
                    "`{shown}` is not the name of a tool: at most {LONGEST_NAME} ASCII letters, digits, `_`, `-`, \
                     `.` and `/`"
                ));
            }
            None => return Err("a tool has no name".to_owned()),
        };
        if json_text(&Json::Object(json.clone())).len() > LARGEST {
            return Err(format!("its declaration has more than {} KiB", LARGEST >> 10));
        }
        for (key, value) in &json {
            if let Some(bad) = hidden_in(value) {
                return Err(format!(
                    "its {key} has the invisible character U+{:04X}",
                    u32::from(bad)
                ));
            }
        }
        for key in ["title", "description"] {
            if json.get(key).is_some_and(|value| !value.is_string()) {
                return Err(format!("its {key} is no text"));
            }
        }
        let input = json.get("inputSchema").ok_or_else(|| "it has no `inputSchema`".to_owned())?;
        for (key, schema) in
            [("inputSchema", Some(input)), ("outputSchema", json.get("outputSchema"))]
        {
            let Some(schema) = schema else { continue };
            if schema.get("type").and_then(Json::as_str) != Some("object") {
                return Err(format!("its `{key}` is not of `type: object`"));
            }
            let checked = Schema::new(schema.clone());
            checked.map_err(|faults| format!("its `{key}`: {}", faults.join("; ")))?;
        }
        Ok(ToolDeclaration { name, json })
    }

    /// The name that its server gives it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What is pinned.
    pub fn json(&self) -> &JsonMap {
        &self.json
    }

    /// The digest of what is pinned.
    pub fn digest(&self) -> Digest {
        Digest::of_json(&Json::Object(self.json.clone()))
    }

    /// The entry in the catalog of tools. What the annotations promise has no effect on it.
    pub fn spec(&self, server: &str) -> ToolSpec {
        let text = |key: &str| self.json.get(key).and_then(Json::as_str);
        let about =
            text("description").or(text("title")).unwrap_or("A tool without a description.");
        let schema = |key: &str| self.json.get(key).cloned().unwrap_or_default();
        let about = format!("[MCP: {server}] {}", about.trim());
        ToolSpec::declared(
            (server, &self.name),
            &about,
            schema("inputSchema"),
            schema("outputSchema"),
        )
    }
}

/// Whether a text can be the name of a server.
pub fn is_server_name(name: &str) -> bool {
    let mut chars = name.chars();
    name.len() <= 32
        && chars.next().is_some_and(|c| c.is_ascii_lowercase())
        && chars.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-'))
}

fn is_tool_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(allowed)
}

/// The first character in a text or name of a value that people do not see and models read.
fn hidden_in(value: &Json) -> Option<char> {
    match value {
        Json::String(text) => hidden(text),
        Json::Array(items) => items.iter().find_map(hidden_in),
        Json::Object(map) => map.iter().find_map(|(key, value)| hidden(key).or(hidden_in(value))),
        Json::Null | Json::Bool(_) | Json::Number(_) => None,
    }
}

fn hidden(text: &str) -> Option<char> {
    text.char_indices().find(|(at, c)| is_hidden(text, *at, *c)).map(|(_, c)| c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn declared(more: Json) -> Result<ToolDeclaration, String> {
        let mut tool =
            json!({"name": "look", "description": "Looks.", "inputSchema": {"type": "object"}});
        tool.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        ToolDeclaration::of(&tool)
    }

    #[test]
    fn declarations_that_hide_something_are_refused() {
        for (more, why) in [
            (json!({"name": "lo\u{200b}ok"}), "not the name of a tool"),
            (json!({"name": "fs:read"}), "not the name of a tool"),
            (json!({"name": ""}), "not the name of a tool"),
            (json!({"name": "l".repeat(65)}), "not the name of a tool"),
            (json!({"description": "Looks.\u{202e}"}), "invisible character U+202E"),
            (json!({"description": "Looks.\u{e0041}"}), "invisible character U+E0041"),
            (json!({"title": "\u{1b}[2J"}), "invisible character U+001B"),
            (json!({"description": "Looks.\u{fe0f}\u{fe0f}"}), "invisible character U+FE0F"),
            (json!({"description": "Looks.\u{e0100}"}), "invisible character U+E0100"),
            (json!({"description": "Looks\u{3164}"}), "invisible character U+3164"),
            (json!({"description": "Looks\u{fff9}"}), "invisible character U+FFF9"),
            (json!({"description": "Looks\u{2800}"}), "invisible character U+2800"),
            (json!({"description": "a\u{200d}\u{200d}b"}), "invisible character U+200D"),
            (
                json!({"inputSchema": {"type": "object", "properties": {"a\u{200b}": {}}}}),
                "its inputSchema has the invisible character U+200B",
            ),
            (
                json!({"inputSchema": {"type": "object", "properties": {"a": {"enum": ["\u{e0041}"]}}}}),
                "its inputSchema has the invisible character U+E0041",
            ),
            (json!({"description": 7}), "is no text"),
            (json!({"description": "x".repeat(70_000)}), "more than 64 KiB"),
            (json!({"inputSchema": null}), "no `inputSchema`"),
            (json!({"inputSchema": {"type": "string"}}), "not of `type: object`"),
            (json!({"inputSchema": {"type": "object", "minLength": "x"}}), "not valid"),
            (
                json!({"inputSchema": {"type": "object", "allOf": [{"$ref": "https://evil.example/s"}]}}),
                "inputSchema",
            ),
            (
                json!({"outputSchema": {"type": "object", "allOf": [{"$ref": "#"}]}}),
                "refers to itself",
            ),
        ] {
            let found = declared(more.clone()).unwrap_err();
            assert!(found.contains(why), "{more}: {found}");
        }
        for shown in [
            "Family: \u{1f468}\u{200d}\u{1f469}\n",
            "\u{26a0}\u{fe0f} Warns.",
            "\u{2764}\u{fe0f}\u{200d}\u{1f525}",
        ] {
            assert!(declared(json!({"description": shown})).is_ok(), "{shown}");
        }
    }

    #[test]
    fn annotations_are_pinned_and_lower_no_level() {
        let plain = declared(json!({})).unwrap();
        let tame = declared(json!({"annotations": {"readOnlyHint": true}, "icons": []})).unwrap();
        assert_ne!(plain.digest(), tame.digest());
        assert_eq!(plain.spec("db"), tame.spec("db"));
        assert!(tame.spec("db").needs_approval() && tame.spec("db").writes);
        assert_eq!(tame.spec("db").description, "[MCP: db] Looks.");
    }
}
