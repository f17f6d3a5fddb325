//! `delegate`: a specialist gives a task to another one, through the binary.

use crate::running::Start;
use crate::scratch::{Scratch, until};
use serde_json::{Value, json};
use std::process::Stdio;

/// A project with a lead and a worker, who both can delegate, and these settings.
fn project(settings: &str) -> Scratch {
    let specialist = |id: &str| {
        format!("schema: kb.specialist/1\nid: {id}\nrole: You help.\ntools: [delegate]\n")
    };
    let playbook =
        "schema: kb.playbook/1\nid: p\nsteps:\n  - {id: a, specialist: lead, task: Go on.}\n";
    Scratch::new(&[
        (".kb/specialists/lead.yml", &specialist("lead")),
        (".kb/specialists/worker.yml", &specialist("worker")),
        (".kb/playbooks/p.yml", playbook),
        (".kb/kb.config.yml", settings),
    ])
}

fn run(scratch: &Scratch, script: &str) -> Vec<Value> {
    scratch.write("script.yml", &format!("schema: kb.script/1\nsteps:\n{script}"));
    scratch.kb(&["playbook", "run", "p", "--script", "script.yml", "--json"]).code(0).events()
}

fn of<'e>(events: &'e [Value], kind: &str) -> Vec<&'e Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

/// The codes of the errors of tool calls.
fn refused(events: &[Value]) -> Vec<String> {
    let codes = of(events, "tool:result")
        .into_iter()
        .filter_map(|event| Some(event["error"]["code"].as_str()?.to_owned()));
    codes.collect()
}

#[test]
fn a_task_is_done_by_another_specialist_in_a_run_of_its_own() {
    let scratch = project("{}\n");
    const SCRIPT: &str = "  a:
    - calls: [{tool: delegate, args: {agent: agents/worker.md, task: Find the port, context: It is in src, priority: 3}}]
    - output: {summary: done}
  work:
    - output: {summary: It is 8080}
";
    let events = run(&scratch, SCRIPT);
    let delegated = of(&events, "delegate");
    let [start] = delegated.as_slice() else { panic!("{events:?}") };
    let facts = ["agent", "task", "depth", "priority"].map(|key| start[key].clone());
    assert_eq!(facts, [json!("worker"), json!("Find the port"), json!(1), json!(3)]);
    let child = start["child"].as_str().unwrap();
    let log = scratch.kb(&["run", "logs", child, "work", "--prompts"]).code(0).out;
    for text in ["[Delegated Task from lead]", "Find the port", "Context:", "It is in src"] {
        assert!(log.contains(text), "{text}: {log}");
    }
    let log = scratch.kb(&["run", "logs", "@last", "a", "--prompts"]).code(0).out;
    for text in ["Delegated task to worker: \\\"Find the port\\\"", "It is 8080"] {
        assert!(log.contains(text), "{text}: {log}");
    }
    let shown = scratch.json(&["run", "show", start["run"].as_str().unwrap(), "--json"]);
    assert_eq!(shown["usage"]["modelCalls"], 3, "the calls of the worker count: {shown}");
    let parent = scratch.json(&["run", "show", child, "--json"])["parent"].clone();
    assert_eq!((&parent["run"], &parent["instance"]), (&start["run"], &json!("a")));
    for run in [child, start["run"].as_str().unwrap()] {
        scratch.kb(&["run", "verify", run]).code(0);
    }
}

#[test]
fn a_delegate_that_delegates_to_itself_ends_at_the_depth_of_the_settings() {
    let scratch = project("orchestrator: {maxDepth: 3}\n");
    const SCRIPT: &str = "  a:
    - calls: [{tool: delegate, args: {agent: lead, task: Do it}}]
    - output: {summary: done}
  work:
    - calls: [{tool: delegate, args: {agent: lead, task: Do it}}]
    - output: {summary: done}
";
    run(&scratch, SCRIPT);
    let runs = scratch.json(&["run", "list", "--json"]);
    let runs: Vec<&str> =
        runs.as_array().unwrap().iter().map(|run| run["run"].as_str().unwrap()).collect();
    assert_eq!(runs.len(), 4, "{runs:?}");
    let events = |run: &str| scratch.kb(&["run", "events", run, "--json"]).events();
    let refusals: Vec<String> = runs.iter().flat_map(|run| refused(&events(run))).collect();
    assert_eq!(refusals, ["KB0627"]);
}

