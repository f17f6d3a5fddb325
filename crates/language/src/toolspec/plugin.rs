//! Tools that a project defines: `plugin:ID`.

use super::spec::{EvidenceTier, ToolLevel, ToolSpec};
use super::table::find;
use kb_base::value::Json;
use std::sync::LazyLock;

/// The start of the names of plugins.
pub const PLUGIN_PREFIX: &str = "plugin:";

/// What is assumed of a tool that is known by its name alone: the largest effects.
static ANY: LazyLock<ToolSpec> = LazyLock::new(|| ToolSpec {
    reads_files: true,
    leaves_sandbox: true,
    tier: EvidenceTier::Remote,
    done: "Called tool",
    ..ToolSpec::plugin("", "An unknown tool.", ToolLevel::Critical, Json::Null, Json::Null)
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
            tier: EvidenceTier::Receipt,
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
    use super::{EvidenceTier, ToolLevel, assumed};
    use serde_json::json;

    #[test]
    fn an_unknown_tool_has_the_largest_effects() {
        for name in ["plugin:deploy", "mcp:github:search", "fs:raed", ""] {
            let spec = assumed(name);
            let reaches = spec.reads_files && spec.network && spec.leaves_sandbox;
            assert!(spec.writes && spec.runs_processes && reaches, "{name}");
            assert!(!spec.only_reads && !spec.always_allowed, "{name}");
            assert!(spec.sends(&json!({})) && spec.sends(&json!({"method": "GET"})), "{name}");
            assert_eq!(
                (spec.level, spec.tier),
                (ToolLevel::Critical, EvidenceTier::Remote),
                "{name}"
            );
        }
        assert!(!assumed("fs:read").writes);
    }
}
