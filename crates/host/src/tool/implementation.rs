//! [`ToolImplementation`]: a tool that is no part of `kb`, with its entry.

use super::builtin::{AbsentTool, DeclaredTool, PluginTool};
use super::context::Tool;
use super::server::ToolServer;
use kb_language::definition::Plugin;
use kb_language::toolspec::ToolSpec;
use std::sync::Arc;

/// A tool that is no part of `kb`: its entry in the catalog, and what executes its calls.
#[derive(Clone)]
pub struct ToolImplementation {
    pub(super) spec: Arc<ToolSpec>,
    pub(super) tool: Arc<dyn Tool>,
}

impl From<&Arc<Plugin>> for ToolImplementation {
    fn from(plugin: &Arc<Plugin>) -> Self {
        let tool = Arc::new(PluginTool::new(plugin.clone()));
        ToolImplementation { spec: plugin.spec.clone(), tool }
    }
}

impl ToolImplementation {
    /// A tool that a server declares.
    pub fn declared(spec: Arc<ToolSpec>, server: Arc<dyn ToolServer>) -> ToolImplementation {
        let tool = Arc::new(DeclaredTool { spec: spec.clone(), server });
        ToolImplementation { spec, tool }
    }

    /// The entry of the tool.
    pub fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    /// What executes a tool that a run began with: the present one with an equal entry. A call of any other is
    /// refused.
    pub fn frozen(spec: &ToolSpec, present: &[ToolImplementation]) -> ToolImplementation {
        let same = present.iter().find(|own| *own.spec == *spec);
        same.cloned().unwrap_or_else(|| {
            let spec = Arc::new(spec.clone());
            ToolImplementation { tool: Arc::new(AbsentTool(spec.clone())), spec }
        })
    }
}

impl std::fmt::Debug for ToolImplementation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.spec.name)
    }
}
