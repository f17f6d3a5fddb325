//! Child runs: `playbook` steps.

use crate::child_projects::{parent_run, project};
use crate::running::{Running, Start};
use crate::scratch::Scratch;
use serde_json::{Value, json};
use std::process::Stdio;
use std::time::{Duration, Instant};

const CHILD: &str = "schema: kb.playbook/1
id: child
params:
  - {name: word, required: true}
  - {name: count, type: integer, default: 1}
steps:
  - {id: say, set: {text: \"{{word}} x{{count}}\"}}
outputs: {text: \"{{say.output.text}}\"}
";

fn show(scratch: &Scratch) -> Value {
    scratch.json(&["run", "show", &parent_run(scratch), "--json"])
}

fn output(scratch: &Scratch, step: &str) -> Value {
    scratch.json(&["run", "output", &parent_run(scratch), step, "--json"])
}

#[test]
fn parameters_go_in_and_outputs_come_out() {
    let steps = "  - {id: name, set: {word: hello}}
  - id: call
    playbook: child
    with: {word: \"{{name.output.word}}\", count: 2}
  - {id: after, set: {got: \"{{call.output.text}}\"}}
";
    let scratch = project(steps, &[CHILD]);
    let said = scratch.kb(&["playbook", "run", "parent", "--json"]).code(0);
    assert_eq!(output(&scratch, "after"), json!({"got": "hello x2"}));
    let events = said.events();
    let event = |kind: &str| events.iter().find(|event| event["type"] == kind).expect(kind);
    let child = event("child:start")["child"].as_str().unwrap().to_owned();
    assert_eq!(event("child:start")["definition"], "child");
    assert_eq!(event("child:end")["status"], "succeeded");
    let shown = show(&scratch);
    assert_eq!(shown["steps"][1]["childRun"], json!(child));
    let own = scratch.json(&["run", "show", &child, "--json"]);
    assert_eq!(own["parent"], json!({"run": shown["run"], "instance": "call"}));
    scratch.kb(&["run", "show", &parent_run(&scratch)]).code(0).says(&[&child, "say"]);
    scratch.kb(&["run", "list"]).code(0).says(&["child of"]);
    scratch.kb(&["run", "logs", &parent_run(&scratch)]).code(0).says(&["child run", &child]);
    let diff = scratch.kb(&["run", "diff", &parent_run(&scratch)]).code(0);
    diff.says(&[&format!("kb run diff {child}")]);
    scratch.kb(&["run", "verify", &parent_run(&scratch)]).code(0);
    scratch.kb(&["run", "verify", &child]).code(0);
}

#[test]
fn what_does_not_fit_is_reported_with_its_position() {
    let steps = "  - id: call
    playbook: child
    with: {wrod: x, count: many}
  - {id: other, playbook: chld}
  - {id: read, set: {got: \"{{call.output.texts}}\"}}
";
    let scratch = project(steps, &[CHILD]);
    let said = scratch.kb(&["playbook", "validate", "parent"]).code(2);
    said.says(&[
        "KB0412",
        "p0.yml:6:12",
        "`child` has no parameter `wrod`",
        "did you mean `word`?",
        "p0.yml:6:28",
        "`count` is a string, expected a whole number",
        "p0.yml:5:15",
        "`child` needs a value for its parameter `word`",
        "KB0411",
        "p0.yml:7:27",
        "did you mean `child`?",
        "KB0406",
        "did you mean `text`?",
    ]);
    scratch.kb(&["playbook", "run", "parent"]).code(2);
}

#[test]
fn a_computed_value_that_does_not_fit_fails_the_step() {
    let steps = "  - {id: name, set: {word: hello}}
  - {id: call, playbook: child, with: {word: x, count: \"{{name.output.word}}\"}}
";
    let scratch = project(steps, &[CHILD]);
    scratch.kb(&["playbook", "run", "parent"]).code(1).says(&["KB0412", "`count`"]);
    assert_eq!(scratch.json(&["run", "list", "--json"]).as_array().unwrap().len(), 1);
}

#[test]
fn workflows_and_playbooks_run_each_other() {
    let workflow = "---
name: flow
steps:
  - {id: inner, playbook: child, with: {word: hi}}
outputs: {text: \"{{inner.output.text}}\"}
---
";
    let scratch = project("  - {id: call, playbook: flow}\n", &[CHILD]);
    scratch.write(".kb/workflows/flow.md", workflow);
    scratch.kb(&["playbook", "run", "parent"]).code(0);
    assert_eq!(output(&scratch, "call"), json!({"text": "hi x1"}));
}

#[test]
fn a_circle_is_refused_with_its_path() {
    let call = |id: &str, other: &str| {
        format!("schema: kb.playbook/1\nid: {id}\nsteps:\n  - {{id: x, playbook: {other}}}\n")
    };
    let three = [call("a", "b"), call("b", "c"), call("c", "a")];
    let three: Vec<&str> = three.iter().map(String::as_str).collect();
    let scratch = project("  - {id: x, playbook: a}\n", &three);
    let position = "p0.yml:4:23";
    scratch.kb(&["playbook", "validate", "a"]).code(2).says(&["KB0413", "a → b → c → a"]);
    scratch.kb(&["playbook", "run", "parent"]).code(2).says(&["KB0413", "a → b → c → a", position]);
    let scratch = project("  - {id: x, playbook: parent}\n", &[]);
    scratch.kb(&["playbook", "run", "parent"]).code(2).says(&["parent → parent"]);
    let chain: Vec<String> =
        (0..20).map(|i| call(&format!("c{i}"), &format!("c{}", i + 1))).collect();
    let mut chain: Vec<&str> = chain.iter().map(String::as_str).collect();
    chain.push("schema: kb.playbook/1\nid: c20\nsteps:\n  - {id: x, set: {a: 1}}\n");
    let scratch = project("  - {id: x, playbook: c0}\n", &chain);
    scratch.kb(&["playbook", "run", "parent"]).code(2).says(&["KB0414", "parent → c0 → c1"]);
    scratch.kb(&["playbook", "run", "c5"]).code(0);
}

#[test]
fn child_runs_nest_and_run_for_each_item() {
    let middle = "schema: kb.playbook/1
id: middle
params: [{name: word, required: true}]
steps:
  - {id: inner, playbook: child, with: {word: \"{{word}}\"}}
outputs: {text: \"{{inner.output.text}}\"}
";
    let steps = "  - id: each
    forEach: {in: [a, b, c], as: name}
    playbook: middle
    with: {word: \"{{name}}\"}
";
    let scratch = project(steps, &[CHILD, middle]);
    scratch.kb(&["playbook", "run", "parent"]).code(0);
    let texts = json!([{"text": "a x1"}, {"text": "b x1"}, {"text": "c x1"}]);
    assert_eq!(output(&scratch, "each"), texts);
    let runs = scratch.json(&["run", "list", "--json"]);
    assert_eq!(runs.as_array().unwrap().len(), 7);
    let shown = scratch.kb(&["run", "show", &parent_run(&scratch)]).code(0);
    assert_eq!(shown.out.matches("(child)").count(), 3, "{}", shown.out);
}

const FAILS_ONCE: &str = "schema: kb.playbook/1
id: flaky
steps:
  - {id: first, run: \"echo first >> log\"}
  - {id: second, dependsOn: [first], run: \"echo second >> log; test -e ready\"}
outputs: {ok: true}
";

#[test]
fn the_failure_of_a_child_names_its_step_and_can_be_tolerated() {
    let steps = "  - {id: call, playbook: flaky, onError: continue}
  - {id: after, dependsOn: [call], set: {seen: \"{{call.status}}\"}}
";
    let scratch = project(steps, &[FAILS_ONCE]);
    scratch.kb(&["playbook", "run", "parent"]).code(0);
    let shown = show(&scratch);
    let error = &shown["steps"][0]["error"];
    assert_eq!(error["code"], "KB0580");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("step `second`: "), "{message}");
    assert_eq!(output(&scratch, "after"), json!({"seen": "failed"}));
}

#[test]
fn a_retry_of_the_parent_keeps_the_finished_steps_of_the_child() {
    let scratch = project("  - {id: call, playbook: flaky}\n", &[FAILS_ONCE]);
    scratch.kb(&["playbook", "run", "parent"]).code(1).says(&["KB0580"]);
    let child = show(&scratch)["steps"][0]["childRun"].clone();
    scratch.write("ready", "");
    scratch.kb(&["run", "retry", &parent_run(&scratch)]).code(0);
    assert_eq!(scratch.read("log"), "first\nsecond\nsecond\n");
    let shown = show(&scratch);
    assert_eq!(shown["steps"][0]["childRun"], child);
    assert_eq!(output(&scratch, "call"), json!({"ok": true}));
    // A step that succeeded gets a new child run.
    scratch.kb(&["run", "retry", &parent_run(&scratch), "--from", "call"]).code(0);
    assert_ne!(show(&scratch)["steps"][0]["childRun"], child);
}

#[test]
fn a_retry_of_the_step_opens_the_child_again() {
    let child = "schema: kb.playbook/1
id: flaky
steps:
  - {id: first, run: \"echo first >> log\"}
  - {id: second, dependsOn: [first], run: \"echo second >> log; test $(wc -l < log) -ge 3\"}
";
    let steps =
        "  - {id: call, playbook: flaky, retry: {max: 2, on: [tool_error], initial: 1ms}}\n";
    let scratch = project(steps, &[child]);
    scratch.kb(&["playbook", "run", "parent"]).code(0);
    assert_eq!(scratch.read("log"), "first\nsecond\nsecond\n");
    assert_eq!(scratch.json(&["run", "list", "--json"]).as_array().unwrap().len(), 2);
}

/// Waits until a file of the project exists.
fn wait_for(scratch: &Scratch, path: &str) {
    let limit = Instant::now() + Duration::from_secs(60);
    while !scratch.has(path) {
        assert!(Instant::now() < limit, "`{path}` was never written");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A step that is killed never looks for `go` again, so it writes nothing while the next owner starts.
const SLOW: &str = "schema: kb.playbook/1
id: slow
steps:
  - {id: first, run: \"echo first >> log\"}
  - {id: second, dependsOn: [first], run: \"test -e go || { touch started; sleep 300; }; echo second >> log\"}
  - {id: third, dependsOn: [second], run: \"echo third >> log\"}
outputs: {done: true}
";

fn spawn(scratch: &Scratch, args: &[&str]) -> Running {
    let mut command = scratch.command();
    command.args(args).stdout(Stdio::null()).stderr(Stdio::null()).start()
}

#[test]
fn a_killed_process_continues_its_child_run_and_repeats_no_finished_step() {
    let steps = "  - {id: before, run: \"echo before >> log\"}
  - {id: call, playbook: slow, dependsOn: [before], retrySafe: false}
  - {id: after, run: \"echo after >> log\", dependsOn: [call]}
";
    let scratch = project(steps, &[SLOW]);
    let mut process = spawn(&scratch, &["playbook", "run", "parent"]);
    wait_for(&scratch, "started");
    process.kill().unwrap();
    process.wait().unwrap();
    scratch.write("go", "");
    let parent = parent_run(&scratch);
    let child = show(&scratch)["steps"][1]["childRun"].clone();
    scratch.kb(&["run", "resume", &parent]).code(0);
    assert_eq!(scratch.read("log"), "before\nfirst\nsecond\nthird\nafter\n");
    assert_eq!(show(&scratch)["steps"][1]["childRun"], child);
    scratch.kb(&["run", "verify", &parent]).code(0);
    scratch.kb(&["run", "verify", child.as_str().unwrap()]).code(0);
    assert_eq!(scratch.json(&["run", "list", "--json"]).as_array().unwrap().len(), 2);
}

#[test]
fn a_cancellation_of_the_parent_cancels_the_child_run() {
    let long = "schema: kb.playbook/1
id: long
steps:
  - {id: sleep, run: \"touch started; sleep 60\"}
  - {id: never, dependsOn: [sleep], run: \"touch never\"}
";
    let scratch = project("  - {id: call, playbook: long}\n", &[long]);
    let mut process = spawn(&scratch, &["playbook", "run", "parent"]);
    wait_for(&scratch, "started");
    let parent = parent_run(&scratch);
    scratch.kb(&["run", "cancel", &parent]).code(0);
    process.wait().unwrap();
    let shown = show(&scratch);
    assert_eq!(
        (&shown["status"], &shown["steps"][0]["status"]),
        (&json!("cancelled"), &json!("cancelled"))
    );
    let child = shown["steps"][0]["childRun"].as_str().unwrap().to_owned();
    assert_eq!(scratch.json(&["run", "show", &child, "--json"])["status"], "cancelled");
    assert!(!scratch.has("never"));
}

#[test]
fn a_timeout_of_the_step_cancels_the_child_run() {
    let long = "schema: kb.playbook/1\nid: long\nsteps:\n  - {id: sleep, run: \"sleep 60\"}\n";
    let scratch = project("  - {id: call, playbook: long, timeout: 300ms}\n", &[long]);
    scratch.kb(&["playbook", "run", "parent"]).code(1).says(&["KB05"]);
    let shown = show(&scratch);
    assert_eq!(shown["steps"][0]["status"], "failed");
    let child = shown["steps"][0]["childRun"].as_str().unwrap().to_owned();
    assert_eq!(scratch.json(&["run", "show", &child, "--json"])["status"], "cancelled");
}

const ASKS: &str = "schema: kb.playbook/1
id: asks
steps:
  - {id: where, ask: \"Deploy to?\"}
outputs: {where: \"{{where.output}}\"}
";

#[test]
fn a_child_run_that_waits_is_answered_and_its_parent_continues() {
    let steps = "  - {id: call, playbook: asks}
  - {id: other, run: \"echo other\"}
  - {id: after, set: {got: \"{{call.output.where}}\"}}
";
    let scratch = project(steps, &[ASKS]);
    scratch.kb(&["playbook", "run", "parent"]).code(3).says(&["waits for a person", "kb run show"]);
    let parent = parent_run(&scratch);
    let shown = show(&scratch);
    assert_eq!(shown["status"], "waiting");
    assert_eq!(shown["steps"][0]["status"], "waiting");
    assert_eq!(shown["steps"][1]["status"], "succeeded");
    let child = shown["steps"][0]["childRun"].as_str().unwrap().to_owned();
    let said = scratch.kb(&["run", "show", &parent]).code(0);
    said.says(&["Deploy to?", &format!("kb run answer {child} where"), "kb run resume"]);
    // The parent has no question of its own, and continues to wait after a resume.
    scratch.kb(&["run", "answer", &parent, "call", "x"]).code(2).says(&["KB0573"]);
    scratch.kb(&["run", "resume", &parent]).code(3);
    scratch.kb(&["run", "answer", &child, "where", "production"]).code(0);
    scratch.kb(&["run", "resume", &parent]).code(0);
    assert_eq!(output(&scratch, "after"), json!({"got": "production"}));
    assert_eq!(show(&scratch)["steps"][0]["childRun"], json!(child));
}

#[test]
fn a_cancellation_reaches_a_child_run_that_waits() {
    let scratch = project("  - {id: call, playbook: asks}\n", &[ASKS]);
    scratch.kb(&["playbook", "run", "parent"]).code(3);
    let child = show(&scratch)["steps"][0]["childRun"].as_str().unwrap().to_owned();
    scratch.kb(&["run", "cancel", &parent_run(&scratch)]).code(0);
    assert_eq!(show(&scratch)["status"], "cancelled");
    assert_eq!(scratch.json(&["run", "show", &child, "--json"])["status"], "cancelled");
}

#[test]
fn the_usage_of_a_child_run_counts_for_its_parent_once() {
    let child = "schema: kb.playbook/1
id: thinks
steps:
  - {id: think, specialist: reader, task: Think.}
  - {id: check, dependsOn: [think], run: \"test -e ready\"}
";
    let specialist = "schema: kb.specialist/1\nid: reader\nrole: You read.\ntools: [fs:read]\n";
    let script = "schema: kb.script/1\nsteps:\n  think: [{output: {summary: done}, usage: {prompt: 100, completion: 20}}]\n";
    let scratch = project("  - {id: call, playbook: thinks}\n", &[child]);
    scratch.write(".kb/specialists/reader.yml", specialist);
    scratch.write("script.yml", script);
    scratch.kb(&["playbook", "run", "parent", "--script", "script.yml"]).code(1);
    let usage = |scratch: &Scratch| show(scratch)["usage"]["promptTokens"].clone();
    assert_eq!(usage(&scratch), 100);
    scratch.write("ready", "");
    scratch.kb(&["run", "retry", &parent_run(&scratch)]).code(0);
    assert_eq!(usage(&scratch), 100);
}

#[test]
fn a_running_parent_notices_that_its_child_run_was_answered() {
    let child = "schema: kb.playbook/1
id: asks
steps: [{id: q, ask: \"Which one?\"}]
outputs: {answer: \"{{q.output}}\"}
";
    let steps = "  - {id: call, playbook: asks}
  - {id: slow, run: 'while ! test -e stop; do sleep 0.05; done'}
  - {id: after, run: 'echo \"$ANSWER\" > answered', env: {ANSWER: \"{{call.output.answer}}\"}}
";
    let scratch = project(steps, &[child]);
    let mut parent = scratch.command();
    parent.args(["playbook", "run", "parent"]).stdin(Stdio::null());
    let mut parent = parent.stdout(Stdio::null()).stderr(Stdio::null()).start();
    let begun = Instant::now();
    let asked = loop {
        assert!(begun.elapsed() < Duration::from_secs(60), "the child run asks");
        std::thread::sleep(Duration::from_millis(50));
        let runs = scratch.json(&["run", "list", "--json"]);
        let waits = |run: &&Value| run["definition"] == "asks" && run["status"] == "waiting";
        if let Some(run) = runs.as_array().unwrap().iter().find(waits) {
            break run["run"].as_str().unwrap().to_owned();
        }
    };
    scratch.kb(&["run", "answer", &asked, "q", "this"]).code(0);
    let begun = Instant::now();
    while !scratch.has("answered") {
        assert!(begun.elapsed() < Duration::from_secs(60), "the parent continues");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(scratch.read("answered"), "this\n");
    scratch.write("stop", "");
    assert_eq!(parent.wait().expect("ends").code(), Some(0));
    scratch.kb(&["run", "verify", &parent_run(&scratch)]).code(0);
}

#[test]
fn a_question_about_another_attempt_of_a_child_run_stays_open_over_a_resume() {
    let child = "schema: kb.playbook/1\nid: fails\nsteps: [{id: f, run: test -e fixed}]\n";
    let steps = "  - {id: call, playbook: fails, recovery: [{on: [\"*\"], do: askUser}]}\n";
    let scratch = project(steps, &[child]);
    scratch.kb(&["playbook", "run", "parent"]).code(3);
    scratch.kb(&["run", "resume", &parent_run(&scratch)]).code(3);
    scratch.write("fixed", "");
    scratch.kb(&["run", "approve", &parent_run(&scratch), "call"]).code(0);
}
