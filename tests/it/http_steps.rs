//! `http` steps: what is sent, what the output is, and which status codes count as success.

use crate::scratch::Scratch;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

/// A server that answers with what it was sent. `/status/CODE` has this status.
fn echo() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || answer(stream));
        }
    });
    address
}

fn answer(mut stream: TcpStream) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        let header = line.split_once(':').map(|(name, value)| (name.to_lowercase(), value.trim()));
        if let Some((_, value)) = header.filter(|(name, _)| name == "content-length") {
            length = value.parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    if reader.read_exact(&mut body).is_err() {
        return;
    }
    let mut words = head.split_whitespace();
    let (method, target) = (words.next().unwrap(), words.next().unwrap());
    let token = head
        .lines()
        .find_map(|line| line.to_lowercase().strip_prefix("x-token: ").map(str::to_owned));
    let status = target.strip_prefix("/status/").unwrap_or("200");
    let text = json!({
        "method": method, "target": target, "token": token, "body": String::from_utf8_lossy(&body),
    });
    // A response to HEAD, and one with the status 204, has no body.
    let text = if method == "HEAD" || status == "204" { String::new() } else { text.to_string() };
    let _ = write!(
        stream,
        "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nX-Own: yes\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
        text.len()
    );
}

/// The outputs of a run with these steps; `ADDRESS` is the server.
fn outputs(steps: &str, outputs: &str, code: i32) -> (Value, String) {
    let address = echo();
    let steps = steps.replace("ADDRESS", &address);
    let text = format!(
        "schema: kb.playbook/1\nid: p\nparams: [{{name: page, default: a b}}]\nsteps:\n{steps}outputs:\n{outputs}"
    );
    let settings = format!(
        "tools: {{http: {{allowPrivate: [\"{address}\"]}}}}\nsecrets: {{TOKEN: env:KB_TEST_TOKEN}}\n"
    );
    let scratch = Scratch::new(&[("playbooks/p.yml", &text), (".kb/kb.config.yml", &settings)]);
    let set =
        |command: &mut std::process::Command| _ = command.env("KB_TEST_TOKEN", "tok-5512-secret");
    let said = scratch.kb_with(&["playbook", "run", "p", "--json"], set).code(code);
    let end = said.events().into_iter().find(|event| event["type"] == "run:end").expect("an end");
    (end["outputs"].clone(), said.out)
}

#[test]
fn the_output_is_status_headers_and_body_of_one_request() {
    let steps = "  - {id: get, http: {url: \"http://ADDRESS/items/{{page}}\"}}\n";
    let read = "  status: \"{{get.output.status}}\"\n  own: \"{{get.output.headers['x-own']}}\"\n  method: \"{{get.output.body.method}}\"\n  target: \"{{get.output.body.target}}\"\n  keys: \"{{get.output | list | sort}}\"\n";
    let (found, _) = outputs(steps, read, 0);
    let wanted = json!({
        "status": 200, "own": "yes", "method": "GET", "target": "/items/a%20b",
        "keys": ["body", "headers", "status"],
    });
    assert_eq!(found, wanted, "a value in the path is escaped");
}

#[test]
fn each_method_is_sent_with_headers_query_and_body_that_can_have_secrets() {
    let mut steps = String::new();
    let mut read = String::new();
    for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] {
        let body = if matches!(method, "POST" | "PUT" | "PATCH") {
            ", body: {key: \"{{secrets.TOKEN}}\"}"
        } else {
            ""
        };
        let id = method.to_lowercase();
        steps.push_str(&format!(
            "  - {{id: m_{id}, http: {{url: \"http://ADDRESS/x\", method: {method}, headers: {{X-Token: \"{{{{secrets.TOKEN}}}}\"}}, query: {{q: \"{{{{secrets.TOKEN}}}}\", n: 1}}{body}}}}}\n"
        ));
        read.push_str(&format!("  {id}: \"{{{{m_{id}.output.body}}}}\"\n"));
    }
    let (found, said) = outputs(&steps, &read, 0);
    let masked = "«secret:TOKEN»";
    for (method, got) in found.as_object().unwrap() {
        if method == "head" {
            assert_eq!(*got, json!(""), "{found}");
            continue;
        }
        let body = match method.as_str() {
            "post" | "put" | "patch" => format!("{{\"key\":\"{masked}\"}}"),
            _ => String::new(),
        };
        let wanted = json!({
            "method": method.to_uppercase(), "target": format!("/x?q={masked}&n=1"), "token": masked, "body": body,
        });
        assert_eq!(*got, wanted, "{found}");
    }
    assert!(!said.contains("tok-5512-secret"), "{said}");
}

#[test]
fn status_codes_from_200_to_299_count_as_success_unless_others_are_expected() {
    let request = |id: &str, status: u32, expect: &str| {
        format!(
            "  - {{id: {id}, http: {{url: \"http://ADDRESS/status/{status}\"{expect}}}, onError: continue}}\n"
        )
    };
    let steps = [
        request("ok", 200, ""),
        request("empty", 204, ""),
        request("missing", 404, ""),
        request("broken", 500, ""),
        request("wanted", 404, ", expect: [200, 404]"),
        request("one", 404, ", expect: 404"),
        request("other", 200, ", expect: [404]"),
    ];
    let names = ["ok", "empty", "missing", "broken", "wanted", "one", "other"];
    let read: String =
        names.iter().map(|name| format!("  {name}: \"{{{{{name}.status}}}}\"\n")).collect();
    let (found, _) = outputs(&steps.concat(), &read, 0);
    let (yes, no) = ("succeeded", "failed");
    let wanted = json!({
        "ok": yes, "empty": yes, "missing": no, "broken": no, "wanted": yes, "one": yes, "other": no,
    });
    assert_eq!(found, wanted);
}
