//! [`McpMessages`]: what answers messages of MCP clients. The server of the protocol lies above this module.

use futures::future::BoxFuture;
use kb_base::value::Json;
use kb_service::service::runs::ProjectContext;

/// Answers messages of the Model Context Protocol.
pub trait McpMessages: Send + Sync {
    /// Answers one message of a client for a project; `None` for a message without an answer. A client that `may_run` may
    /// start and cancel runs, others read.
    fn answer(
        &self,
        project: &ProjectContext,
        may_run: bool,
        message: Json,
    ) -> BoxFuture<'static, Option<Json>>;
}
