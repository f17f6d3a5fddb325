//! A server in this process, and a client over plain TCP that can send anything.

use super::{Runtime, environment, options, runtime};
use crate::scratch::Scratch;
use kb::clock::Clock;
use kb::serve::Daemon;
use kb::trigger::{Role, TriggerStore};
use kb::web::{Listen, Server, new_token};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// A scratch project with a daemon and its server. Stops both when dropped.
pub(super) struct Site {
    pub(super) scratch: Scratch,
    /// `127.0.0.1:PORT`.
    pub(super) host: String,
    /// The text after `#` of the address that opens a session.
    pub(super) code: String,
    pub(super) runtime: Runtime,
    pub(super) store: TriggerStore,
    stop: CancellationToken,
    running: Option<JoinHandle<()>>,
}

/// An answer.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// The lines of the head, in lower case up to the colon.
    pub(super) head: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Answer {
    pub(super) fn header(&self, name: &str) -> &str {
        let found = self.head.iter().find(|(own, _)| own == name);
        found.map_or("", |(_, value)| value)
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    #[track_caller]
    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.text()))
    }
}

impl Site {
    pub(super) fn new(files: &[(&str, &str)]) -> Site {
        Site::of(Scratch::new(files), &Listen { port: Some(0), ..Listen::default() })
    }

    pub(super) fn of(scratch: Scratch, listen: &Listen) -> Site {
        let runtime = runtime();
        let stop = CancellationToken::new();
        let environment = environment(&scratch);
        let (server, daemon) = {
            let _context = runtime.enter();
            let daemon = Daemon::open(&environment, &options()).unwrap();
            let shared = daemon.shared().unwrap();
            let mcp = Some(kb::mcp::over_http());
            let server = runtime
                .block_on(Server::start_with(shared, listen, Clock::system(), stop.clone(), mcp))
                .unwrap();
            (server, daemon)
        };
        let host = server.url().replace("http://", "");
        let code = server.login_url().unwrap().split_once('#').unwrap().1.to_owned();
        let store = super::store(&scratch);
        let own = stop.clone();
        let running = runtime.spawn(async move {
            daemon.run(own).await;
            server.stopped().await;
        });
        Site { scratch, host, code, runtime, store, stop, running: Some(running) }
    }

    /// A new token.
    pub(super) fn token(&self, role: Role) -> String {
        let name = format!("t{}", self.store.tokens().unwrap().len());
        new_token(&self.store, &name, role, None, Clock::system().wall()).unwrap().text
    }

    /// Stops daemon and server, and returns how long that took.
    pub(super) fn stop(&mut self) -> Duration {
        let began = Instant::now();
        self.stop.cancel();
        if let Some(running) = self.running.take() {
            let ended = async { tokio::time::timeout(Duration::from_secs(60), running).await };
            let ended = self.runtime.block_on(ended);
            let stopped = matches!(ended, Ok(Ok(())));
            assert!(stopped || std::thread::panicking(), "daemon and server stop: {ended:?}");
        }
        began.elapsed()
    }

    /// A connection.
    pub(super) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.host).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// Sends a request as it is written and reads the answer to its end.
    pub(super) fn raw(&self, request: &[u8]) -> Answer {
        let mut stream = self.connect();
        // The server may answer and close before it has read everything.
        let _ = stream.write_all(request);
        read_answer(&mut stream)
    }

    /// A request with these headers besides `Host`.
    pub(super) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let mut text = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\n", self.host);
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        if method != "GET" || !body.is_empty() {
            text.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        text.push_str(&format!("Connection: close\r\n\r\n{body}"));
        let answer = self.raw(text.as_bytes());
        super::contract::check(method, path, &answer);
        answer
    }

    /// Reads with a token.
    pub(super) fn get(&self, path: &str, token: &str) -> Answer {
        self.send("GET", path, &[("Authorization", &format!("Bearer {token}"))], "")
    }

    /// Writes JSON with a token.
    pub(super) fn post(&self, path: &str, token: &str, body: &str) -> Answer {
        let bearer = format!("Bearer {token}");
        let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
        self.send("POST", path, &headers, body)
    }

    /// Opens a session with the one-time code and returns its cookie.
    pub(super) fn session(&self) -> String {
        let body = format!("{{\"code\": \"{}\"}}", self.code);
        let answer = self.login(&body, &[]);
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.header("set-cookie").split(';').next().unwrap().to_owned()
    }

    /// A login with these headers.
    pub(super) fn login(&self, body: &str, headers: &[(&str, &str)]) -> Answer {
        let mut all = vec![("Content-Type", "application/json")];
        all.extend(headers);
        self.send("POST", "/login", &all, body)
    }

    /// Waits until a condition holds.
    #[track_caller]
    pub(super) fn until<T>(&self, what: &str, mut found: impl FnMut() -> Option<T>) -> T {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            if let Some(found) = found() {
                return found;
            }
            assert!(Instant::now() < deadline, "{what} does not happen");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Reads head and body until the connection ends.
pub(super) fn read_answer(stream: &mut TcpStream) -> Answer {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(bytes.len());
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok()).unwrap_or(0);
    let header = |line: &str| {
        let (name, value) = line.split_once(':')?;
        Some((name.to_lowercase(), value.trim().to_owned()))
    };
    let head: Vec<_> = lines.filter_map(header).collect();
    let body = bytes.get(end + 4..).unwrap_or_default().to_vec();
    let is_chunked =
        head.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
    Answer { status, head, body: if is_chunked { unchunked(&body) } else { body } }
}

fn unchunked(mut bytes: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    while let Some(end) = bytes.windows(2).position(|two| two == b"\r\n") {
        let size = std::str::from_utf8(&bytes[..end]).unwrap_or("0");
        let size = usize::from_str_radix(size, 16).unwrap_or(0);
        let from = end + 2;
        all.extend_from_slice(bytes.get(from..from + size).unwrap_or_default());
        match bytes.get(from + size + 2..) {
            Some(rest) if size > 0 => bytes = rest,
            _ => break,
        }
    }
    all
}
