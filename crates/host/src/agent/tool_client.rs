//! One program that calls the tools of a session: JSON-RPC lines of the Model Context Protocol.

use super::client::Event;
use super::offered_tools::{Answered, Called, OfferedTool, SERVER};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use kb_base::value::Json;
use kb_jsonrpc::{Incoming, NO_METHOD, notification, refusal, result};
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// The versions of the protocol, newest first.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// Maximum length of a message.
const LINE_BYTES: u64 = 4 << 20;
/// Maximum number of calls that wait for their answers.
const WAITING: usize = 64;
/// Maximum number of lines that are no messages.
const NOISE: u32 = 100;
/// How long a program may not read.
const UNREAD: Duration = Duration::from_secs(10);
/// How often a call that takes long says that it still runs: clients give up on a server that says nothing.
const PROGRESS: Duration = Duration::from_secs(10);

/// The code of the answer to a request with wrong parameters.
const BAD_PARAMS: i64 = -32602;

/// What all connections of a session share.
pub(super) struct Shared {
    pub(super) tools: Vec<OfferedTool>,
    pub(super) events: mpsc::WeakSender<Event>,
}

/// A call that was passed on.
struct Waiting {
    id: Json,
    token: Option<Json>,
    withdrawn: CancellationToken,
}

/// The end of a call: its key, and the answer if it was answered.
type Ended = (String, Option<Answered>);

/// Answers a program until it leaves or breaks a limit.
pub(super) async fn answer(stream: UnixStream, shared: &Shared) {
    let (read, write) = stream.into_split();
    // A program that reads nothing, or sends what is no message, is left: it is asked for nothing here.
    let _ = converse(BufReader::new(read), write, shared).await;
}

async fn converse(
    mut read: BufReader<OwnedReadHalf>,
    mut write: OwnedWriteHalf,
    shared: &Shared,
) -> Result<(), ()> {
    let mut waiting: BTreeMap<String, Waiting> = BTreeMap::new();
    let mut calls = FuturesUnordered::new();
    let mut progress = tokio::time::interval(PROGRESS);
    let (mut line, mut noise, mut steps) = (Vec::new(), 0, 0_u32);
    loop {
        tokio::select! {
            ended = calls.next(), if !calls.is_empty() => {
                let Some((key, answered)): Option<Ended> = ended else { continue };
                let Some(call) = waiting.remove(&key) else { continue };
                send(&mut write, &answer_line(&call.id, answered)).await?;
            }
            _tick = progress.tick(), if !waiting.is_empty() => {
                steps += 1;
                for token in waiting.values().filter_map(|call| call.token.as_ref()) {
                    let params = json!({"progressToken": token, "progress": steps});
                    send(&mut write, &notification("notifications/progress", &params)).await?;
                }
            }
            // What was read stays in `line` if another branch wins.
            read = next_line(&mut read, &mut line) => {
                read?;
                let text = String::from_utf8_lossy(&std::mem::take(&mut line)).into_owned();
                let (id, method, params) = match Incoming::of(text.trim()) {
                    Incoming::Request(id, method, params) => (id, method, params),
                    Incoming::Notification(method, params) => {
                        cancel(&method, &params, &waiting);
                        continue;
                    }
                    Incoming::Answer(..) | Incoming::Noise => {
                        noise += 1;
                        if noise > NOISE { return Err(()) }
                        continue;
                    }
                };
                if method != "tools/call" {
                    send(&mut write, &at_once(&id, &method, &params, &shared.tools)).await?;
                    continue;
                }
                let key = id.to_string();
                if waiting.len() >= WAITING || waiting.contains_key(&key) {
                    let why = "too many calls wait, or one with this id does";
                    send(&mut write, &refusal(&id, BAD_PARAMS, why)).await?;
                    continue;
                }
                let token = params.pointer("/_meta/progressToken").cloned();
                let withdrawn = CancellationToken::new();
                calls.push(pass_on(key.clone(), params, withdrawn.clone(), shared));
                waiting.insert(key, Waiting { id, token, withdrawn });
            }
        }
    }
}

/// Reads a line of a limited length. Cancel safe: what was read is in `line`.
async fn next_line(read: &mut BufReader<OwnedReadHalf>, line: &mut Vec<u8>) -> Result<(), ()> {
    let left = (LINE_BYTES + 1).saturating_sub(line.len() as u64);
    let got = read.take(left).read_until(b'\n', line).await.map_err(drop)?;
    if got == 0 || line.last() != Some(&b'\n') { Err(()) } else { Ok(()) }
}

async fn send(write: &mut OwnedWriteHalf, line: &str) -> Result<(), ()> {
    let line = format!("{line}\n");
    let sent = tokio::time::timeout(UNREAD, write.write_all(line.as_bytes())).await;
    sent.map_err(drop)?.map_err(drop)
}

/// Withdraws the call that a notification names.
fn cancel(method: &str, params: &Json, waiting: &BTreeMap<String, Waiting>) {
    if method == "notifications/cancelled"
        && let Some(call) = params.get("requestId").and_then(|id| waiting.get(&id.to_string()))
    {
        call.withdrawn.cancel();
    }
}

/// The answer to a request that calls nothing.
fn at_once(id: &Json, method: &str, params: &Json, tools: &[OfferedTool]) -> String {
    match method {
        "initialize" => {
            let wanted = params.get("protocolVersion").and_then(Json::as_str);
            let version = VERSIONS.iter().find(|known| Some(**known) == wanted);
            let version = version.unwrap_or(&VERSIONS[0]);
            let own = json!({
                "protocolVersion": version,
                "capabilities": {"tools": {}},
                "serverInfo": {"name": SERVER, "version": env!("CARGO_PKG_VERSION")},
            });
            result(id, &own)
        }
        "ping" => result(id, &json!({})),
        "tools/list" => {
            let tools: Vec<Json> = tools.iter().map(listed).collect();
            result(id, &json!({"tools": tools}))
        }
        _ => refusal(id, NO_METHOD, "this server does not offer the method"),
    }
}

fn listed(tool: &OfferedTool) -> Json {
    json!({
        "name": tool.name,
        "description": tool.description,
        "inputSchema": tool.schema,
        "annotations": {"readOnlyHint": tool.only_reads},
    })
}

fn answer_line(id: &Json, answered: Option<Answered>) -> String {
    match answered {
        Some(Answered { text, has_failed }) => {
            let part = json!({"type": "text", "text": text});
            result(id, &json!({"content": [part], "isError": has_failed}))
        }
        None => refusal(id, BAD_PARAMS, "the session has ended"),
    }
}

/// Makes an event of a call, and waits for its answer.
async fn pass_on(
    key: String,
    params: Json,
    withdrawn: CancellationToken,
    shared: &Shared,
) -> Ended {
    let Some(events) = shared.events.upgrade() else { return (key, None) };
    let tool = params.get("name").and_then(Json::as_str).unwrap_or_default().to_owned();
    let args = match params.get("arguments") {
        None | Some(Json::Null) => json!({}),
        Some(args) => args.clone(),
    };
    let (answer, answered) = oneshot::channel();
    let called = Called { tool, args, withdrawn, answer };
    if events.send(Event::Called(called)).await.is_err() {
        return (key, None);
    }
    drop(events);
    (key, answered.await.ok())
}
