//! [`McpServer`]: a server of the Model Context Protocol that settings or a specialist define.

use super::NetworkAccess;
use crate::toolspec::ToolSpec;
use kb_base::diagnostic::Span;
use std::sync::Arc;
use std::time::Duration;

/// A server that offers tools by the Model Context Protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServer {
    /// The name; its tools are `mcp:NAME:TOOL`.
    pub name: String,
    /// How it is reached, which is also its identity in the lock file.
    pub endpoint: ServerEndpoint,
    /// The bearer token of a server with a URL: `env:NAME`, `file:PATH`, or the name of a secret of the settings.
    pub token: Option<String>,
    /// Variables of the process, in addition to those of all processes.
    pub env: Vec<(String, ServerValue)>,
    /// The network that the process can use.
    pub network: NetworkAccess,
    /// Time from its start until it has listed its tools.
    pub start_timeout: Duration,
    /// Time limit of a call.
    pub timeout: Duration,
    /// How long a question of the server waits for a person; `None` without a limit.
    pub answer_timeout: Option<Duration>,
    /// Maximum size of a result in bytes.
    pub max_result: usize,
    /// Maximum number of tools.
    pub max_tools: usize,
    /// Position of the definition.
    pub span: Span,
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerEndpoint {
    /// Program and arguments of a process that is spoken to on its standard input and output.
    Command(Vec<String>),
    /// The address of a server that is spoken to over Streamable HTTP.
    Url(String),
}

impl ServerEndpoint {
    /// Program and arguments; empty for a URL.
    pub fn argv(&self) -> &[String] {
        match self {
            ServerEndpoint::Command(argv) => argv,
            ServerEndpoint::Url(_) => &[],
        }
    }

    /// The address; `None` for a command.
    pub fn url(&self) -> Option<&str> {
        match self {
            ServerEndpoint::Command(_) => None,
            ServerEndpoint::Url(url) => Some(url),
        }
    }
}

/// The value of a variable of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerValue {
    /// The text itself.
    Text(String),
    /// `env:NAME`, `file:PATH`, or the name of a secret of the settings.
    Secret(String),
}

/// The tools that are pinned of a server.
#[derive(Debug, Clone, PartialEq)]
pub struct PinnedTools {
    /// How the server that declared them was reached.
    pub endpoint: ServerEndpoint,
    /// Their entries in the catalog of tools.
    pub tools: Vec<Arc<ToolSpec>>,
}

impl McpServer {
    /// Whether both mean the same server with the same rights and limits, wherever they are written.
    pub fn is_same(&self, other: &McpServer) -> bool {
        McpServer { span: other.span, ..self.clone() } == *other
    }
}
