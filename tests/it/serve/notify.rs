//! `notify:` of the settings: who is told about a run, how often, and what a failure says.

use super::{daemon, runtime, store, until};
use crate::scratch::Scratch;
use kb::definition::WebhookForm;
use kb::trigger::{NotificationState, verify_webhook};
use kb::value::Timestamp;
use serde_json::{Value, json};
use wiremock::matchers::method;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

const FAILS: &str =
    "schema: kb.playbook/1\nid: p\nsteps: [{id: build, run: \"echo broken pipe >&2; exit 3\"}]\n";
const ASKS: &str =
    "schema: kb.playbook/1\nid: q\nsteps: [{id: ok, approve: \"Deploy to production?\"}]\n";
const SECRET: &str = "a long enough secret";

fn now() -> Timestamp {
    kb::clock::Clock::system().now()
}

fn later(seconds: i64) -> Timestamp {
    Timestamp(now().0 + seconds * 1000)
}

fn scratch(settings: &str) -> Scratch {
    let scratch = Scratch::new(&[("playbooks/p.yml", FAILS), ("playbooks/q.yml", ASKS)]);
    scratch.write(".kb/kb.config.yml", settings);
    scratch
}

/// A server that answers with these statuses, the last one for ever.
async fn server(statuses: &[u16]) -> MockServer {
    let server = MockServer::start().await;
    for (index, status) in statuses.iter().enumerate() {
        let answer = ResponseTemplate::new(*status).insert_header("location", "/elsewhere");
        let mock = Mock::given(method("POST")).respond_with(answer);
        if index + 1 == statuses.len() {
            mock.mount(&server).await
        } else {
            mock.up_to_n_times(1).mount(&server).await
        }
    }
    server
}

fn header(request: &Request, name: &str) -> String {
    request.headers.get(name).map(|v| v.to_str().unwrap().to_owned()).unwrap_or_default()
}

fn body(request: &Request) -> Value {
    serde_json::from_slice(&request.body).unwrap()
}

#[test]
fn a_receiver_that_was_down_is_told_later_under_the_same_id() {
    let runtime = runtime();
    let _context = runtime.enter();
    let server = runtime.block_on(server(&[503, 204]));
    let scratch = scratch(&format!(
        "notify:\n  - {{on: ended, webhook: {{url: \"{}/hook\", secret: \"file:key\"}}}}\n",
        server.uri()
    ));
    scratch.write("key", SECRET);
    // What ended before the first daemon is not sent.
    scratch.kb(&["playbook", "run", "p"]).code(1);
    let mut first = daemon(&scratch);
    first.tick(now());
    let all = |state| {
        let all = store(&scratch).notifications(9).unwrap();
        all.into_iter().filter(|n| n.state == state).collect::<Vec<_>>()
    };
    scratch.kb(&["playbook", "run", "p"]).code(1);
    let run = scratch.last_run();
    until(&mut first, later(0), "the first attempt", || {
        all(NotificationState::Waiting).iter().any(|n| n.attempts == 1)
    });
    let problem = all(NotificationState::Waiting)[0].problem.clone().unwrap();
    assert!(problem.contains("answered 503"), "{problem}");
    drop(first);
    // The next daemon tells it when the time has come, and never again.
    let mut second = daemon(&scratch);
    until(&mut second, later(60), "the second attempt", || {
        all(NotificationState::Delivered).len() == 1
    });
    for seconds in 0..20 {
        second.tick(later(7200 + seconds));
    }
    let requests = runtime.block_on(server.received_requests()).unwrap();
    assert_eq!(requests.len(), 2);
    assert_eq!(header(&requests[0], "webhook-id"), header(&requests[1], "webhook-id"));
    for request in &requests {
        let get = |name: &str| Some(header(request, name));
        let form = WebhookForm::default();
        verify_webhook(&form, &[SECRET], get, &request.body, now()).unwrap();
        let told = body(request);
        assert_eq!(told["type"], "run.failed");
        assert_eq!(told["data"]["run"], json!(run));
        assert_eq!(told["data"]["failures"][0]["step"], "build");
        assert!(told["text"].as_str().unwrap().starts_with("p failed: "), "{told}");
    }
}

