//! `kb mcp serve`, spoken to as a client does: JSON-RPC lines over stdin and stdout.

use crate::running::{Running, Start};
use crate::scratch::{Scratch, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout, Stdio};

const PLAYBOOK: &str = "schema: kb.playbook/1\nid: p\nparams: [{name: what, default: none}]\n";

struct Client {
    child: Running,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    next: u64,
}

impl Client {
    fn connect(scratch: &Scratch) -> Client {
        let mut client = Client::start(scratch);
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let answer = client.request("initialize", hello);
        assert_eq!(answer["result"]["serverInfo"]["name"], "kb", "{answer}");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    fn start(scratch: &Scratch) -> Client {
        let mut command = scratch.command();
        command.args(["mcp", "serve"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.start();
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().unwrap());
        Client { child, stdin, stdout: BufReader::new(stdout), next: 0 }
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.stdin.as_mut().unwrap(), "{message}").unwrap();
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let mut line = String::new();
            assert!(self.stdout.read_line(&mut line).unwrap() > 0, "the server has ended");
            let message: Value = serde_json::from_str(&line).expect("one message per line");
            if message["id"] == id {
                return message;
            }
        }
    }

    fn result(&mut self, tool: &str, args: Value) -> Value {
        self.request("tools/call", json!({"name": tool, "arguments": args}))["result"].clone()
    }

    fn call(&mut self, tool: &str, args: Value) -> Value {
        let result = self.result(tool, args);
        assert_eq!(result["isError"], false, "{result}");
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.len() <= 8192, "{}", text.len());
        serde_json::from_str(text).unwrap()
    }

    fn refused(&mut self, tool: &str, args: Value) -> String {
        let result = self.result(tool, args);
        assert_eq!(result["isError"], true, "{result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    fn ended(mut self) -> (Option<i32>, String) {
        drop(self.stdin.take());
        let done = self.child.finish();
        (done.status.code(), String::from_utf8_lossy(&done.stderr).into_owned())
    }
}

fn scratch(steps: &str) -> Scratch {
    Scratch::new(&[("playbooks/p.yml", &format!("{PLAYBOOK}{steps}"))])
}

#[test]
fn a_client_starts_a_run_and_reads_its_evidence() {
    let scratch = scratch(
        "outputs: {all: \"{{a.stdout}}\"}\nsteps: [{id: a, run: \"seq 1 9000\"}, {id: b, run: \"false\", dependsOn: [a]}]\n",
    );
    let mut client = Client::connect(&scratch);
    let tools = client.request("tools/list", json!({}))["result"]["tools"].clone();
    let names: Vec<&str> =
        tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(
        !names.iter().any(|name| ["approve", "answer", "reply"].iter().any(|no| name.contains(no)))
    );
    let listed = client.call("playbook_list", json!({}));
    assert_eq!(listed["playbooks"][0]["id"], "p");
    let shown = client.call("playbook_show", json!({"id": "p"}));
    assert!(shown["paramsSchema"]["properties"]["what"].is_object(), "{shown}");
    let started =
        client.call("playbook_run", json!({"id": "p", "params": {"what": "x"}, "key": "k1"}));
    let run = started["run"].as_str().unwrap().to_owned();
    let again =
        client.call("playbook_run", json!({"id": "p", "params": {"what": "x"}, "key": "k1"}));
    assert_eq!((&again["run"], &again["repeated"]), (&started["run"], &json!(true)));
    let view = client.call("run_show", json!({"run": run, "waitMs": 25_000}));
    assert_eq!(
        (view["status"].as_str(), view["params"]["what"].as_str()),
        (Some("failed"), Some("x"))
    );
    // What is too long for an answer is shortened and has a link to the whole.
    let long = client.result("run_output", json!({"run": run, "step": "a"}));
    assert!(long["content"][0]["text"].as_str().unwrap().contains("more characters"), "{long}");
    let uri = long["content"][1]["uri"].clone();
    assert_eq!(uri, json!(format!("kb://run/{run}/output/a")));
    let whole = client.request("resources/read", json!({"uri": uri}));
    let whole = whole["result"]["contents"][0]["text"].as_str().unwrap();
    assert!(
        whole.ends_with("9000\\n\"") || whole.ends_with("9000\""),
        "{}",
        &whole[whole.len() - 30..]
    );
    // The events in parts are those of the command line.
    let (mut seqs, mut after) = (Vec::new(), json!(0));
    loop {
        let part = client.call("run_events", json!({"run": run, "after": after, "limit": 3}));
        seqs.extend(part["events"].as_array().unwrap().iter().map(|event| event["seq"].as_u64()));
        after = part["next"].clone();
        if part["more"] == false {
            break;
        }
    }
    let all = scratch.kb(&["run", "events", &run]).out;
    let expected: Vec<Option<u64>> = all
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["seq"].as_u64())
        .collect();
    assert_eq!(seqs, expected);
    assert_eq!(client.call("run_verify", json!({"run": run}))["holds"], true);
    assert_eq!(client.ended(), (Some(0), String::new()));
}

