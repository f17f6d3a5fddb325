//! Tools of MCP servers over Streamable HTTP: sessions, tokens, redirects, and servers that change or break the protocol.

mod server;

use crate::scratch::{Said, Scratch, until};
use serde_json::{Value, json};
use server::{Mode, Server};

const TOKEN: &str = "hunter2-hunter2-hunter2";

/// A project with the server `far`, which has these keys more.
fn project(server: &Server, more: &str) -> Scratch {
    let host = format!("127.0.0.1:{}", server.port);
    let settings = format!(
        "tools: {{http: {{allowPrivate: ['{host}']}}}}\n\
         mcp: {{servers: {{far: {{url: 'http://{host}/mcp'{more}}}}}}}\n"
    );
    let clerk = "schema: kb.specialist/1\nid: clerk\nrole: You ask.\ntools: ['mcp:far:*']\n";
    let playbook = "schema: kb.playbook/1\nid: p\nsteps:\n  \
        - {id: a, specialist: clerk, task: Ask., verify: {maxReworks: 0, expectChanges: false}}\n";
    Scratch::new(&[
        (".kb/kb.config.yml", &settings),
        (".kb/specialists/clerk.yml", clerk),
        ("playbooks/p.yml", playbook),
    ])
}

fn kb(scratch: &Scratch, args: &[&str]) -> Said {
    scratch.kb_with(args, |command| {
        command.env("FAR_TOKEN", TOKEN);
    })
}

fn call(scratch: &Scratch, tool: &str) -> Said {
    kb(scratch, &["mcp", "call", &format!("mcp:far:{tool}"), "--input", "{}"])
}

/// Runs a specialist that calls these tools; what was said, and the code of each call.
fn run(scratch: &Scratch, tools: &[&str]) -> (Said, Vec<String>) {
    let turn = |tool| json!({"calls": [{"tool": format!("mcp:far:{tool}"), "args": {}}]});
    let mut turns: Vec<Value> = tools.iter().map(turn).collect();
    turns.push(json!({"output": {"summary": "Asked."}}));
    let script = json!({"schema": "kb.script/1", "steps": {"a": turns}});
    scratch.write("script.json", &script.to_string());
    let args = ["playbook", "run", "p", "--script", "script.json", "--json"];
    kb(scratch, &args).code(3).says(&["requires approval"]);
    scratch.kb(&["run", "cancel", "@last"]);
    let said = kb(scratch, &[&args[..], &["--yes"]].concat());
    let audit = scratch.json(&["run", "audit", "@last", "--json"]);
    let code = |call: &Value| call["code"].as_str().unwrap_or("-").to_owned();
    (said, audit.as_array().unwrap().iter().map(code).collect())
}

#[test]
fn a_tool_of_a_server_over_http_is_pinned_and_called() {
    for mode in [Mode::Json, Mode::Events] {
        let server = Server::start(mode);
        let scratch = project(&server, ", token: 'env:FAR_TOKEN'");
        kb(&scratch, &["mcp", "list"]).code(0).says(&["http://127.0.0.1:", "not pinned"]);
        kb(&scratch, &["mcp", "pin", "far"]).code(0).says(&["mcp:far:token", "pinned 2 tools"]);
        assert!(scratch.read(".kb/mcp.lock").contains("\"url\": \"http://127.0.0.1:"));
        let listed = ["-", "s1", "s1", "s1", "s1"];
        let asked = ["initialize", "notifications/initialized", "tools/list", "tools/list", "-"];
        let expected: Vec<String> = std::iter::zip(asked, listed)
            .map(|(asked, session)| {
                let method = if asked == "-" { "DELETE" } else { "POST" };
                let version = if session == "-" { "-" } else { "2025-06-18" };
                format!("{method} {asked} {session} {version} Bearer {TOKEN}")
            })
            .collect();
        // Answers to `ping` have no method.
        let own = |request: &String| !request.starts_with("POST - ");
        let requests: Vec<String> = server.requests().into_iter().filter(own).collect();
        assert_eq!(requests, expected, "{mode:?}");
        let pings = server.requests().len() - requests.len();
        assert_eq!(pings, if mode == Mode::Events { 3 } else { 0 }, "{mode:?}");

        let said = call(&scratch, "token").code(0);
        assert!(said.out.contains("«secret:") && !said.out.contains("hunter2"), "{}", said.out);
        kb(&scratch, &["doctor"]).says(&["1 pinned server"]);
    }
}