#[test]
fn a_waiting_run_is_told_once_with_its_question() {
    let runtime = runtime();
    let _context = runtime.enter();
    let server = runtime.block_on(server(&[200]));
    let scratch = scratch("notify: {webhook: \"file:address\"}\n");
    scratch.write("address", &format!("{}/T0/B1/very-secret-path\n", server.uri()));
    let mut daemon = daemon(&scratch);
    daemon.tick(now());
    scratch.kb(&["playbook", "run", "q"]).code(3);
    let delivered = || {
        let all = store(&scratch).notifications(9).unwrap();
        all.iter().filter(|n| n.state == NotificationState::Delivered).count()
    };
    until(&mut daemon, later(0), "the question", || delivered() == 1);
    scratch.kb(&["run", "approve", "@last"]).code(0);
    for seconds in 0..20 {
        daemon.tick(later(10 + seconds));
    }
    let requests = runtime.block_on(server.received_requests()).unwrap();
    // A run that succeeds sends nothing unless `on` says so.
    assert_eq!(requests.len(), 1);
    let told = body(&requests[0]);
    assert_eq!(told["type"], "run.waiting");
    assert_eq!(told["data"]["questions"][0]["question"], "Deploy to production?");
}

#[test]
fn a_program_and_a_playbook_are_told() {
    let (runtime, scratch) = (runtime(), scratch(""));
    let _context = runtime.enter();
    scratch.write(
        ".kb/kb.config.yml",
        "sandbox: {processes: group}\nnotify:\n  - {playbooks: p, command: [sh, -c, \"cat > told.json; echo $KB_EVENT $KB_RUN > told.txt\"]}\n  - {name: report, playbook: {id: report, params: {channel: ops}, payload: {source: data.run}}}\n",
    );
    scratch.write(
        "playbooks/report.yml",
        "schema: kb.playbook/1\nid: report\nparams: [{name: source, required: true}, {name: channel, default: none}]\nsteps: [{id: a, run: 'echo \"$R $C\" >> report; exit 1', env: {R: \"{{source}}\", C: \"{{channel}}\"}}]\n",
    );
    let mut daemon = daemon(&scratch);
    daemon.tick(now());
    scratch.kb(&["playbook", "run", "p"]).code(1);
    let run = scratch.last_run();
    until(&mut daemon, later(0), "both", || scratch.has("told.txt") && scratch.has("report"));
    let settled = || store(&scratch).notifications(9).unwrap().iter().all(|n| n.attempts > 0);
    until(&mut daemon, later(10), "the end", || {
        let fires = super::fires(&store(&scratch));
        settled() && fires.iter().all(|fire| !fire.state.is_open())
    });
    // The run that the hook started failed too: it starts no further run.
    for seconds in 0..20 {
        daemon.tick(later(20 + seconds));
    }
    assert_eq!(scratch.read("report"), format!("{run} ops\n"));
    let told: Value = serde_json::from_str(&scratch.read("told.json")).unwrap();
    assert_eq!(told["data"]["playbook"], "p");
}

#[test]
fn a_hook_can_be_tested_and_says_what_is_wrong() {
    let runtime = runtime();
    let redirects = runtime.block_on(server(&[308]));
    let scratch = scratch(&format!(
        "notify:\n  - {{name: moved, webhook: \"{}/x\"}}\n  - {{name: fails, command: [sh, -c, \"echo no such room >&2; exit 4\"]}}\n  - {{name: fine, command: cat}}\n  - {{name: unset, webhook: {{url: \"env:HOOK_URL\", secret: \"env:HOOK_KEY\"}}}}\n",
        redirects.uri()
    ));
    let test = |name: &str| scratch.kb(&["notify", "--test", name]);
    test("fine").code(0).says(&["the notification to fine was delivered"]);
    test("moved").code(5).says(&["KB1016", "answered 308", "redirect is not followed"]);
    assert_eq!(runtime.block_on(redirects.received_requests()).unwrap().len(), 1);
    test("fails").code(5).says(&["exit code 4", ": no such room"]);
    test("unset").code(5).says(&["`env:HOOK_URL` has no value"]);
    // The path of an address that is a secret is not shown.
    let refused = scratch.kb_with(&["notify", "--test", "unset"], |command| {
        command.env("HOOK_URL", "http://127.0.0.1:9/T0/very-secret-path").env("HOOK_KEY", SECRET);
    });
    assert!(!refused.err.contains("very-secret-path"), "{refused:?}");
    test("fien").code(2).says(&["no hook `fien`", "moved, fails, fine, unset"]);
    scratch.kb(&["notify"]).code(0).says(&["no notification yet; the hooks are moved"]);
}

