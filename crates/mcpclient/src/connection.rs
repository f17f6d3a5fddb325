//! [`Connection`]: a server that runs, and its tools.

use crate::era::Era;
use crate::fault::Fault;
use crate::handshake::shake_hands;
use crate::listing::list;
use crate::output::output_of;
use crate::server::Server;
use kb_base::value::Json;
use kb_http::HttpClient;
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
pub struct ServerStart<'a> {
    /// Its definition.
    pub server: &'a McpServer,
    /// What is started or spoken to.
    pub reach: ServerReach,
}

/// What is started or spoken to.
pub enum ServerReach {
    /// A program that is started in a sandbox and ends with the connection.
    Process {
        /// Program and arguments.
        argv: Vec<String>,
        /// Starts it, with the sandbox in which it runs.
        supervisor: Supervisor,
        /// Its working directory.
        cwd: PathBuf,
        /// The values of its variables.
        env: Vec<(String, String)>,
    },
    /// A server that runs elsewhere.
    Http {
        /// Sends requests under the address rules.
        client: HttpClient,
        /// Where the server is.
        url: String,
        /// The bearer token.
        token: Option<String>,
    },
}

/// A running server. Dropping it ends the process and its descendants, or the session over HTTP.
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
        let ServerStart { server, reach } = start;
        let process = match reach {
            ServerReach::Process { argv, supervisor, cwd, env } => {
                let spawn = Spawn {
                    argv,
                    own_program: false,
                    cwd,
                    env,
                    stdin: Vec::new(),
                    timeout: None,
                    idle: None,
                    max_stream: STDERR_BYTES,
                };
                let session = supervisor.session(spawn, &CancellationToken::new()).await;
                Server::of(session.map_err(Fault::NotStarted)?)
            }
            ServerReach::Http { client, url, token } => {
                Server::at(client, (url, token), server.timeout.max(server.start_timeout))
            }
        };
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

    /// The tools that the server declares now. Asks it again if it said that they have
    /// changed; a server over HTTP is always asked, because it may have no way to say so.
    pub async fn tools(&self) -> Result<Arc<Vec<ToolDeclaration>>, Fault> {
        let mut tools = self.tools.lock().await;
        if self.process.has_changed.swap(false, Ordering::AcqRel) || !self.process.tells_changes() {
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

    /// Ends the session with a server over HTTP. A process ends when the connection is dropped.
    pub async fn close(&self) {
        self.process.close().await;
    }

    /// Calls a tool. Dropping the future cancels the call.
    pub async fn call(&self, tool: &str, args: &Json) -> Result<Json, Fault> {
        let params = json!({"name": tool, "arguments": args});
        let limit = self.limits.timeout;
        let answer =
            tokio::time::timeout(limit, self.process.ask(self.era, "tools/call", params)).await;
        if answer.is_err() {
            self.process.settle().await;
        }
        output_of(answer.unwrap_or(Err(Fault::Silent("tools/call", limit)))?, self.limits.result)
    }
}