#[test]
fn a_run_goes_on_without_its_client_and_another_cancels_it() {
    let scratch =
        scratch("steps: [{id: a, run: \"touch begun; until test -e go; do sleep 0.02; done\"}]\n");
    let mut client = Client::connect(&scratch);
    let run = client.call("playbook_run", json!({"id": "p"}))["run"].as_str().unwrap().to_owned();
    until("the step", || scratch.has("begun"));
    client.child.kill().unwrap();
    let mut second = Client::connect(&scratch);
    let view = second.call("run_show", json!({"run": run}));
    assert_eq!(view["status"], "running", "{view}");
    let short = second.refused("run_cancel", json!({"run": "@last"}));
    assert!(short.contains("not the whole id"), "{short}");
    assert_eq!(second.call("run_cancel", json!({"run": run}))["requested"], true);
    let ended = second.call("run_show", json!({"run": run, "waitMs": 25_000}));
    assert_eq!(ended["status"], "cancelled", "{ended}");
    assert!(second.refused("run_cancel", json!({"run": run})).contains("already cancelled"));
}

#[test]
fn what_a_client_gives_is_no_code_of_the_author() {
    let scratch = scratch(
        "steps: [{id: a, run: \"(( WHAT > 3 )) || true\", env: {WHAT: \"{{what}}\"}}, {id: b, dependsOn: a, run: \"touch got\"}]\n",
    );
    let planted = scratch.root().parent().unwrap().join("pwned-by-client");
    let value = format!("PATH[$(echo pwned > {})]", planted.display());
    let mut client = Client::connect(&scratch);
    let run = client.call("playbook_run", json!({"id": "p", "params": {"what": value}}));
    client.call("run_show", json!({"run": run["run"], "waitMs": 25_000}));
    if scratch.kb(&["doctor"]).out.contains("Landlock") {
        assert!(scratch.has("got"), "{:?}", scratch.kb(&["run", "show", "@last"]));
        assert!(!planted.exists());
    }
}

