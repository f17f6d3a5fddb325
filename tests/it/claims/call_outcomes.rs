//! Calls that failed, were denied or are remote, under a report that does not mention them.

use crate::scratch::Scratch;
use serde_json::{Value, json};

/// The verdict on a report after these calls, with its checks by name.
fn judged(tools: &str, calls: &[Value], report: Value) -> (String, Vec<(String, String)>) {
    judged_with("{}", tools, calls, report)
}

/// The same with these settings.
fn judged_with(
    settings: &str,
    tools: &str,
    calls: &[Value],
    report: Value,
) -> (String, Vec<(String, String)>) {
    let specialist =
        format!("schema: kb.specialist/1\nid: agent\nrole: You look.\ntools: [{tools}]\n");
    let calls = calls.iter().map(|call| json!({"calls": [call]}));
    let turns: Vec<Value> = calls.chain([json!({"output": report})]).collect();
    let script = json!({"schema": "kb.script/1", "steps": {"a": turns}});
    let scratch = Scratch::new(&[
        (
            "playbooks/p.yml",
            "schema: kb.playbook/1\nid: p\nsteps:\n  - {id: a, specialist: agent, task: Look., \
             verify: {maxReworks: 0, expectChanges: false}}\n",
        ),
        (".kb/specialists/agent.yml", &specialist),
        (".kb/kb.config.yml", settings),
        ("script.json", &script.to_string()),
        ("src/a.txt", "one\n"),
    ]);
    let event = verification(&scratch, "script.json");
    scratch.kb(&["run", "verify", "@last"]).code(0);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let checks = event["checks"].as_array().into_iter().flatten();
    let checks = checks.map(|check| (text(&check["check"]), text(&check["verdict"])));
    (text(&event["verdict"]), checks.collect())
}

/// The first verdict of a run of the playbook `p` with this script.
fn verification(scratch: &Scratch, script: &str) -> Value {
    let said = scratch.kb(&["playbook", "run", "p", "--script", script, "--json"]);
    let events = said.events();
    let event = events.iter().find(|event| event["type"] == "verification:complete");
    event.unwrap_or_else(|| panic!("no verdict: {}{}", said.out, said.err)).clone()
}

/// Verdict and reason of the first gate of such a run.
pub(super) fn verdict_of(scratch: &Scratch) -> (String, String) {
    verdict_of_script(scratch, "script.json")
}

/// The same with this script.
pub(super) fn verdict_of_script(scratch: &Scratch, script: &str) -> (String, String) {
    let event = verification(scratch, script);
    scratch.kb(&["run", "verify", "@last"]).code(0);
    let text = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
    (text("verdict"), text("reason"))
}

fn call(tool: &str, args: Value) -> Value {
    json!({"tool": tool, "args": args})
}

fn unreachable() -> Value {
    call("http:request", json!({"url": "http://127.0.0.1:9/version"}))
}

#[test]
fn an_invented_answer_does_not_pass_after_a_failed_or_denied_call_or_without_one() {
    let write = || call("fs:write", json!({"path": "notes.md", "content": "x"}));
    let read = |path: &str| call("fs:read", json!({"path": path}));
    let answer = || json!({"summary": "The current version is 4.2."});
    for (calls, expected, check) in [
        (vec![unreachable()], "inconclusive", Some("call http:request")),
        (vec![write()], "inconclusive", Some("call fs:write")),
        (vec![], "unchecked", None),
        // What was tried in vain and then found is no failure.
        (vec![read("src/none.txt"), read("src/a.txt")], "unchecked", None),
        (vec![read("../x"), read("src/a.txt")], "unchecked", None),
        // A failed last call is listed.
        (vec![read("src/none.txt")], "unchecked", Some("call fs:read")),
    ] {
        let (verdict, checks) = judged("http:request, fs:read", &calls, answer());
        assert_eq!(verdict, expected, "{calls:?}: {checks:?}");
        let found = checks.iter().find(|(name, _)| name.starts_with("call "));
        assert_eq!(found.map(|(name, _)| name.as_str()), check, "{calls:?}");
    }
}

#[test]
fn a_claim_about_a_call_decides_instead_of_its_outcome() {
    let report = json!({
        "summary": "Done.",
        "toolCalls": [{"tool": "http:request", "status": "failed"}],
    });
    let (verdict, checks) = judged("http:request", &[unreachable()], report);
    assert_eq!(verdict, "passed", "{checks:?}");
    assert_eq!(checks.len(), 1, "{checks:?}");
}

#[test]
fn a_command_that_failed_at_last_is_shown_and_lowers_no_verdict() {
    let shell = |command: &str| call("shell:exec", json!({"command": command}));
    let write = || call("fs:write", json!({"path": "b.txt", "content": "two\n"}));
    let report = || json!({"created": ["b.txt"], "summary": "Done."});
    for (commands, shown) in [
        (vec!["ls missing"], true),
        (vec!["cat b.txt", "cat b.txt"], false),
        (vec!["grep -q three src/a.txt"], false),
    ] {
        let calls: Vec<Value> = match commands.as_slice() {
            [one] => vec![shell(one), write()],
            // The first run fails, because the file is written after it.
            many => vec![shell(many[0]), write(), shell(many[1])],
        };
        let (verdict, checks) = judged("shell:exec, fs:write", &calls, report());
        assert_eq!(verdict, "passed", "{commands:?}: {checks:?}");
        let found = checks.iter().find(|(name, _)| name.starts_with("command "));
        let expected = shown.then(|| ("command ls missing".to_owned(), "unchecked".to_owned()));
        assert_eq!(found, expected.as_ref(), "{commands:?}");
    }
}

#[test]
fn an_answer_with_an_error_status_is_no_successful_call() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let mut request = [0; 4096];
            let read = std::io::Read::read(&mut stream, &mut request).unwrap_or(0);
            let text = String::from_utf8_lossy(&request[..read]).into_owned();
            let status = text.split('/').nth(1).and_then(|path| path.get(..3)).unwrap_or("500");
            let answer = format!(
                "HTTP/1.1 {status} X\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{{}}"
            );
            let _ = std::io::Write::write_all(&mut stream, answer.as_bytes());
        }
    });
    let settings = format!("tools: {{http: {{allowPrivate: [\"{address}\"]}}}}\n");
    let get =
        |status: u16| call("http:request", json!({"url": format!("http://{address}/{status}")}));
    let claim = |status: &str| json!({"summary": "Done.", "toolCalls": [{"tool": "http:request", "status": status}]});
    let plain = || json!({"summary": "The current version is 4.2."});
    for (code, report, expected) in [
        (404, claim("success"), "failed"),
        (500, claim("success"), "failed"),
        (200, claim("success"), "inconclusive"),
        (404, claim("failed"), "passed"),
        (404, plain(), "inconclusive"),
        (200, plain(), "unchecked"),
    ] {
        let (verdict, checks) =
            judged_with(&settings, "http:request", &[get(code)], report.clone());
        assert_eq!(verdict, expected, "{code} {report}: {checks:?}");
    }
}
