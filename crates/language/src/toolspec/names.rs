//! How the names in definitions and settings select tools.

use super::catalog::ToolCatalog;
use super::name_glob::glob_matches;
use super::not_yet::is_not_yet;
use super::plugin::ToolNamespace;
use super::spec::{Text, ToolSpec};
use std::sync::Arc;

/// The tools that a written name stands for.
#[derive(Debug, Clone)]
pub enum ToolMatch {
    /// Tools of the catalog; none for a glob over a namespace without such a tool.
    Tools(Vec<Arc<ToolSpec>>),
    /// A tool whose definition has errors.
    Refused(ToolNamespace),
    /// A tool of a namespace of which nothing is known.
    Unusable(ToolNamespace),
    /// A tool that this namespace does not have.
    Undefined(ToolNamespace),
    /// A tool that is planned, or one of another format.
    NotYet,
    /// No tool has this name.
    Unknown,
}

impl ToolCatalog {
    /// Resolves an entry of an allow-list: a name, an alias or a glob such as `fs:*`.
    pub fn allowed_by(&self, text: &str) -> ToolMatch {
        self.select(text, |tool| tool.is_permitted_by(text))
    }

    /// Resolves an entry of `allowed_tools` in the settings: as in an allow-list, and also a group such as
    /// `file_write`.
    pub fn allowed_by_settings(&self, text: &str) -> ToolMatch {
        self.select(text, |tool| tool.is_covered_by(text))
    }

    /// Resolves a key of `tools.security`: as in an allow-list, and also a group such as `file_write` or
    /// any other name whose restrictions apply to a tool.
    pub fn secured_by(&self, text: &str) -> ToolMatch {
        self.select(text, |tool| tool.is_covered_by(text) || has(&tool.restricted_by, text))
    }

    fn select(&self, text: &str, is_meant: impl Fn(&ToolSpec) -> bool) -> ToolMatch {
        let meant: Vec<_> = self.tools().filter(|tool| is_meant(tool)).cloned().collect();
        match self.namespace_of(text) {
            _ if !meant.is_empty() => ToolMatch::Tools(meant),
            Some(namespace) if namespace.problem.is_some() => {
                ToolMatch::Unusable(namespace.clone())
            }
            Some(_) if text.contains('*') => ToolMatch::Tools(meant),
            Some(namespace) if self.is_refused(text) => ToolMatch::Refused(namespace.clone()),
            Some(namespace) => ToolMatch::Undefined(namespace.clone()),
            None if is_not_yet(text) || self.is_restricted_alias(text) => ToolMatch::NotYet,
            None => ToolMatch::Unknown,
        }
    }

    /// Whether a name has a form such as `Bash(git add:*)`: an alias with a restriction, as in Claude
    /// Code. The restriction cannot be enforced yet, so such an entry allows nothing.
    fn is_restricted_alias(&self, text: &str) -> bool {
        let Some((name, _)) = text.split_once('(') else { return false };
        self.tools().any(|tool| has(&tool.aliases, name))
    }
}

impl ToolSpec {
    /// Whether an entry of an allow-list permits the tool: by the name, an alias or a glob.
    pub fn is_permitted_by(&self, entry: &str) -> bool {
        let names_origin = entry.starts_with(&*self.namespace);
        entry == self.name
            || has(&self.aliases, entry)
            || (names_origin && glob_matches(entry, &self.name))
    }

    /// Whether a name in `tools.security` covers the tool: by the name, an alias, a glob or a group.
    pub fn is_covered_by(&self, entry: &str) -> bool {
        self.is_permitted_by(entry) || has(&self.groups, entry)
    }
}

fn has(names: &[Text], name: &str) -> bool {
    names.iter().any(|own| own == name)
}

#[cfg(test)]
mod tests {
    use super::super::{ToolCatalog, ToolLevel};
    use super::{ToolMatch, ToolSpec};
    use kb_base::value::Json;
    use std::sync::Arc;

    fn names(found: ToolMatch) -> String {
        match found {
            ToolMatch::Tools(tools) => {
                tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>().join(" ")
            }
            ToolMatch::Refused(_) => "refused".to_owned(),
            ToolMatch::Unusable(_) => "unusable".to_owned(),
            ToolMatch::Undefined(_) => "undefined".to_owned(),
            ToolMatch::NotYet => "not yet".to_owned(),
            ToolMatch::Unknown => "unknown".to_owned(),
        }
    }

    #[test]
    fn names_aliases_groups_and_globs_select_tools() {
        let report = ToolSpec::plugin("plugin:report", "", ToolLevel::Safe, Json::Null, Json::Null);
        let tools = ToolCatalog::default().with([Arc::new(report)]).with_refused("plugin:bad");
        for (entry, allowed, secured) in [
            ("fs:read", "fs:read", "fs:read"),
            ("fs:readall", "unknown", "unknown"),
            ("fs:w*", "fs:write", "fs:write"),
            ("web_fetch", "http:fetch", "http:request http:fetch"),
            ("http:*", "http:request http:fetch", "http:request http:fetch"),
            ("*:re*", "fs:read http:request output:read", "fs:read http:request output:read"),
            ("Read", "fs:read fs:exists", "fs:read fs:exists"),
            ("file_read", "fs:read", "fs:read fs:list fs:search fs:exists"),
            ("file_write", "fs:write", "fs:write fs:edit fs:delete"),
            ("file_edit", "fs:edit", "fs:edit"),
            ("shell", "shell:exec", "shell:exec"),
            ("code_execute", "not yet", "shell:exec"),
            ("api_call", "http:request", "http:request"),
            ("http:get", "not yet", "http:request http:fetch"),
            ("http:reqest", "unknown", "unknown"),
            ("memory_read", "memory:search", "memory:search"),
            ("memory_load", "not yet", "not yet"),
            ("mcp__github__search", "not yet", "not yet"),
            ("Bash(git add:*)", "not yet", "not yet"),
            ("Foo(git add:*)", "unknown", "unknown"),
            ("mcp:db:query", "unusable", "unusable"),
            ("mcp:db:*", "unusable", "unusable"),
            ("mcp:*", "unusable", "unusable"),
            ("plugin:report", "plugin:report", "plugin:report"),
            ("report", "unknown", "unknown"),
            ("plugin:deploy", "undefined", "undefined"),
            ("plugin:bad", "refused", "refused"),
            ("plugin:*", "plugin:report", "plugin:report"),
            ("plugin:x*", "", ""),
            ("[", "unknown", "unknown"),
        ] {
            assert_eq!(names(tools.allowed_by(entry)), allowed, "{entry}");
            assert_eq!(names(tools.secured_by(entry)), secured, "{entry}");
        }
    }
}