#[test]
fn bad_calls_are_explained_and_start_nothing() {
    let scratch = scratch("steps: [{id: a, run: \"true\"}]\n");
    scratch.write(
        "playbooks/s.yml",
        "schema: kb.playbook/1\nid: s\nparams: [{name: token, type: secret}]\nsteps: [{id: a, run: \"true\"}]\n",
    );
    scratch.write("other.yml", &format!("{PLAYBOOK}steps: [{{id: a, run: \"true\"}}]\n"));
    scratch.write(
        "playbooks/broken.yml",
        "schema: kb.playbook/1\nid: broken\nsteps: [{id: a, rum: x}]\n",
    );
    let mut client = Client::connect(&scratch);
    let mut says = |tool: &str, args: Value, expected: &str| {
        let text = client.refused(tool, args);
        assert!(text.contains(expected), "`{expected}` is not in: {text}");
    };
    says("playbook_run", json!({"id": "p", "parms": {}}), "unknown field `parms`");
    says("playbook_run", json!({"id": "p", "params": {"nope": 1}}), "no parameter `nope`");
    says("playbook_run", json!({"id": "other.yml"}), "there is no playbook `other.yml`");
    says("playbook_run", json!({"id": "broken"}), "rum");
    says(
        "playbook_run",
        json!({"id": "s", "params": {"token": "file:/etc/passwd"}}),
        "is a secret",
    );
    says("run_show", json!({"run": "r1234567"}), "there is no run");
    says("run_show", json!({"run": "../../etc"}), "there is no run");
    says("run_cancel", json!({}), "missing field `run`");
    let long = client.refused("run_show", json!({"run": "a\u{1b}".repeat(500_000)}));
    assert!(long.len() < 8192 && !long.contains('\u{1b}'), "{} bytes", long.len());
    for key in [String::new(), "k".repeat(256), "a\nb".to_owned()] {
        assert!(
            client.refused("playbook_run", json!({"id": "p", "key": key})).contains("`key` has")
        );
    }
    let unknown = client.request("tools/call", json!({"name": "run_approve", "arguments": {}}));
    assert!(unknown["error"]["message"].as_str().unwrap().contains("no tool"), "{unknown}");
    for method in ["tasks/get", "tasks/result", "tasks/cancel", "tasks/list"] {
        let guessed =
            client.request(method, json!({"taskId": "786512e2-9e0d-44bd-8f29-789f320fe840"}));
        assert_eq!(guessed["error"]["code"], -32601, "{method}: {guessed}");
    }
    let listed = client.request("tools/list", json!({}));
    let show = listed["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .find(|tool| tool["name"] == "run_show");
    // Clients read by this type what a person typed.
    assert_eq!(show.unwrap()["inputSchema"]["properties"]["waitMs"]["type"], "integer", "{show:?}");
    let outside = client.request("resources/read", json!({"uri": "file:///etc/passwd"}));
    assert!(outside["error"].is_object(), "{outside}");
    assert_eq!(scratch.json(&["run", "list", "--json"]), json!([]));
}

#[test]
fn an_endless_message_and_other_text_end_the_server() {
    let scratch = scratch("steps: [{id: a, run: \"true\"}]\n");
    let mut client = Client::connect(&scratch);
    let mut stdin = client.stdin.take().unwrap();
    let block = vec![b'x'; 1 << 20];
    // The server closes the pipe before the end.
    let _ = (0..200).try_for_each(|_| stdin.write_all(&block));
    let (code, err) = client.ended();
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("KB1301"), "{err}");
    let mut other = Client::start(&scratch);
    other.stdin.as_mut().unwrap().write_all(b"hello\n").unwrap();
    let (code, err) = other.ended();
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("KB1301"), "{err}");
    let elsewhere = scratch.kb(&["-C", "/", "mcp", "serve"]);
    assert!(elsewhere.err.contains("no `.kb/` folder"), "{elsewhere:?}");
}

/// The start is recorded; its process is not there, as after a kill of the server in between.
#[test]
fn a_start_whose_process_is_missing_is_started_by_its_key() {
    let scratch = scratch(
        "concurrency: g\nsteps: [{id: a, run: \"touch held; until test -e go; do sleep 0.02; done\"}]\n",
    );
    let mut holder = scratch.command();
    holder.args(["playbook", "run", "p"]).stdout(Stdio::null()).stderr(Stdio::null());
    let _holder = holder.start();
    until("the first run", || scratch.has("held"));
    let mut client = Client::connect(&scratch);
    // The id of the run follows from the key: no other test has this one.
    let start = json!({"id": "p", "key": "missing"});
    let run = client.call("playbook_run", start.clone())["run"].as_str().unwrap().to_owned();
    assert_eq!(client.call("run_show", json!({"run": run}))["status"], "queued");
    // Its process waits for the concurrency group, and is killed before it has created the run. The server is stopped
    // before, so that it does not record the end.
    let processes = || -> Vec<Pid> {
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        let is_its = |entry: &std::fs::DirEntry| {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(&format!("--fire\0{run}"))
        };
        let pid = |entry: std::fs::DirEntry| {
            Pid::from_raw(entry.file_name().to_str().unwrap().parse().unwrap()).unwrap()
        };
        entries.filter(is_its).map(pid).collect()
    };
    until("its process", || !processes().is_empty());
    kill_process(Pid::from_child(&client.child), Signal::STOP).unwrap();
    processes().into_iter().for_each(|pid| kill_process(pid, Signal::KILL).unwrap());
    drop(client);
    let mut second = Client::connect(&scratch);
    assert_eq!(second.call("run_show", json!({"run": run}))["status"], "queued");
    scratch.write("go", "");
    assert_eq!(second.call("playbook_run", start)["repeated"], true);
    let view = second.call("run_show", json!({"run": run, "waitMs": 25_000}));
    assert_eq!(view["status"], "succeeded", "{view}");
}
