//! How the names in definitions and settings select tools.

use super::name_glob::glob_matches;
use super::not_yet::is_not_yet;
use super::plugin::plugin_id;
use super::spec::ToolSpec;
use super::table::{find, tools};

/// The tools that a written name stands for.
#[derive(Debug, Clone)]
pub enum ToolMatch {
    /// One or more built-in tools.
    Tools(Vec<&'static ToolSpec>),
    /// Plugins: a name, or a glob such as `plugin:*`.
    Plugins,
    /// A tool that is planned, or one of another format.
    NotYet,
    /// No tool has this name.
    Unknown,
}

/// Resolves an entry of an allow-list: a name, an alias or a glob such as `fs:*`.
pub fn allowed_by(text: &str) -> ToolMatch {
    select(text, |tool| permits(text, &tool.name))
}

/// Resolves an entry of `allowed_tools` in the settings: as in an allow-list, and also a group such as
/// `file_write`.
pub fn allowed_by_settings(text: &str) -> ToolMatch {
    select(text, |tool| covers(text, &tool.name))
}

/// Resolves a key of `tools.security`: as in an allow-list, and also a group such as `file_write` or
/// any other name whose restrictions apply to a tool.
pub fn secured_by(text: &str) -> ToolMatch {
    select(text, |tool| covers(text, &tool.name) || tool.restricted_by.contains(&text))
}

/// Whether an entry of an allow-list permits a tool.
pub fn permits(entry: &str, name: &str) -> bool {
    let is_alias = |tool: &ToolSpec| tool.aliases.contains(&entry);
    entry == name || find(name).is_some_and(is_alias) || glob_matches(entry, name)
}

/// Whether a name in `tools.security` covers a tool: by the name, an alias, a glob or a group.
pub fn covers(entry: &str, name: &str) -> bool {
    permits(entry, name) || find(name).is_some_and(|tool| tool.groups.contains(&entry))
}

fn select(text: &str, is_meant: impl Fn(&ToolSpec) -> bool) -> ToolMatch {
    let meant: Vec<_> = tools().iter().filter(|tool| is_meant(tool)).collect();
    match meant.is_empty() {
        false => ToolMatch::Tools(meant),
        true if plugin_id(text).is_some() => ToolMatch::Plugins,
        true if is_not_yet(text) || is_restricted_alias(text) => ToolMatch::NotYet,
        true => ToolMatch::Unknown,
    }
}

/// Whether a name has a form such as `Bash(git add:*)`: an alias with a restriction, as in Claude
/// Code. The restriction cannot be enforced yet, so such an entry allows nothing.
fn is_restricted_alias(text: &str) -> bool {
    let Some((name, _)) = text.split_once('(') else { return false };
    tools().iter().any(|tool| tool.aliases.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::{ToolMatch, allowed_by, secured_by};

    fn names(found: ToolMatch) -> String {
        match found {
            ToolMatch::Tools(tools) => {
                tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>().join(" ")
            }
            ToolMatch::Plugins => "plugins".to_owned(),
            ToolMatch::NotYet => "not yet".to_owned(),
            ToolMatch::Unknown => "unknown".to_owned(),
        }
    }

    #[test]
    fn names_aliases_groups_and_globs_select_tools() {
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
            ("memory_read", "not yet", "not yet"),
            ("mcp__github__search", "not yet", "not yet"),
            ("Bash(git add:*)", "not yet", "not yet"),
            ("Foo(git add:*)", "unknown", "unknown"),
            ("plugin:deploy", "plugins", "plugins"),
            ("plugin:*", "plugins", "plugins"),
            ("[", "unknown", "unknown"),
        ] {
            assert_eq!(names(allowed_by(entry)), allowed, "{entry}");
            assert_eq!(names(secured_by(entry)), secured, "{entry}");
        }
    }
}
