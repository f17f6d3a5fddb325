//! [`ToolImplementation`]: a tool that is no part of `kb`, with its entry.

use super::builtin::PluginTool;
use super::context::Tool;
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
