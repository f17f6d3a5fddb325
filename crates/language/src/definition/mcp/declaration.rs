//! [`ToolDeclaration`]: what a server says about one of its tools, checked before anything uses it.

use crate::definition::Schema;
use crate::toolspec::ToolSpec;
use kb_base::value::{Digest, Json, JsonMap, json_text, kind_of};

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
        for key in ["title", "description"] {
            match json.get(key) {
                None => {}
                Some(Json::String(text)) => {
                    if let Some(bad) = text.chars().find(|c| is_invisible(*c)) {
                        return Err(format!(
                            "its {key} has the invisible character U+{:04X}",
                            u32::from(bad)
                        ));
                    }
                }
                Some(other) => return Err(format!("its {key} is {}", kind_of(other))),
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

/// Whether people do not see a character that models read: controls of terminals and of the direction of text, spaces
/// without a width, tags. Joiners are part of scripts and emoji.
fn is_invisible(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\r' | '\t'))
        || matches!(c, '\u{ad}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{feff}')
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{e0000}'..='\u{e007f}')
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
            (json!({"description": 7}), "is a number"),
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
        assert!(declared(json!({"description": "Family: \u{1f468}\u{200d}\u{1f469}\n"})).is_ok());
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
