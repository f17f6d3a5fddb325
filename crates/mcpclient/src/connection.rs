//! [`Connection`]: a server that runs, and its tools.

use crate::era::Era;
use crate::fault::Fault;
use crate::handshake::shake_hands;
use crate::listing::list;
use crate::output::output_of;
use crate::server::Server;
use kb_base::value::Json;
use kb_language::definition::{McpServer, ToolDeclaration};
use kb_process::{Spawn, Supervisor};
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Bytes of stderr that are kept for messages.
const STDERR_BYTES: usize = 16 << 10;

/// How a server is started.
#[derive(Debug, Clone)]
pub struct ServerStart<'a> {
    /// Its definition.
    pub server: &'a McpServer,
    /// Starts its process, with the sandbox in which it runs.
    pub supervisor: &'a Supervisor,
    /// Its working directory.
    pub cwd: PathBuf,
    /// The values of its variables.
    pub env: Vec<(String, String)>,
}

/// A running server. Dropping it ends the process and its descendants.
pub struct Connection {
    process: Server,
    era: Era,
    limits: Limits,
    tools: tokio::sync::Mutex<Arc<Vec<ToolDeclaration>>>,
}

#[derive(Debug, Clone, Copy)]
struct Limits {
    timeout: Duration,
    result: usize,
    tools: usize,
    start: Duration,
}

impl Connection {
    /// Starts a server, agrees on a version of the protocol and lists its tools, all within its `startTimeout`.
    pub async fn open(start: ServerStart<'_>) -> Result<Connection, Fault> {
        let limit = start.server.start_timeout;
        let opened = tokio::time::timeout(limit, Connection::start(start)).await;
        opened.unwrap_or(Err(Fault::Silent("initialize", limit)))
    }

    async fn start(start: ServerStart<'_>) -> Result<Connection, Fault> {
        let ServerStart { server, supervisor, cwd, env } = start;
        let spawn = Spawn {
            argv: server.argv.clone(),
            own_program: false,
            cwd,
            env,
            stdin: Vec::new(),
            timeout: None,
            idle: None,
            max_stream: STDERR_BYTES,
        };
        let session = supervisor.session(spawn, &CancellationToken::new()).await;
        let session = session.map_err(Fault::NotStarted)?;
        let process = Server::of(session);
        let limits = Limits {
            timeout: server.timeout,
            result: server.max_result,
            tools: server.max_tools,
            start: server.start_timeout,
        };
        let era = shake_hands(&process).await?;
        let tools = Arc::new(list((&process, era), limits.tools).await?);
        Ok(Connection { process, era, limits, tools: tools.into() })
    }

    /// Whether calls are still possible.
    pub fn is_open(&self) -> bool {
        self.process.is_open()
    }

    /// The tools that the server declares now. Asks it again if it said that they have changed.
    pub async fn tools(&self) -> Result<Arc<Vec<ToolDeclaration>>, Fault> {
        let mut tools = self.tools.lock().await;
        if self.process.has_changed.swap(false, Ordering::AcqRel) {
            let listed = tokio::time::timeout(
                self.limits.start,
                list((&self.process, self.era), self.limits.tools),
            )
            .await;
            let listed = listed.unwrap_or(Err(Fault::Silent("tools/list", self.limits.start)));
            if listed.is_err() {
                self.process.has_changed.store(true, Ordering::Release);
            }
            *tools = Arc::new(listed?);
        }
        Ok(tools.clone())
    }

    /// Calls a tool. Dropping the future cancels the call.
    pub async fn call(&self, tool: &str, args: &Json) -> Result<Json, Fault> {
        let params = json!({"name": tool, "arguments": args});
        let limit = self.limits.timeout;
        let answer =
            tokio::time::timeout(limit, self.process.ask(self.era, "tools/call", params)).await;
        output_of(answer.unwrap_or(Err(Fault::Silent("tools/call", limit)))?, self.limits.result)
    }
}