#[test]
fn a_run_calls_a_server_over_http_until_its_tools_change() {
    let server = Server::start(Mode::Json);
    let scratch = project(&server, ", token: 'env:FAR_TOKEN'");
    kb(&scratch, &["mcp", "pin", "far"]).code(0);
    let (said, codes) = run(&scratch, &["token", "grow", "token"]);
    assert_eq!(codes, ["-", "-", "KB1308"], "{}", said.out);
    let requests = server.requests();
    let ended = requests.iter().rposition(|asked| asked.starts_with("DELETE - s2 "));
    assert_eq!(ended, Some(requests.len() - 1), "the session ends with the run: {requests:?}");
    assert!(!said.out.contains("hunter2") && !said.err.contains("hunter2"), "{}", said.out);
    assert!(said.out.contains("`send_everything` is new"), "{}", said.out);
}

#[test]
fn a_session_that_the_server_forgot_is_begun_again_and_compared_with_the_pin() {
    for mode in [Mode::Forgets, Mode::Disowns] {
        let server = Server::start(mode);
        let scratch = project(&server, "");
        kb(&scratch, &["mcp", "pin", "far"]).code(0);
        let ended = run(&scratch, &["token", "token", "grow", "token"]).1;
        assert_eq!(ended, ["-", "-", "-", "KB1308"], "{mode:?}");
        let begun = server.requests().iter().filter(|asked| asked.contains(" initialize ")).count();
        assert_eq!(begun, 5, "one for the pin, one for each call: {:?}", server.requests());
    }
}

#[test]
fn servers_that_break_the_protocol_over_http_are_refused() {
    for (mode, code, why) in [
        (Mode::OddSession, "KB1307", "its session id does not have 1 to 1024 visible ASCII"),
        (Mode::Elsewhere, "KB1307", "ends in `/sse` is of the older transport"),
        (Mode::Mute, "KB1306", "did not answer `initialize` within 500ms"),
        (Mode::Refuses, "KB1307", "HTTP status 401"),
        (Mode::Page, "KB1307", "with the content type `text/html`"),
        (Mode::Breaks, "KB1307", "ended without the answer"),
    ] {
        let server = Server::start(mode);
        let limit = if mode == Mode::Mute { "500ms" } else { "60s" };
        let scratch = project(&server, &format!(", token: 'env:FAR_TOKEN', startTimeout: {limit}"));
        let said = kb(&scratch, &["mcp", "pin", "far"]).code(2).says(&[code, why]);
        assert!(!said.err.contains("hunter2") && !scratch.has(".kb/mcp.lock"), "{mode:?}");
    }
    let server = Server::start(Mode::Json);
    let scratch = project(&server, "");
    let settings = scratch.read(".kb/kb.config.yml");
    let (_, closed) = settings.split_once('\n').unwrap();
    scratch.write(".kb/kb.config.yml", closed);
    kb(&scratch, &["mcp", "tools", "far"]).code(2).says(&["not public", "allowPrivate"]);
    assert!(server.requests().is_empty());
}

#[test]
fn a_redirect_is_not_followed_and_carries_no_token() {
    let other = Server::start(Mode::Json);
    let server = Server::start(Mode::Redirects(other.port));
    let scratch = project(&server, ", token: 'env:FAR_TOKEN'");
    let target = format!("it redirects to `http://127.0.0.1:{}/evil`", other.port);
    let said = kb(&scratch, &["mcp", "pin", "far"]).code(2).says(&["KB1307", &target]);
    assert!(!said.err.contains("code=7") && !said.err.contains("hunter2"), "{}", said.err);
    assert!(other.requests().is_empty(), "{:?}", other.requests());
}

