//! [`ToolCatalog`]: the tools that a project or a run has.

use super::plugin::{PLUGINS, SERVERS, ToolNamespace};
use super::spec::{EvidenceTier, ToolLevel, ToolSpec};
use super::table::TABLE;
use kb_base::value::Json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

/// The tools that a project or a run has: the built-in ones, its plugins, and those that a server declared. An
/// immutable value that is cheap to clone. Every question about a tool is answered by its entry, whatever its origin.
#[derive(Clone, PartialEq)]
pub struct ToolCatalog(Arc<Tools>);

#[derive(Debug, Clone, PartialEq)]
struct Tools {
    /// In the order of the reference page, then as they were added.
    all: Vec<Arc<ToolSpec>>,
    by_name: BTreeMap<String, usize>,
    namespaces: Vec<ToolNamespace>,
    /// Names whose definition has errors.
    refused: BTreeSet<String>,
}

static BUILT_IN: LazyLock<ToolCatalog> = LazyLock::new(|| {
    let none = Tools {
        all: Vec::new(),
        by_name: BTreeMap::new(),
        namespaces: vec![PLUGINS, SERVERS],
        refused: BTreeSet::new(),
    };
    ToolCatalog(Arc::new(none)).with(TABLE.iter().cloned())
});

/// The built-in tools alone.
pub fn built_in() -> &'static ToolCatalog {
    &BUILT_IN
}

impl Default for ToolCatalog {
    fn default() -> ToolCatalog {
        BUILT_IN.clone()
    }
}

impl std::fmt::Debug for ToolCatalog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

impl ToolCatalog {
    /// These tools and further ones. A tool whose name is taken is left out: nothing takes the place of an entry.
    #[must_use]
    pub fn with(&self, more: impl IntoIterator<Item = Arc<ToolSpec>>) -> ToolCatalog {
        let mut tools = (*self.0).clone();
        for tool in more {
            let prefix = &tool.namespace;
            if !prefix.is_empty() && !tools.namespaces.iter().any(|own| own.prefix == *prefix) {
                let server = ToolNamespace::server_of(prefix).unwrap_or_default();
                tools.namespaces.push(ToolNamespace::of_server(server, None));
            }
            if !tools.by_name.contains_key(&*tool.name) {
                tools.by_name.insert(tool.name.to_string(), tools.all.len());
                tools.all.push(tool);
            }
        }
        ToolCatalog(Arc::new(tools))
    }

    /// These tools, and what is known of the tools of a server.
    #[must_use]
    pub fn with_namespace(&self, namespace: ToolNamespace) -> ToolCatalog {
        let mut tools = (*self.0).clone();
        tools.namespaces.retain(|own| own.prefix != namespace.prefix);
        tools.namespaces.push(namespace);
        ToolCatalog(Arc::new(tools))
    }

    /// These tools, and that the definition of the one with this name has errors.
    #[must_use]
    pub fn with_refused(&self, name: impl Into<String>) -> ToolCatalog {
        let mut tools = (*self.0).clone();
        tools.refused.insert(name.into());
        ToolCatalog(Arc::new(tools))
    }

    /// In the order of the reference page, then as they were added.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<ToolSpec>> {
        self.0.all.iter()
    }

    /// The names of all tools.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools().map(|tool| &*tool.name)
    }

    /// The tool with this name; aliases do not count.
    pub fn find(&self, name: &str) -> Option<&Arc<ToolSpec>> {
        self.0.by_name.get(name).map(|at| &self.0.all[*at])
    }

    /// What holds for the tool with this name. Of an unknown tool everything is assumed: it reads, writes and sends, it
    /// starts processes, it is critical, and nothing proves what it did.
    pub fn entry(&self, name: &str) -> Arc<ToolSpec> {
        let unknown = || ToolSpec {
            reads_files: true,
            leaves_sandbox: true,
            tier: EvidenceTier::Remote,
            records_output: false,
            namespace: "".into(),
            claimed_as: Vec::new(),
            done: "Called tool".into(),
            ..ToolSpec::plugin(
                name,
                "An unknown tool.",
                ToolLevel::Critical,
                Json::Null,
                Json::Null,
            )
        };
        self.find(name).cloned().unwrap_or_else(|| Arc::new(unknown()))
    }

    /// The narrowest namespace that a name belongs to.
    pub(super) fn namespace_of(&self, name: &str) -> Option<&ToolNamespace> {
        let own = self.0.namespaces.iter().filter(|own| name.starts_with(&*own.prefix));
        own.max_by_key(|own| own.prefix.len())
    }

    pub(super) fn is_refused(&self, name: &str) -> bool {
        self.0.refused.contains(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_unknown_tool_has_the_largest_effects() {
        for name in ["plugin:deploy", "mcp:github:search", "fs:raed", ""] {
            let spec = built_in().entry(name);
            let reaches = spec.reads_files && spec.network && spec.leaves_sandbox;
            assert!(spec.writes && spec.runs_processes && reaches, "{name}");
            assert!(!spec.only_reads && !spec.always_allowed, "{name}");
            assert!(spec.sends(&json!({})) && spec.sends(&json!({"method": "GET"})), "{name}");
            assert_eq!(
                (spec.level, spec.tier),
                (ToolLevel::Critical, EvidenceTier::Remote),
                "{name}"
            );
            assert_eq!(spec.name, name);
        }
        assert!(!built_in().entry("fs:read").writes);
    }

    #[test]
    fn no_tool_takes_the_place_of_another() {
        let shadow = ToolSpec { writes: false, ..(*built_in().entry("fs:write")).clone() };
        let tools = built_in().with([Arc::new(shadow)]);
        assert!(tools.entry("fs:write").writes);
        assert_eq!(tools, *built_in());
    }
}
