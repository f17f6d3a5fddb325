//! Tools that a project defines: `plugin:ID`.

use super::spec::{ToolLevel, ToolSpec};
use super::table::find;
use kb_base::value::Json;
use std::sync::LazyLock;

/// The start of the names of plugins.
pub const PLUGIN_PREFIX: &str = "plugin:";

/// What is assumed of a tool that is known by its name alone: the largest effects.
static ANY: LazyLock<ToolSpec> = LazyLock::new(|| {
    ToolSpec::plugin("", "A tool of others.", ToolLevel::Critical, Json::Null, Json::Null)
});

impl ToolSpec {
    /// A tool that a project defines. What its program does is not known, so it counts as one that
    /// writes files and sends requests.
    pub fn plugin(
        name: &str,
        description: &str,
        level: ToolLevel,
        input: Json,
        output: Json,
    ) -> ToolSpec {
        ToolSpec {
            name: name.to_owned().into(),
            description: description.to_owned().into(),
            level,
            input,
            output,
            writes: true,
            network: true,
            runs_processes: true,
            done: "Called plugin",
            ..ToolSpec::base()
        }
    }
}

/// The id of the plugin that a name stands for; `None` for other tools.
pub fn plugin_id(name: &str) -> Option<&str> {
    name.strip_prefix(PLUGIN_PREFIX)
}

/// What holds for a tool by its name alone: the entry of a built-in tool, or for any other name the largest effects.
/// So an unknown tool writes files, sends requests, starts processes and is critical.
pub fn assumed(name: &str) -> &'static ToolSpec {
    find(name).unwrap_or(&ANY)
}

#[cfg(test)]
mod tests {
    use super::{ToolLevel, assumed};

    #[test]
    fn an_unknown_tool_has_the_largest_effects() {
        for name in ["plugin:deploy", "mcp:github:search", "fs:raed", ""] {
            let spec = assumed(name);
            assert!(
                spec.writes && spec.network && spec.runs_processes && !spec.only_reads,
                "{name}"
            );
            assert_eq!(spec.level, ToolLevel::Critical, "{name}");
        }
        assert!(!assumed("fs:read").writes);
    }
}