#[test]
fn an_error_with_the_status_400_is_that_of_the_call_and_does_not_end_the_session() {
    let server = Server::start(Mode::Declines);
    let scratch = project(&server, "");
    kb(&scratch, &["mcp", "pin", "far"]).code(0);
    let said = call(&scratch, "token").code(1).says(&["KB1309", "(-32602): not on Fridays"]);
    assert!(!said.out.contains("not usable"), "{said:?}");
    let (said, codes) = run(&scratch, &["token", "grow"]);
    assert_eq!(codes, ["KB1309", "KB1309"], "{}", said.out);
    let requests = server.requests();
    let begun = requests.iter().filter(|asked| asked.contains(" initialize ")).count();
    let ended: Vec<&str> =
        requests.iter().filter_map(|asked| asked.strip_prefix("DELETE - ")).collect();
    assert_eq!(begun, 3, "one each for the pin, the call and the run: {requests:?}");
    let sessions: Vec<&str> = ended.iter().filter_map(|asked| asked.split(' ').next()).collect();
    assert_eq!(sessions, ["s1", "s2", "s3"], "{requests:?}");
}

#[test]
fn servers_that_say_much_or_name_another_session_are_answered_as_before() {
    for mode in [Mode::Floods, Mode::ForeignSession] {
        let server = Server::start(mode);
        let scratch = project(&server, "");
        kb(&scratch, &["mcp", "pin", "far"]).code(0);
        call(&scratch, "token").code(0).says(&["token"]);
        assert!(!server.requests().iter().any(|asked| asked.contains(" mine ")), "{mode:?}");
    }
    let server = Server::start(Mode::Endless);
    let scratch = project(&server, "");
    kb(&scratch, &["mcp", "pin", "far"]).code(0);
    call(&scratch, "token").code(1).says(&["KB1306", "sent more than 8192 KiB"]);
}

#[test]
fn a_stream_that_ends_before_the_answer_is_continued_after_its_last_event() {
    continues(Mode::Resumes);
}

#[test]
fn a_connection_that_breaks_before_the_answer_is_continued_if_events_are_numbered() {
    continues(Mode::Cuts);
    let server = Server::start(Mode::CutsUnnumbered);
    let scratch = project(&server, "");
    kb(&scratch, &["mcp", "pin", "far"]).code(0);
    call(&scratch, "token").code(1).says(&["KB1306", "was not reached"]);
    assert!(!server.requests().iter().any(|asked| asked.starts_with("GET")));
}

fn continues(mode: Mode) {
    let server = Server::start(mode);
    let scratch = project(&server, ", token: 'env:FAR_TOKEN'");
    kb(&scratch, &["mcp", "pin", "far"]).code(0);
    call(&scratch, "token").code(0).says(&["token"]);
    let continued = format!("GET e1 s2 2025-06-18 Bearer {TOKEN}");
    let requests = server.requests();
    assert_eq!(requests.iter().filter(|asked| **asked == continued).count(), 1, "{requests:?}");
}

#[test]
fn a_server_without_initialize_is_pinned_and_called_with_the_headers_of_its_version() {
    for mode in [Mode::Stateless, Mode::StatelessBare] {
        let server = Server::start(mode);
        let scratch = project(&server, ", token: 'env:FAR_TOKEN'");
        kb(&scratch, &["mcp", "pin", "far"]).code(0).says(&["pinned 2 tools"]);
        call(&scratch, "token").code(0).says(&["token"]);
        let requests = server.requests();
        let called = format!("POST tools/call - 2026-07-28 Bearer {TOKEN}");
        assert!(requests.contains(&called), "{mode:?}: {requests:?}");
        let is_of_sessions =
            |asked: &&String| asked.contains("notifications/") || asked.starts_with("DELETE");
        assert_eq!(requests.iter().find(is_of_sessions), None, "{mode:?}");
    }
}

