//! A scripted MCP server over Streamable HTTP. It behaves as its mode says, and keeps the requests that it got.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// How the server behaves.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Mode {
    /// Answers with JSON.
    Json,
    /// Answers with streams of events, and says and asks more than the answer.
    Events,
    /// Forgets the session after each call.
    Forgets,
    /// The same, and answers an unknown session with the status 400 and an error without an id.
    Disowns,
    /// Ends the stream of a call, and answers on the one that continues it.
    Resumes,
    /// The same, and breaks the connection in the middle of the response.
    Cuts,
    /// Breaks the connection in the middle of a response without numbered events.
    CutsUnnumbered,
    /// Asks a person during a call, and answers it with what it learned.
    Asks,
    /// Speaks the version without `initialize`, and does not answer a call until the connection ends.
    StatelessHangs,
    /// Speaks the version without `initialize`, and wants its headers.
    Stateless,
    /// The same, and answers `initialize` with a status alone.
    StatelessBare,
    /// Begins a session whose id no header can carry.
    OddSession,
    /// Names another session in its later answers.
    ForeignSession,
    /// Answers calls with the status 400 and an error.
    Declines,
    /// Says much before it answers a call.
    Floods,
    /// Sends an endless line in answer to a call.
    Endless,
    /// Does not answer at all.
    Mute,
    /// Knows no address.
    Elsewhere,
    /// Redirects to this port.
    Redirects(u16),
    /// Wants another token.
    Refuses,
    /// Is a page of a web site.
    Page,
    /// Ends the stream without an answer.
    Breaks,
    /// Does not answer a call.
    Hangs,
}

#[derive(Default)]
struct State {
    requests: Vec<String>,
    sessions: usize,
    open: Option<String>,
    has_grown: bool,
    /// The answer to a call whose stream was ended.
    pending: Option<Value>,
    /// The answer to the question of the server.
    reply: Option<Value>,
}

/// The server, until the test ends.
pub(super) struct Server {
    pub(super) port: u16,
    state: Arc<Mutex<State>>,
}

impl Server {
    pub(super) fn start(mode: Mode) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::<Mutex<State>>::default();
        let server = Server { port, state: state.clone() };
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let state = state.clone();
                std::thread::spawn(move || answer(stream, mode, &state));
            }
        });
        server
    }

    /// Method, JSON-RPC method, session, version and token of each request so far.
    pub(super) fn requests(&self) -> Vec<String> {
        self.state.lock().unwrap().requests.clone()
    }
}

fn answer(mut stream: TcpStream, mode: Mode, state: &Mutex<State>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut method, mut length) = (String::new(), 0);
    let mut headers = [
        "mcp-session-id",
        "mcp-protocol-version",
        "authorization",
        "last-event-id",
        "mcp-method",
        "mcp-name",
    ]
    .map(|name| (name, "-".to_owned()));
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        if method.is_empty() {
            method = line.split(' ').next().unwrap_or_default().to_owned();
        }
        if line.trim().is_empty() {
            break;
        }
        let Some((name, value)) = line.split_once(':') else { continue };
        let (name, value) = (name.to_ascii_lowercase(), value.trim());
        if name == "content-length" {
            length = value.parse().unwrap();
        }
        if let Some((_, own)) = headers.iter_mut().find(|(own, _)| *own == name) {
            *own = value.to_owned();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let headers = headers.map(|(_, value)| value);
    if message["method"] == "tools/call" && mode == Mode::Asks {
        return ask(stream, &message, state);
    }
    if message["method"] == "tools/call" && mode == Mode::StatelessHangs {
        // The end of the connection cancels the call.
        let ended = reader.read(&mut [0]).is_ok_and(|bytes| bytes == 0);
        let what = if ended { "the connection ended" } else { "more bytes" };
        return state.lock().unwrap().requests.push(what.to_owned());
    }
    if message["id"] == "q1" {
        state.lock().unwrap().reply = Some(message["result"].clone());
    }
    let response = respond(&method, &message, &headers, (mode, state));
    // The client may have gone.
    let _ = stream.write_all(response.as_bytes());
}

