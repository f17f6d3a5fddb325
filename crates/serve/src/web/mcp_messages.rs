//! [`McpMessages`]: what answers messages of MCP clients. The server of the protocol lies above this module.

use crate::serve::SharedProject;
use futures::future::BoxFuture;
use kb_base::value::Json;

/// Answers messages of the Model Context Protocol.
pub trait McpMessages: Send + Sync {
    /// Answers one message of a client for a project; `None` for a message without an answer. A client that `may_run` may
    /// start and cancel runs, others read. Starts wait in the queues of the daemon.
    fn answer(
        &self,
        project: &SharedProject,
        may_run: bool,
        message: Json,
    ) -> BoxFuture<'static, Option<Json>>;
}