#[test]
fn the_older_transport_is_named_in_a_warning() {
    let server = Server::start(Mode::Json);
    let scratch = project(&server, ", transport: sse");
    let said = scratch.kb(&["playbook", "validate"]);
    said.says(&["KB0219", "`transport: sse` is the older transport", "write `transport: http`"]);
    kb(&scratch, &["mcp", "pin", "far"]).code(0);
}

#[test]
fn a_call_that_takes_too_long_is_cancelled_at_the_server() {
    let server = Server::start(Mode::Hangs);
    let scratch = project(&server, ", timeout: 300ms");
    kb(&scratch, &["mcp", "pin", "far"]).code(0);
    call(&scratch, "token").code(1).says(&["KB1309", "did not answer a call within 300ms"]);
    let is_cancelled = |asked: &String| asked.starts_with("POST notifications/cancelled s2 ");
    until("the server is told", || server.requests().iter().any(is_cancelled));
}

#[test]
fn the_end_of_the_connection_cancels_a_call_without_a_session() {
    let server = Server::start(Mode::StatelessHangs);
    let scratch = project(&server, ", timeout: 300ms");
    kb(&scratch, &["mcp", "pin", "far"]).code(0);
    call(&scratch, "token").code(1).says(&["KB1309", "did not answer a call within 300ms"]);
    until("the server notices", || server.requests().iter().any(|at| at == "the connection ended"));
    let told = |asked: &String| asked.contains("notifications/cancelled");
    assert!(!server.requests().iter().any(told), "{:?}", server.requests());
}

#[test]
fn a_question_on_the_stream_of_a_call_is_answered_by_a_person() {
    let server = Server::start(Mode::Asks);
    let scratch = project(&server, "");
    kb(&scratch, &["mcp", "pin", "far"]).code(0);
    call(&scratch, "token").code(0).says(&["decline"]);
    let claim = r#"{"action":"accept","content":{"day":"friday"}}"#;
    let script = json!({"schema": "kb.script/1", "steps": {"a": [
        {"calls": [{"tool": "mcp:far:token", "args": {}}]},
        {"output": {"summary": "Asked.", "toolCalls": [{"tool": "mcp:far:token", "output": claim}]}},
    ]}});
    scratch.write("script.json", &script.to_string());
    kb(&scratch, &["playbook", "run", "p", "--script", "script.json", "--yes"]).code(3);
    kb(&scratch, &["run", "answer", "@last", "a", "{\"day\": \"friday\"}"]).code(0);
    let step = scratch.json(&["run", "show", "@last", "--json"])["steps"][0].clone();
    assert_eq!(
        (&step["verdict"], &step["attempts"]),
        (&json!("inconclusive"), &json!(1)),
        "{step}"
    );
}

#[test]
fn definitions_that_would_reveal_a_token_or_mean_nothing_are_refused() {
    for (keys, why) in [
        ("url: 'http://mcp.example.com/mcp', token: 'env:T'", "would be sent without encryption"),
        ("url: 'http://localhost.evil.example/mcp', token: 'env:T'", "without encryption"),
        ("url: 'https://mcp.example.com/mcp', token: abc", "refers to no secret"),
        ("url: 'https://me:abc@mcp.example.com/mcp'", "is not the address of a server"),
        ("url: 'https://mcp.example.com/{{secrets.T}}'", "cannot contain placeholders"),
        ("url: 'https://mcp.example.com/mcp', args: [a]", "has `args`, which needs a `command`"),
        ("command: [a], token: 'env:T'", "has `token`, which needs a `url`"),
        ("command: [a], transport: http", "does not fit"),
    ] {
        let settings = format!("mcp: {{servers: {{far: {{{keys}}}}}}}\n");
        let scratch = Scratch::new(&[(".kb/kb.config.yml", &settings)]);
        kb(&scratch, &["mcp", "list"]).code(2).says(&[why]);
    }
}
