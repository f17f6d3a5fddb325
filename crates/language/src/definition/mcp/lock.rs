//! [`McpLock`]: the lock file of servers, `.kb/mcp.lock`.

use super::declaration::{ToolDeclaration, is_server_name};
use crate::definition::model::{PinnedTools, ServerEndpoint};
use kb_base::value::{Digest, Json, JsonMap};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The lock file, relative to the project root.
pub const LOCK_PATH: &str = ".kb/mcp.lock";
const SCHEMA: &str = "kb.mcp-lock/1";

/// What is pinned of each server.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct McpLock {
    /// The pins by the name of the server.
    pub servers: BTreeMap<String, McpPin>,
}

/// What is pinned of a server: who it is and what it declared.
#[derive(Debug, Clone, PartialEq)]
pub struct McpPin {
    /// How it is reached.
    pub endpoint: ServerEndpoint,
    /// The tools, by name.
    pub tools: Vec<ToolDeclaration>,
}

/// A difference between the tools that are pinned and those that a server declares.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolChange {
    /// The server declares a tool that is not pinned.
    Added(ToolDeclaration),
    /// The server does not declare a pinned tool.
    Removed(ToolDeclaration),
    /// The server declares a pinned tool differently: first as pinned, then as declared.
    Changed(ToolDeclaration, ToolDeclaration),
}

impl McpPin {
    /// A pin of these tools.
    pub fn new(endpoint: ServerEndpoint, mut tools: Vec<ToolDeclaration>) -> McpPin {
        tools.sort_by(|a, b| a.name().cmp(b.name()));
        McpPin { endpoint, tools }
    }

    /// The differences of what a server declares now, by name of the tool.
    pub fn changes(&self, declared: &[ToolDeclaration]) -> Vec<ToolChange> {
        let by_name = |tools: &[ToolDeclaration]| -> BTreeMap<String, ToolDeclaration> {
            tools.iter().map(|tool| (tool.name().to_owned(), tool.clone())).collect()
        };
        let (pinned, declared) = (by_name(&self.tools), by_name(declared));
        let names: BTreeSet<&String> = pinned.keys().chain(declared.keys()).collect();
        let change = |name: &String| match (pinned.get(name), declared.get(name)) {
            (Some(old), Some(new)) if old.digest() == new.digest() => None,
            (Some(old), Some(new)) => Some(ToolChange::Changed(old.clone(), new.clone())),
            (Some(old), None) => Some(ToolChange::Removed(old.clone())),
            (None, new) => Some(ToolChange::Added(new?.clone())),
        };
        names.into_iter().filter_map(change).collect()
    }

    /// The digest of the pin.
    pub fn digest(&self) -> Digest {
        Digest::of_json(&self.json())
    }

    fn json(&self) -> Json {
        let tool = |tool: &ToolDeclaration| {
            let mut json = tool.json().clone();
            json.insert("sha256".to_owned(), json!(tool.digest().to_string()));
            Json::Object(json)
        };
        let tools: Vec<Json> = self.tools.iter().map(tool).collect();
        match &self.endpoint {
            ServerEndpoint::Command(argv) => json!({"command": argv, "tools": tools}),
            ServerEndpoint::Url(url) => json!({"url": url, "tools": tools}),
        }
    }
}

impl ToolChange {
    /// The name of the tool.
    pub fn tool(&self) -> &str {
        match self {
            ToolChange::Added(tool) | ToolChange::Removed(tool) | ToolChange::Changed(_, tool) => {
                tool.name()
            }
        }
    }

    /// The parts of a changed declaration that differ, with both values.
    pub fn parts(&self) -> Vec<(&str, Option<&Json>, Option<&Json>)> {
        let ToolChange::Changed(old, new) = self else { return Vec::new() };
        let keys: BTreeSet<&String> = old.json().keys().chain(new.json().keys()).collect();
        let both =
            keys.into_iter().map(|key| (key.as_str(), old.json().get(key), new.json().get(key)));
        both.filter(|(_, old, new)| old != new).collect()
    }
}

impl std::fmt::Display for ToolChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ToolChange::Added(tool) => write!(f, "`{}` is new", tool.name()),
            ToolChange::Removed(tool) => write!(f, "`{}` is missing", tool.name()),
            ToolChange::Changed(_, tool) => {
                let parts: Vec<&str> = self.parts().into_iter().map(|(part, ..)| part).collect();
                write!(f, "`{}` has another {}", tool.name(), parts.join(", "))
            }
        }
    }
}

