//! A model and a web service that repeat secrets: whoever is asked says what it was told to say.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// What the model says in its turns, and where it can be asked.
pub(super) struct Server {
    pub(super) port: u16,
    told: Arc<Mutex<String>>,
}

impl Server {
    /// `said` is what the model repeats.
    pub(super) fn start(said: Vec<String>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let told = Arc::default();
        let server = Server { port, told: Arc::clone(&told) };
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (said, told) = (said.clone(), told.clone());
                std::thread::spawn(move || answer(stream, &said, &told));
            }
        });
        server
    }

    /// What the model was told of the results of its tools.
    pub(super) fn told(&self) -> String {
        self.told.lock().unwrap().clone()
    }
}

fn answer(mut stream: TcpStream, said: &[String], told: &Mutex<String>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let body = String::from_utf8_lossy(&body).into_owned();
    let (status, kind, text) = if head.contains("/chat/completions") {
        model(&body, said, told)
    } else {
        // An echo of everything, from a service that has a problem or none.
        let status = if head.starts_with("POST /broken") { 500 } else { 200 };
        let echo = json!({"head": head, "body": body, head.lines().nth(1).unwrap_or(""): [body]});
        (status, "application/json", echo.to_string())
    };
    let _ = write!(
        stream,
        "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{text}",
        text.len()
    );
}

fn model(body: &str, said: &[String], told: &Mutex<String>) -> (u16, &'static str, String) {
    let all = said.join(" | ");
    if body.contains("BREAK-OFF") {
        let error = json!({"error": {"message": format!("bad request about {all}")}});
        return (400, "application/json", error.to_string());
    }
    let request: Value = serde_json::from_str(body).unwrap();
    let turns = request["messages"].as_array().unwrap().iter();
    for result in turns.clone().filter(|message| message["role"] == "tool") {
        told.lock().unwrap().push_str(result["content"].as_str().unwrap());
    }
    let turn = turns.filter(|message| message["role"] == "assistant").count();
    let call = |index: usize, tool: &str, args: Value| {
        let function = json!({"name": tool, "arguments": args.to_string()});
        json!({"index": index, "id": format!("c{turn}{index}"), "type": "function", "function": function})
    };
    let calls = match turn {
        0 => vec![
            call(0, "fs_read", json!({"path": "said/all.txt"})),
            call(1, "fs_search", json!({"pattern": "user", "path": "said"})),
            call(
                2,
                "shell_exec",
                json!({"command": "cat said/all.txt; cat said/all.txt >&2; env; exit 3"}),
            ),
        ],
        1 => vec![
            call(0, "fs_write", json!({"path": "w.txt", "content": all, &said[0]: {&said[1]: 1}})),
            call(1, "fs_read", json!({"path": format!("no-such-{}", said[0])})),
            call(
                2,
                &format!("no-{}", said[0].replace(|c: char| !c.is_ascii_alphanumeric(), "")),
                json!({}),
            ),
        ],
        _ => {
            vec![call(0, "submit_output", json!({"summary": all, "extra": {&said[0]: [&said[1]]}}))]
        }
    };
    let mut events: Vec<Value> = Vec::new();
    // Three letters a token.
    let letters: Vec<char> = all.chars().collect();
    for token in letters.chunks(3) {
        let content: String = token.iter().collect();
        events.push(json!({"choices": [{"index": 0, "delta": {"content": content}}]}));
    }
    for call in calls {
        events.push(json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}));
    }
    events.push(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}));
    let text: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    (200, "text/event-stream", text + "data: [DONE]\n\n")
}