#[test]
fn tasks_above_the_fan_out_unknown_specialists_and_a_depth_of_0_are_refused() {
    let scratch = project("orchestrator: {maxFanout: 2}\n");
    const SCRIPT: &str = "  a:
    - calls:
        - {tool: delegate, args: {agent: nobody, task: One}}
        - {tool: delegate, args: {agent: worker, task: One}}
        - {tool: delegate, args: {agent: worker, task: Two}}
        - {tool: delegate, args: {agent: worker, task: Three}}
    - output: {summary: done}
  work:
    - output: {summary: done}
";
    let events = run(&scratch, SCRIPT);
    assert_eq!((refused(&events).len(), of(&events, "delegate").len()), (2, 2), "{events:?}");
    let none = project("orchestrator: {maxDepth: 0}\n");
    let events = run(&none, SCRIPT);
    assert_eq!((refused(&events).len(), of(&events, "delegate").len()), (4, 0), "{events:?}");
}

#[test]
fn a_task_is_continued_after_a_kill_and_cancelled_with_its_parent() {
    let scratch = project("{}\n");
    const SCRIPT: &str = "schema: kb.script/1
steps:
  a:
    - calls: [{tool: delegate, args: {agent: worker, task: Slowly}}]
    - output: {summary: done}
  work:
    - delayMs: 2000
      output: {summary: slow}
";
    scratch.write("script.yml", SCRIPT);
    let start = || {
        let mut command = scratch.command();
        command.args(["playbook", "run", "p", "--script", "script.yml"]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).start()
    };
    let events = || scratch.kb(&["run", "events", "@last", "--json"]).events();
    let mut running = start();
    until("the task does not start", || !of(&events(), "child:start").is_empty());
    running.kill().unwrap();
    running.wait().unwrap();
    scratch.kb(&["run", "resume", "@last"]).code(0);
    let ended = events();
    let children: Vec<&Value> = of(&ended, "child:start").iter().map(|own| &own["child"]).collect();
    assert!(children.iter().all(|own| *own == children[0]), "{children:?}");
    assert!(refused(&ended).is_empty(), "{ended:?}");
    scratch.kb(&["run", "verify", "@last"]).code(0);

    let mut running = start();
    until("the task does not start", || {
        let events = events();
        of(&events, "run:end").is_empty() && !of(&events, "child:start").is_empty()
    });
    scratch.kb(&["run", "cancel", "@last"]);
    running.wait().unwrap();
    let child = of(&events(), "delegate")[0]["child"].as_str().unwrap().to_owned();
    for run in ["@last", &child] {
        let shown = scratch.json(&["run", "show", run, "--json"]);
        assert_eq!(shown["status"], "cancelled", "{shown}");
    }
}

/// What the delegate changed is in the journal of its own run.
#[test]
fn an_approval_holds_until_a_task_was_delegated() {
    let scratch = project("{}\n");
    let tools = |id: &str, tools: &str| {
        let text =
            format!("schema: kb.specialist/1\nid: {id}\nrole: You help.\ntools: [{tools}]\n");
        scratch.write(&format!(".kb/specialists/{id}.yml"), &text);
    };
    tools("lead", "'shell:exec', delegate");
    tools("worker", "'fs:write'");
    scratch.write("x.sh", "echo first >> said\n");
    let shell = json!({"calls": [{"tool": "shell:exec", "args": {"argv": ["sh", "x.sh"]}}]});
    let delegate =
        json!({"calls": [{"tool": "delegate", "args": {"agent": "worker", "task": "Go on"}}]});
    let write = json!({"calls": [{"tool": "fs:write", "args": {"path": "x.sh", "content": "echo second >> said\n"}}]});
    let done = json!({"output": {"summary": "done"}});
    let steps = json!({"a": [shell, shell, delegate, shell, done], "work": [write, done]});
    scratch.write("script.yml", &json!({"schema": "kb.script/1", "steps": steps}).to_string());
    let at_process = |args: &[&str]| {
        scratch.kb_with(args, |kb| {
            kb.env("KB_SANDBOX_AT_MOST", "process");
        })
    };
    let asked = at_process(&["playbook", "run", "p", "--script", "script.yml"]).code(3);
    let (_, call) = asked.out.split_once("} [").unwrap_or_else(|| panic!("{asked:?}"));
    let call: String = call.chars().take_while(char::is_ascii_hexdigit).collect();
    let said = at_process(&["run", "approve", "@last", "a", "--call", &call]).code(3);
    let written = std::fs::read_to_string(scratch.root().join("said")).unwrap_or_default();
    assert_eq!(written.lines().filter(|line| *line == "second").count(), 0, "{said:?}");
    assert!(written.contains("first"), "{said:?}");
}
