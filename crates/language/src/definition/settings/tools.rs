//! `tools` and `security`: restrictions of tools, which only narrow what is allowed.

use crate::definition::check::pattern;
use crate::definition::keys::KeyType::{Integer, ListOrOne, Map, Text};
use crate::definition::keys::{KeySpec, KeyTable, key, keys, settings, table};
use crate::definition::syntax::{Decoder, Key, Node};
use crate::toolspec::ToolSpec;
use kb_base::value::ToolName;
use std::collections::BTreeMap;
use std::sync::Arc;

settings! {
    /// Tool policies.
    pub struct ToolSettings(Debug, Clone, PartialEq, Eq): TOOLS = ("toolSettings", "`tools`") {
        /// Restrictions by tool.
        [inner] security: ToolRules = "security" as Map(&TOOL_POLICIES) => tool_rules,
            example("{shell:exec: {enabled: false}}");
        /// HTTP requests.
        [inner] http: HttpSettings = "http", example("{allowPrivate: [\"localhost:8080\"]}");
    }

    /// HTTP requests of tools and steps.
    pub struct HttpSettings(Debug, Clone, PartialEq, Eq): HTTP = ("httpSettings", "`http`") {
        /// Private hosts (with port) that requests may reach.
        [common] allow_private: Vec<String> = "allowPrivate", example("[\"localhost:8080\"]");
    }

    /// Limits of tool calls and model calls.
    pub struct GlobalLimits(Debug, Clone, Copy, PartialEq, Eq): GLOBAL_LIMITS = ("globalLimits", "`globalLimits`") {
        /// Maximum tool calls of one attempt.
        [lower] tool_calls: Option<u32> = "maxToolCallsPerTask", example("20");
        /// Maximum model calls in any minute; further ones wait.
        [lower] calls_per_minute: Option<u32> = "maxApiCallsPerMinute" as Integer(1, u32::MAX), example("60");
    }

    /// Tool policies in the form of agent files.
    pub struct SecuritySettings(Debug, Clone, PartialEq, Eq): SECURITY = ("security", "`security`") {
        /// Limits of tool calls and model calls.
        [inner] global_limits: GlobalLimits = "globalLimits",
            example("{maxToolCallsPerTask: 20, maxApiCallsPerMinute: 60}");
        /// Restrictions by tool.
        [inner] tools: ToolRules = "tools" as Map(&TOOL_POLICIES) => tool_rules,
            example("{file_write: {requires_approval: true}}");
    }
}

keys! {
    /// Restrictions of one tool.
    pub struct ToolSecurity(Debug, Clone, PartialEq, Eq, Default): TOOL_POLICY = ("toolPolicy", "the security of a tool") {
        /// `false` denies every call.
        enabled: Option<bool> = "enabled", default("true");
        /// `true` makes every call wait for an approval.
        requires_approval: Option<bool> = "requiresApproval";
        /// Globs of the only paths that the tool may access.
        allowed_paths: Vec<Vec<String>> = "allowedPaths" as ListOrOne(&Text) => allowed_paths, example("[\"src/**\"]");
        /// Globs of paths that the tool may not access.
        denied_paths: Vec<String> = "deniedPaths" => globs, example("[\"**/.env\"]");
    }
}

static TOOL_POLICIES: KeyTable = table(
    "toolPolicies",
    "`security`",
    "Restrictions by tool: the name of a tool or group (`fs:write`, `fs:*`, `file_write`), and what is restricted.",
    &[TOOL_POLICIES_KEYS],
)
.others(Map(&TOOL_POLICY));

const TOOL_POLICIES_KEYS: &[KeySpec] =
    &[key("allowedTools", ListOrOne(&Text), "The only tools that may be called.")
        .example("[fs:read]")];

/// Restrictions of tools. They only narrow.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolRules {
    /// Restrictions by tool.
    pub tools: BTreeMap<ToolName, ToolSecurity>,
    /// `allowed_tools`: no other tool may be called.
    pub allowed: Option<Vec<ToolName>>,
}

impl ToolRules {
    /// The same with further restrictions: what either forbids is forbidden.
    #[must_use]
    pub fn narrowed_by(&self, other: &ToolRules) -> ToolRules {
        let mut narrowed = self.clone();
        for (tool, rules) in &other.tools {
            narrowed.tools.entry(tool.clone()).or_default().narrow(rules);
        }
        if let Some(allowed) = &other.allowed {
            narrowed.allow_only(allowed.clone());
        }
        narrowed
    }

    /// Restricts the callable tools to `allowed`, in addition to earlier restrictions.
    fn allow_only(&mut self, mut allowed: Vec<ToolName>) {
        if let Some(earlier) = &self.allowed {
            allowed.retain(|tool| earlier.contains(tool));
        }
        self.allowed = Some(allowed);
    }
}

impl ToolSecurity {
    /// Adds the restrictions of another entry: what either forbids is forbidden. A path must match every list of
    /// allowed ones.
    pub fn narrow(&mut self, other: &ToolSecurity) {
        let ToolSecurity { enabled, requires_approval, allowed_paths, denied_paths } = other;
        if *enabled == Some(false) {
            self.enabled = Some(false);
        }
        if *requires_approval == Some(true) {
            self.requires_approval = Some(true);
        }
        self.allowed_paths.extend(allowed_paths.iter().cloned());
        self.denied_paths.extend(denied_paths.iter().cloned());
    }
}

/// Decodes `tools.security`: `allowed_tools`, and one entry for each tool or group of tools.
pub(crate) fn tool_rules(node: &Node, _: &str, decoder: &mut Decoder) -> ToolRules {
    let mut rules = ToolRules::default();
    let Some(entries) = node.as_map() else {
        decoder.wrong_type(node, "security", "a map");
        return rules;
    };
    for (key, node) in entries {
        if matches!(key.text.as_str(), "allowed_tools" | "allowedTools") {
            rules.allow_only(allowed_tools(node, decoder));
        } else {
            tool_security(key, node, &mut rules, decoder);
        }
    }
    rules
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
fn tool_security(key: &Key, node: &Node, rules: &mut ToolRules, decoder: &mut Decoder) {
    let what = format!("the security of `{}`", key.text);
    let Some(fields) = decoder.fields_of(node, &what, &TOOL_POLICY) else { return };
    let Some(entry) = ToolSecurity::of(&fields, decoder) else { return };
    let found = decoder.tools.secured_by(&key.text);
    for name in names(&decoder.restricted_tools(&key.text, key.span, found)) {
        rules.tools.entry(name).or_default().narrow(&entry);
    }
}

fn names(tools: &[Arc<ToolSpec>]) -> impl Iterator<Item = ToolName> {
    tools.iter().filter_map(|tool| ToolName::new(&tool.name).ok())
}

fn allowed_paths(node: &Node, key: &str, decoder: &mut Decoder) -> Vec<Vec<String>> {
    vec![globs(node, key, decoder)]
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