impl McpLock {
    /// Reads a lock file. The error says what is wrong with it.
    pub fn parse(text: &str) -> Result<McpLock, String> {
        let json: Json =
            serde_json::from_str(text).map_err(|error| format!("it is no JSON: {error}"))?;
        if json.get("schema").and_then(Json::as_str) != Some(SCHEMA) {
            return Err(format!("its `schema` is not `{SCHEMA}`"));
        }
        let servers = json.get("servers").and_then(Json::as_object);
        let servers = servers.ok_or_else(|| "it has no `servers`".to_owned())?;
        let pins = servers.iter().map(|(name, pin)| Ok((name.clone(), read_pin(name, pin)?)));
        Ok(McpLock { servers: pins.collect::<Result<_, String>>()? })
    }

    /// The entries of all pinned tools, by the name of their server.
    pub(in crate::definition) fn tools(&self) -> BTreeMap<String, PinnedTools> {
        let pinned = |(name, pin): (&String, &McpPin)| {
            let tools = pin.tools.iter().map(|tool| Arc::new(tool.spec(name))).collect();
            (name.clone(), PinnedTools { endpoint: pin.endpoint.clone(), tools })
        };
        self.servers.iter().map(pinned).collect()
    }

    /// The text of the file.
    pub fn text(&self) -> String {
        let pins = self.servers.iter().map(|(name, pin)| (name.clone(), pin.json()));
        let json = json!({"schema": SCHEMA, "servers": pins.collect::<JsonMap>()});
        format!("{json:#}\n")
    }
}

fn read_pin(name: &str, pin: &Json) -> Result<McpPin, String> {
    if !is_server_name(name) {
        return Err(format!("`{}` is not the name of a server", name.escape_debug()));
    }
    let wrong = || format!("`{name}` has no `command`, no `url` or no `tools`");
    let command = pin.get("command").and_then(|argv| {
        argv.as_array()?.iter().map(|word| word.as_str().map(str::to_owned)).collect()
    });
    let url = pin.get("url").and_then(Json::as_str).map(str::to_owned);
    let endpoint = match (command, url) {
        (Some(argv), None) => ServerEndpoint::Command(argv),
        (None, Some(url)) => ServerEndpoint::Url(url),
        (Some(_), Some(_)) | (None, None) => return Err(wrong()),
    };
    let tools = pin.get("tools").and_then(Json::as_array).ok_or_else(wrong)?;
    let tools = tools.iter().map(|tool| {
        let declared =
            ToolDeclaration::of(tool).map_err(|why| format!("a tool of `{name}`: {why}"))?;
        let digest = tool.get("sha256").and_then(Json::as_str).unwrap_or_default();
        if declared.digest().to_string() == digest {
            Ok(declared)
        } else {
            Err(format!(
                "`{name}` was edited: the declaration of `{}` has another digest",
                declared.name()
            ))
        }
    });
    let tools = tools.collect::<Result<Vec<_>, String>>()?;
    let mut names: Vec<&str> = tools.iter().map(ToolDeclaration::name).collect();
    names.sort_unstable();
    if names.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(format!("`{name}` has two tools of the same name"));
    }
    Ok(McpPin::new(endpoint, tools))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, about: &str) -> ToolDeclaration {
        let schema = json!({"type": "object"});
        let json = json!({"name": name, "description": about, "inputSchema": schema});
        ToolDeclaration::of(&json).unwrap()
    }

    #[test]
    fn a_lock_is_read_as_it_was_written() {
        let command = ServerEndpoint::Command(vec!["db".to_owned()]);
        let pin = McpPin::new(command, vec![tool("b", "B."), tool("a", "A.")]);
        let remote = ServerEndpoint::Url("https://mcp.example.com/mcp".to_owned());
        let remote = McpPin::new(remote, vec![tool("a", "A!")]);
        let servers = [("db".to_owned(), pin), ("remote".to_owned(), remote)].into();
        let lock = McpLock { servers };
        assert_eq!(McpLock::parse(&lock.text()).unwrap(), lock);
        let edited = lock.text().replace("B.", "B, and mail it.");
        assert!(McpLock::parse(&edited).unwrap_err().contains("was edited"));
        for (text, why) in
            [("", "no JSON"), ("{}", "schema"), (r#"{"schema": "kb.mcp-lock/1"}"#, "servers")]
        {
            assert!(McpLock::parse(text).unwrap_err().contains(why), "{text}");
        }
    }

    #[test]
    fn each_difference_is_named() {
        let command = ServerEndpoint::Command(Vec::new());
        let pin = McpPin::new(command, vec![tool("a", "A."), tool("b", "B."), tool("c", "C.")]);
        let now = [tool("a", "A."), tool("b", "B!"), tool("d", "D.")];
        let found: Vec<String> = pin.changes(&now).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["`b` has another description", "`c` is missing", "`d` is new"]);
        assert!(pin.changes(&pin.tools).is_empty());
    }
}
