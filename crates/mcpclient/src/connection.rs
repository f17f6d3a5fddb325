//! [`Connection`]: a server that runs, and its tools.

use crate::call_talk::{CallTalk, ElicitationReply};
use crate::era::Era;
use crate::fault::Fault;
use crate::handshake::shake_hands;
use crate::listing::list;
use crate::output::output_of;
use crate::replies::{Asking, reply_to};
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

/// How often a call is repeated with answers to what the server asks.
const ROUNDS: usize = 20;

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
        let asking = Asking { server: server.name.clone(), within: server.answer_timeout };
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
                Server::of(session.map_err(Fault::NotStarted)?, asking)
            }
            ServerReach::Http { client, url, token } => {
                let wait = server.timeout.max(server.start_timeout);
                Server::at(client, (url, token), wait, asking)
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

    /// Calls a tool. Dropping the future cancels the call. `talk` hears what the server says and asks meanwhile; without
    /// it, questions are declined.
    pub async fn call(
        &self,
        tool: &str,
        args: &Json,
        talk: Option<Arc<dyn CallTalk>>,
    ) -> Result<Json, Fault> {
        let limit = self.limits.timeout;
        let answer = tokio::time::timeout(limit, self.rounds(tool, args, talk)).await;
        if answer.is_err() {
            self.process.settle().await;
        }
        output_of(answer.unwrap_or(Err(Fault::Silent("tools/call", limit)))?, self.limits.result)
    }

    /// The result of a call. From version 2026-07-28 on, a server asks with a result, and the call is repeated with the
    /// answers.
    async fn rounds(
        &self,
        tool: &str,
        args: &Json,
        talk: Option<Arc<dyn CallTalk>>,
    ) -> Result<Json, Fault> {
        let open = self.process.calls.begin(talk.clone());
        let mut params = json!({
            "name": tool, "arguments": args, "_meta": {"progressToken": open.token},
        });
        for _ in 0..ROUNDS {
            let sent = (self.era, "tools/call");
            let result = self.process.ask_with(sent, params.clone(), talk.clone()).await?;
            if self.era != Era::Stateless
                || result.get("resultType") != Some(&json!("input_required"))
            {
                return Ok(result);
            }
            let responses = responses(&result, &self.process.asking, &talk)?;
            params["inputResponses"] = responses;
            match result.get("requestState") {
                Some(state) => params["requestState"] = state.clone(),
                None => {
                    drop(params.as_object_mut().and_then(|params| params.remove("requestState")))
                }
            }
        }
        let message = format!("it asks for more input after {ROUNDS} answers");
        Err(Fault::Broken(message))
    }
}

/// The answers to what a server asks for with its result.
fn responses(
    result: &Json,
    asking: &Asking,
    talk: &Option<Arc<dyn CallTalk>>,
) -> Result<Json, Fault> {
    let asked = result.get("inputRequests").and_then(Json::as_object);
    let mut responses = serde_json::Map::new();
    for (key, request) in asked.into_iter().flatten() {
        let method = request.get("method").and_then(Json::as_str).unwrap_or_default();
        if method != "elicitation/create" {
            let message =
                format!("it asks for `{}`, which `kb` does not offer", method.escape_debug());
            return Err(Fault::Broken(message));
        }
        let params = request.get("params").unwrap_or(&Json::Null);
        let reply = reply_to(params, asking, talk.clone())
            .map_err(|why| Fault::Broken(format!("its question is invalid: {why}")))?;
        responses.insert(key.clone(), reply.result());
        // No person has decided: the answers to the others may be known by then.
        if reply == ElicitationReply::Cancel {
            return Err(Fault::Unanswered);
        }
    }
    Ok(Json::Object(responses))
}