/// Asks on the stream of a call, and answers the call with what the client posts.
fn ask(mut stream: TcpStream, message: &Value, state: &Mutex<State>) {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
    let form =
        json!({"type": "object", "properties": {"day": {"type": "string"}}, "required": ["day"]});
    let params = json!({"message": "Which day?", "requestedSchema": form});
    let asked =
        json!({"jsonrpc": "2.0", "id": "q1", "method": "elicitation/create", "params": params});
    stream.write_all(format!("{head}data: {asked}\n\n").as_bytes()).unwrap();
    let mut reply = None;
    crate::scratch::until("the reply", || {
        reply = state.lock().unwrap().reply.take();
        reply.is_some()
    });
    let text = json!({"type": "text", "text": reply.unwrap().to_string()});
    let result = json!({"content": [text]});
    let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
    let _ = stream.write_all(format!("data: {answer}\n\n").as_bytes());
}

fn respond(
    method: &str,
    message: &Value,
    headers: &[String; 6],
    (mode, state): (Mode, &Mutex<State>),
) -> String {
    let [session, version, token, event, own_method, own_name] = headers;
    let asked = message["method"].as_str().unwrap_or(event);
    let mut state = state.lock().unwrap();
    state.requests.push(format!("{method} {asked} {}", headers[..3].join(" ")));
    match mode {
        Mode::Redirects(port) => {
            let target = format!("Location: http://127.0.0.1:{port}/evil?code=7\r\n");
            return with("307 Temporary Redirect", &target, "");
        }
        Mode::Mute => {
            drop(state);
            std::thread::sleep(std::time::Duration::from_secs(20));
            return String::new();
        }
        Mode::Elsewhere => return with("404 Not Found", "Content-Type: text/plain\r\n", "none"),
        Mode::Page => return with("200 OK", "Content-Type: text/html\r\n", "<p>Hello</p>"),
        Mode::Refuses => return with("401 Unauthorized", "", ""),
        Mode::Json
        | Mode::Events
        | Mode::Forgets
        | Mode::Disowns
        | Mode::Breaks
        | Mode::Hangs
        | Mode::Resumes
        | Mode::Cuts
        | Mode::CutsUnnumbered
        | Mode::Asks
        | Mode::StatelessHangs
        | Mode::Stateless
        | Mode::StatelessBare
        | Mode::OddSession
        | Mode::ForeignSession
        | Mode::Declines
        | Mode::Floods
        | Mode::Endless => {}
    }
    let is_stateless = matches!(mode, Mode::Stateless | Mode::StatelessBare | Mode::StatelessHangs);
    if is_stateless {
        let name = message["params"]["name"].as_str().unwrap_or("-");
        let has_headers = [version, own_method, own_name] == ["2026-07-28", asked, name];
        if mode == Mode::StatelessBare && !has_headers {
            return with("400 Bad Request", "", "");
        }
        if !has_headers {
            let error = json!({"code": -32020, "message": "other headers"});
            let error = json!({"jsonrpc": "2.0", "id": message["id"], "error": error});
            let kind = "Content-Type: application/json\r\n";
            return with("400 Bad Request", kind, &error.to_string());
        }
    }
    if method == "GET" && ![Mode::Resumes, Mode::Cuts].contains(&mode) {
        return with("405 Method Not Allowed", "", "");
    }
    if method == "GET" {
        let answer = state.pending.take().filter(|_| event == "e1");
        let kind = "Content-Type: text/event-stream\r\n";
        return with("200 OK", kind, &format!("data: {}\n\n", answer.unwrap_or_default()));
    }
    if !is_stateless && asked != "initialize" && state.open.as_deref() != Some(session) {
        let error =
            json!({"jsonrpc": "2.0", "error": {"code": -32000, "message": "No valid session"}});
        return match mode {
            Mode::Disowns => {
                with("400 Bad Request", "Content-Type: application/json\r\n", &error.to_string())
            }
            _ => with("404 Not Found", "", ""),
        };
    }
    if method == "DELETE" {
        state.open = None;
        return with("204 No Content", "", "");
    }
    if message.get("id").is_none() || message.get("method").is_none() {
        return with("202 Accepted", "", "");
    }
    let mut extra = String::new();
    let result = match asked {
        "initialize" => {
            state.sessions += 1;
            let session = format!("s{}", state.sessions);
            let odd = if mode == Mode::OddSession { " two" } else { "" };
            extra = format!("Mcp-Session-Id: {session}{odd}\r\n");
            state.open = Some(session);
            json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {}})
        }
        "server/discover" => {
            json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}})
        }
        "tools/list" => {
            let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
            let mut tools = vec![tool("token"), tool("grow")];
            tools.extend(state.has_grown.then(|| tool("send_everything")));
            json!({"tools": tools})
        }
        _ if mode == Mode::Hangs => {
            drop(state);
            std::thread::sleep(std::time::Duration::from_secs(20));
            return String::new();
        }
        _ if mode == Mode::Declines => {
            let error = json!({"code": -32602, "message": "not on Fridays"});
            let error = json!({"jsonrpc": "2.0", "id": message["id"], "error": error});
            let kind = "Content-Type: application/json\r\n";
            return with("400 Bad Request", kind, &error.to_string());
        }
        _ if mode == Mode::Endless => {
            let kind = "Content-Type: text/event-stream\r\n";
            return with("200 OK", kind, &format!("data: {}", "x".repeat(9 << 20)));
        }
        _ => {
            if [Mode::Forgets, Mode::Disowns].contains(&mode) {
                state.open = None;
            }
            state.has_grown = message["params"]["name"] == "grow";
            json!({"content": [{"type": "text", "text": format!("token {token}")}]})
        }
    };
    let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
    let json = "Content-Type: application/json\r\n";
    if mode == Mode::ForeignSession && asked != "initialize" {
        extra = "Mcp-Session-Id: mine\r\n".to_owned();
    }
    match mode {
        Mode::Resumes if asked == "tools/call" => {
            state.pending = Some(answer);
            let kind = "Content-Type: text/event-stream\r\n";
            with("200 OK", kind, "id: e1\nretry: 20\ndata:\n\n")
        }
        Mode::Cuts | Mode::CutsUnnumbered if asked == "tools/call" => {
            let events =
                if mode == Mode::Cuts { "id: e1\nretry: 20\ndata:\n\n" } else { ": x\n\n" };
            state.pending = Some(answer);
            let kind = "Content-Type: text/event-stream\r\nContent-Length: 1000\r\n";
            format!("HTTP/1.1 200 OK\r\n{kind}Connection: close\r\n\r\n{events}")
        }
        Mode::Floods => {
            let logged = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {}});
            let events = format!("data: {logged}\n\n").repeat(20_000);
            let kind = "Content-Type: text/event-stream\r\n";
            with("200 OK", &format!("{kind}{extra}"), &format!("{events}data: {answer}\n\n"))
        }
        Mode::Events | Mode::Breaks => {
            let progress =
                json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {}});
            let ping = json!({"jsonrpc": "2.0", "id": "p", "method": "ping"});
            let last = if mode == Mode::Breaks { json!({}) } else { answer };
            let events = format!(
                ": hello\n\nid: 1\ndata:\n\ndata: {progress}\n\ndata: {ping}\n\ndata: {last}\n\n"
            );
            with("200 OK", &format!("Content-Type: text/event-stream\r\n{extra}"), &events)
        }
        _ => with("200 OK", &format!("{json}{extra}"), &answer.to_string()),
    }
}

fn with(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}
