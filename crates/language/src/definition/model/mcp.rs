//! [`McpServer`]: a server of the Model Context Protocol that settings or a specialist define.

use super::NetworkAccess;
use crate::toolspec::ToolSpec;
use kb_base::diagnostic::Span;
use std::sync::Arc;
use std::time::Duration;

/// A program that offers tools by the Model Context Protocol on its standard input and output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServer {
    /// The name; its tools are `mcp:NAME:TOOL`.
    pub name: String,
    /// Program and arguments, which are also its identity in the lock file.
    pub argv: Vec<String>,
    /// Variables of the process, in addition to those of all processes.
    pub env: Vec<(String, ServerValue)>,
    /// The network that the process can use.
    pub network: NetworkAccess,
    /// Time from its start until it has listed its tools.
    pub start_timeout: Duration,
    /// Time limit of a call.
    pub timeout: Duration,
    /// Maximum size of a result in bytes.
    pub max_result: usize,
    /// Maximum number of tools.
    pub max_tools: usize,
    /// Position of the definition.
    pub span: Span,
}

/// The value of a variable of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerValue {
    /// The text itself.
    Text(String),
    /// `env:NAME`, `file:PATH`, or the name of a secret of the settings.
    Secret(String),
}

/// The tools that are pinned for a command.
#[derive(Debug, Clone, PartialEq)]
pub struct PinnedTools {
    /// Program and arguments of the server that declared them.
    pub argv: Vec<String>,
    /// Their entries in the catalog of tools.
    pub tools: Vec<Arc<ToolSpec>>,
}

impl McpServer {
    /// Whether both start the same process with the same rights and limits, wherever they are written.
    pub fn is_same(&self, other: &McpServer) -> bool {
        McpServer { span: other.span, ..self.clone() } == *other
    }
}
