//! `tools` in the settings, and the restrictions of tools in the formats of other documents.

use super::{Decoder, Key, Node};
use crate::definition::check::pattern;
use crate::definition::keys::settings as keys;
use crate::definition::model::{GlobalLimits, Settings, Specialist, ToolRules, ToolSecurity};
use crate::toolspec::ToolSpec;
use kb_base::value::ToolName;
use std::sync::Arc;

/// Decodes `tools` in the settings.
pub(crate) fn tools(node: &Node, settings: &mut Settings, decoder: &mut Decoder) {
    let Some(fields) = decoder.fields(node, &keys::TOOLS) else { return };
    if let Some(node) = fields.get("security") {
        security(node, settings, decoder);
    }
    if let Some(node) = fields.get("http") {
        let inner = decoder.fields(node, &keys::HTTP);
        if let Some(node) = inner.and_then(|inner| inner.get("allowPrivate")) {
            settings.allowed_hosts = decoder.texts(node, "allowPrivate");
        }
    }
}

/// Decodes `tools.security`: `allowed_tools`, and one entry per tool or group of tools.
fn security(node: &Node, settings: &mut Settings, decoder: &mut Decoder) {
    let Some(entries) = node.as_map() else {
        decoder.wrong_type(node, "security", "a map");
        return;
    };
    for (key, node) in entries {
        if matches!(key.text.as_str(), "allowed_tools" | "allowedTools") {
            settings.allow_only(allowed_tools(node, decoder));
        } else {
            tool_security(key, node, settings, decoder);
        }
    }
}

/// Decodes `security` in the form of agent files.
pub(crate) fn agent_security(node: &Node, settings: &mut Settings, decoder: &mut Decoder) {
    let Some(fields) = decoder.fields(node, &keys::SECURITY) else {
        return;
    };
    if let Some(node) = fields.get("globalLimits") {
        settings.global = settings.global.lower(global_limits(node, decoder));
    }
    if let Some(node) = fields.get("tools") {
        security(node, settings, decoder);
    }
}

/// Decodes `globalLimits`.
pub(crate) fn global_limits(node: &Node, decoder: &mut Decoder) -> GlobalLimits {
    let Some(fields) = decoder.fields(node, &keys::GLOBAL_LIMITS) else {
        return GlobalLimits::default();
    };
    GlobalLimits {
        tool_calls: fields.integer("maxToolCallsPerTask", decoder),
        calls_per_minute: fields.integer("maxApiCallsPerMinute", decoder),
    }
}

/// Decodes `security` of a specialist: `{tools: {…}}`, in the form of agent files.
pub(crate) fn specialist_security(node: &Node, found: &mut Specialist, decoder: &mut Decoder) {
    let mut own = Settings::default();
    agent_security(node, &mut own, decoder);
    add_rules(own, found);
}

/// Decodes `tools.security` of the `agent:` form.
pub(crate) fn agent_tool_security(node: &Node, found: &mut Specialist, decoder: &mut Decoder) {
    let mut own = Settings::default();
    security(node, &mut own, decoder);
    add_rules(own, found);
}

fn add_rules(own: Settings, found: &mut Specialist) {
    let earlier = found.security.take().unwrap_or_default();
    let both = earlier.narrow(&own);
    found.global = found.global.lower(own.global);
    found.not_yet.extend(own.not_yet);
    let rules = ToolRules { tools: both.tool_security, allowed: both.allowed_tools };
    found.security = (rules != ToolRules::default()).then(|| Box::new(rules));
}

fn allowed_tools(node: &Node, decoder: &mut Decoder) -> Vec<ToolName> {
    let mut allowed = Vec::new();
    for item in decoder.list(node, "allowed_tools") {
        let Some(text) = decoder.text(item, "allowed_tools") else { continue };
        let found = decoder.tools.allowed_by_settings(text);
        allowed.extend(names(&decoder.restricted_tools(text, item.span, found)));
    }
    allowed
}

/// Decodes one entry. Entries that cover the same tool under different names narrow together.
fn tool_security(key: &Key, node: &Node, settings: &mut Settings, decoder: &mut Decoder) {
    let what = format!("the security of `{}`", key.text);
    let Some(fields) = decoder.fields_of(node, &what, &keys::TOOL_POLICY) else { return };
    let entry = ToolSecurity {
        enabled: fields.get("enabled").and_then(|node| decoder.boolean(node, "enabled")),
        requires_approval: fields
            .get("requiresApproval")
            .and_then(|node| decoder.boolean(node, "requiresApproval")),
        allowed_paths: fields
            .get("allowedPaths")
            .map(|node| globs(node, "allowedPaths", decoder))
            .into_iter()
            .collect(),
        denied_paths: fields
            .get("deniedPaths")
            .map(|n| globs(n, "deniedPaths", decoder))
            .unwrap_or_default(),
    };
    let found = decoder.tools.secured_by(&key.text);
    for name in names(&decoder.restricted_tools(&key.text, key.span, found)) {
        settings.tool_security.entry(name).or_default().narrow(&entry);
    }
}

fn names(tools: &[Arc<ToolSpec>]) -> impl Iterator<Item = ToolName> {
    tools.iter().filter_map(|tool| ToolName::new(&tool.name).ok())
}

/// The globs of a path rule. `/workspace` is the project in the documents, so it stands for everything in the project,
/// and a glob below it for two: the same paths of the project, and the absolute ones.
fn globs(node: &Node, key: &str, decoder: &mut Decoder) -> Vec<String> {
    let items = decoder.list(node, key);
    for item in items {
        if let Some(text) = item.as_text() {
            pattern::glob(text, item.span, decoder);
        }
    }
    let both = |text: String| {
        let below = match text.strip_prefix("/workspace") {
            Some("" | "/") => Some("**".to_owned()),
            Some(rest) => rest.strip_prefix('/').map(|below| format!("./{below}")),
            None => None,
        };
        [Some(text), below].into_iter().flatten()
    };
    decoder.texts(node, key).into_iter().flat_map(both).collect()
}
