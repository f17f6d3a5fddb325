use super::{Decoder, Key, Node};
use crate::definition::check::pattern;
use crate::definition::model::{Settings, ToolSecurity};
use crate::definition::tool_table::{ToolPattern, resolve_tool};
use crate::value::ToolName;

/// `tools:` of the settings.
pub(crate) fn tools(node: &Node, settings: &mut Settings, decoder: &mut Decoder) {
    let Some(fields) = decoder.fields(node, "`tools`", &["security", "http"]) else { return };
    if let Some(node) = fields.get("security") {
        security(node, settings, decoder);
    }
    if let Some(node) = fields.get("http") {
        let inner = decoder.fields(node, "`http`", &["allowPrivate"]);
        if let Some(node) = inner.and_then(|inner| inner.get("allowPrivate")) {
            settings.allowed_hosts = decoder.texts(node, "allowPrivate");
        }
    }
}

/// `tools.security` of 003 §4.5: `allowed_tools`, and a map for each tool.
fn security(node: &Node, settings: &mut Settings, decoder: &mut Decoder) {
    let Some(entries) = node.as_map() else {
        decoder.wrong_type(node, "security", "a map");
        return;
    };
    for (key, node) in entries {
        if matches!(key.text.as_str(), "allowed_tools" | "allowedTools") {
            settings.allowed_tools = Some(allowed_tools(node, decoder));
        } else {
            tool_security(key, node, settings, decoder);
        }
    }
}

/// `security` of 003 §12.3.
pub(crate) fn security_of_003(node: &Node, settings: &mut Settings, decoder: &mut Decoder) {
    let Some(fields) = decoder.fields(node, "`security`", &["globalLimits", "tools"]) else {
        return;
    };
    if let Some((key, _)) = fields.entry("globalLimits") {
        decoder.comes_later("global_limits", key.span);
    }
    if let Some(node) = fields.get("tools") {
        security(node, settings, decoder);
    }
}

fn allowed_tools(node: &Node, decoder: &mut Decoder) -> Vec<ToolName> {
    let mut allowed = Vec::new();
    for item in decoder.list(node, "allowed_tools") {
        let Some(text) = decoder.text(item, "allowed_tools") else { continue };
        match resolve_tool(text) {
            ToolPattern::Known(tools) => {
                allowed.extend(tools.iter().filter_map(|tool| ToolName::new(tool.name).ok()));
            }
            ToolPattern::Later => decoder.comes_later(text, item.span),
            ToolPattern::Unknown => decoder.unknown_tool(text, item.span, None),
        }
    }
    allowed
}

fn tool_security(key: &Key, node: &Node, settings: &mut Settings, decoder: &mut Decoder) {
    const KEYS: [&str; 4] = ["enabled", "requiresApproval", "allowedPaths", "deniedPaths"];
    let what = format!("the security of `{}`", key.text);
    let Some(fields) = decoder.fields(node, &what, &KEYS) else { return };
    let found = ToolSecurity {
        enabled: fields.get("enabled").and_then(|node| decoder.boolean(node, "enabled")),
        requires_approval: fields
            .get("requiresApproval")
            .and_then(|node| decoder.boolean(node, "requiresApproval")),
        allowed_paths: fields.get("allowedPaths").map(|node| globs(node, "allowedPaths", decoder)),
        denied_paths: fields
            .get("deniedPaths")
            .map(|n| globs(n, "deniedPaths", decoder))
            .unwrap_or_default(),
    };
    match resolve_tool(&key.text) {
        ToolPattern::Known(tools) => {
            for name in tools.iter().filter_map(|tool| ToolName::new(tool.name).ok()) {
                settings.tool_security.insert(name, found.clone());
            }
        }
        ToolPattern::Later => decoder.comes_later(&key.text, key.span),
        ToolPattern::Unknown => decoder.unknown_tool(&key.text, key.span, None),
    }
}

fn globs(node: &Node, key: &str, decoder: &mut Decoder) -> Vec<String> {
    let items = decoder.list(node, key);
    for item in items {
        if let Some(text) = item.as_text() {
            pattern::glob(text, item.span, decoder);
        }
    }
    decoder.texts(node, key)
}
