//! Tools that a project defines: `plugin:ID`.

use super::spec::{ToolLevel, ToolSpec};
use super::table::find;
use kb_base::value::Json;
use std::sync::LazyLock;

/// The start of the names of plugins.
pub const PLUGIN_PREFIX: &str = "plugin:";

/// What is assumed of a plugin whose definition is not known: the largest effects.
static ANY: LazyLock<ToolSpec> = LazyLock::new(|| {
    ToolSpec::plugin(PLUGIN_PREFIX, "A plugin.", ToolLevel::Critical, Json::Null, Json::Null)
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

/// What is known of a tool by its name alone: the entry of a built-in tool, or what is assumed of a
/// plugin.
pub fn known(name: &str) -> Option<&'static ToolSpec> {
    find(name).or_else(|| plugin_id(name).map(|_| &*ANY))
}