#[test]
fn wrong_hooks_are_refused_where_they_are_written() {
    let cases = [
        ("notify: {on: fialed, command: x}", "did you mean `failed`?"),
        (
            "notify: {webhook: {url: \"https://a.example\", secret: HOKO}}",
            "`secret` names no secret",
        ),
        ("notify: {webhook: {url: \"https://a.example\"}, command: x}", "exactly one of"),
        ("notify: {webhook: hooks.example.com}", "neither a URL nor a reference"),
        ("notify: [{name: a, command: x}, {name: a, command: y}]", "two hooks"),
        ("notify: {comand: x}", "command"),
    ];
    for (settings, expected) in cases {
        let scratch = scratch(settings);
        scratch.kb(&["notify"]).code(2).says(&[expected, "kb.config.yml:1:"]);
    }
}

/// The bodies that a server received, once nothing waits to be sent.
fn received(runtime: &tokio::runtime::Runtime, server: &MockServer) -> Vec<Value> {
    runtime.block_on(server.received_requests()).unwrap().iter().map(body).collect()
}

#[test]
fn a_run_that_succeeds_after_a_failure_is_told_once() {
    let runtime = runtime();
    let _context = runtime.enter();
    let server = runtime.block_on(server(&[204]));
    let scratch = scratch(&format!(
        "serve: {{url: \"https://kb.example.org/\"}}\nnotify: {{on: [ended, recovered], webhook: \"{}/hook\"}}\n",
        server.uri()
    ));
    let steps = "steps: [{id: build, run: test -e fixed}]\n";
    scratch.write("playbooks/p.yml", &format!("schema: kb.playbook/1\nid: p\n{steps}"));
    let mut daemon = daemon(&scratch);
    daemon.tick(now());
    scratch.kb(&["playbook", "run", "p"]).code(1);
    scratch.write("fixed", "");
    for _ in 0..2 {
        scratch.kb(&["playbook", "run", "p"]).code(0);
    }
    let run = scratch.last_run();
    until(&mut daemon, later(0), "three ends", || received(&runtime, &server).len() == 3);
    let mut all = received(&runtime, &server);
    all.sort_by_key(|told| told["data"]["startedAt"].to_string());
    let types: Vec<&str> = all.iter().filter_map(|told| told["type"].as_str()).collect();
    assert_eq!(types, ["run.failed", "run.recovered", "run.succeeded"]);
    assert_eq!(all[2]["data"]["link"], format!("https://kb.example.org/runs/{run}"));
}

#[test]
fn triggers_that_stop_miss_times_and_recover_are_told() {
    let runtime = runtime();
    let _context = runtime.enter();
    let server = runtime.block_on(server(&[204]));
    let scratch = scratch(&format!("notify: {{webhook: \"{}/hook\"}}\n", server.uri()));
    // Counted from a time of its own: no whole hour of the clock passes between two states.
    let from = now().rfc3339();
    let from = &from[..16];
    let nightly = |text: &str| {
        let on = format!("on: {{schedule: {{every: 1h, from: \"{from}\", zone: UTC}}}}");
        let file = format!("schema: kb.playbook/1\nid: p\n{on}\nsteps: [{{id: a, run: {text}}}]\n");
        scratch.write("playbooks/p.yml", &file);
    };
    nightly("\"true\"");
    scratch.kb(&["trigger", "enable", "p"]).code(0);
    let mut daemon = daemon(&scratch);
    let start = now();
    let after = |seconds: i64| Timestamp(start.0 + seconds * 1000);
    daemon.tick(start);
    // What a person does is no news.
    scratch.kb(&["trigger", "pause", "p"]).code(0);
    daemon.tick(after(3));
    scratch.kb(&["trigger", "resume", "p"]).code(0);
    daemon.tick(after(6));
    let mut told = |at: i64, count: usize| {
        until(&mut daemon, after(at), "the news", || received(&runtime, &server).len() == count);
        received(&runtime, &server).pop().unwrap()
    };
    nightly("date");
    let changed = told(10, 1);
    assert_eq!(changed["type"], "trigger.stopped");
    assert_eq!(changed["data"]["triggers"][0]["state"], "changed");
    assert!(changed["text"].as_str().unwrap().starts_with("p.schedule changed: its definition"));
    nightly("[");
    let broken = told(200, 2);
    assert_eq!(broken["data"]["triggers"][0]["state"], "broken", "{broken}");
    nightly("\"true\"");
    let recovered = told(400, 3);
    assert_eq!(recovered["type"], "trigger.recovered", "{recovered}");
    let missed = told(24 * 3600, 4);
    assert_eq!(missed["type"], "trigger.missed", "{missed}");
    assert_eq!(missed["data"]["triggers"][0]["reason"], "`kb serve` did not run");
}
