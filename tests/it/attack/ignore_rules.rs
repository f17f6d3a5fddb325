//! Steps that change ignore rules, to make an old file look new or to hide an edit. The rules are those
//! of the start of the run.

use crate::scratch::Scratch;
use serde_json::{Value, json};

const SPECIALIST: &str = "schema: kb.specialist/1
id: worker
role: You claim more than you did.
tools: [shell:exec, fs:write, fs:search]
";

/// A playbook of these steps, and a model that calls `shell:exec` with these commands and submits
/// this output, for each step of a specialist.
fn project(steps: &str, script: &[(&str, &[&str], Value)]) -> Scratch {
    let turns = script.iter().map(|(step, commands, output)| {
        let call = |command: &&str| json!({"tool": "shell:exec", "args": {"command": command}});
        // One turn per command, so that they run one after the other.
        let calls = commands.iter().map(|command| json!({"calls": [call(command)]}));
        let turns: Vec<Value> = calls.chain([json!({"output": output})]).collect();
        (step.to_string(), Value::Array(turns))
    });
    let turns: serde_json::Map<String, Value> = turns.collect();
    let script = json!({"schema": "kb.script/1", "steps": turns}).to_string();
    Scratch::new(&[
        (".kb/playbooks/p.yml", &format!("schema: kb.playbook/1\nid: p\nsteps:\n{steps}")),
        (".kb/specialists/worker.yml", SPECIALIST),
        ("script.yml", &script),
        ("test.sh", "echo 'test result: ok. 3 passed; 0 failed'\n"),
        (".gitignore", "*.log\n"),
        ("old.log", "old\n"),
        ("src/a.rs", "fn a() {}\n"),
    ])
}

const RUN: [&str; 6] = ["playbook", "run", "p", "--script", "script.yml", "--yes"];
const STRICT: &str =
    "  - {id: a, agent: worker, task: Work., verify: {claims: strict, onFailed: fail}}\n";

/// The verdict of the gate of a step, with its reason.
fn verdict(scratch: &Scratch, step: &str) -> (String, String) {
    let events = scratch.kb(&["run", "events", "@last"]).code(0).events();
    let is_gate =
        |event: &&Value| event["type"] == "verification:complete" && event["step"] == step;
    let gate = events.iter().rfind(is_gate).unwrap_or_else(|| panic!("no gate: {events:#?}"));
    let text = |key: &str| gate[key].as_str().unwrap_or_default().to_owned();
    (text("verdict"), text("reason"))
}

#[test]
fn an_old_file_does_not_become_a_new_one() {
    let tries: [&[&str]; 4] = [
        &["echo > .gitignore"],
        &["rm .gitignore", "true"],
        &["echo '!old.log' >> .gitignore", "cat old.log"],
        &["mkdir -p d; mv .gitignore d"],
    ];
    for commands in tries {
        let scratch =
            project(STRICT, &[("a", commands, json!({"summary": "done", "created": ["old.log"]}))]);
        scratch.kb(&RUN);
        let (verdict, reason) = verdict(&scratch, "a");
        assert_eq!(verdict, "inconclusive", "{commands:?}: {reason}");
        assert!(reason.contains("ignore rules"), "{commands:?}: {reason}");
    }
}

#[test]
fn an_edit_after_the_tests_is_not_hidden() {
    let hide = "echo '/src/' >> .gitignore";
    let own = "echo '*' > src/.gitignore";
    let edit = "echo broken >> src/a.rs";
    for commands in [
        [hide, "bash test.sh", edit],
        ["bash test.sh", hide, edit],
        ["bash test.sh", own, edit],
        ["true", "bash test.sh", "echo '*.rs' >> .gitignore; echo broken >> src/a.rs"],
    ] {
        for level in ["process", "kernel"] {
            let output = json!({"summary": "done", "testResult": "passed"});
            let scratch = project(STRICT, &[("a", &commands, output)]);
            scratch.kb_with(&RUN, |kb| _ = kb.env("KB_SANDBOX_AT_MOST", level)).code(1);
            let (verdict, reason) = verdict(&scratch, "a");
            assert_eq!(verdict, "failed", "{commands:?}: {reason}");
            assert!(reason.contains("was edited after"), "{commands:?}: {reason}");
            scratch.kb(&["run", "diff", "@last"]).code(0).says(&["src/a.rs", "+broken"]);
            scratch.kb(&["run", "verify", "@last"]).code(0);
        }
    }
}

/// A check of a gate sees the files that it saw at the start.
#[test]
fn a_file_is_not_hidden_from_a_check() {
    let steps = "  - {id: a, agent: worker, task: Work., verify: {claims: none}}
  - id: check
    dependsOn: a
    gate: [{file: {path: '**/*.rs', count: {pattern: TODO, max: 0}}}]
";
    let commands = ["echo '/src/' >> .gitignore; echo '// TODO' >> src/a.rs"];
    let scratch = project(steps, &[("a", &commands, json!({"summary": "done"}))]);
    scratch.kb(&RUN).code(1);
    assert_eq!(verdict(&scratch, "check").0, "failed");
}

/// The rules are stored with the run: another process that continues it uses the same.
#[test]
fn a_resumed_run_uses_the_rules_of_its_start() {
    let steps = "  - {id: hide, run: \"echo '/src/' >> .gitignore\"}
  - {id: ok, dependsOn: hide, approve: \"Go?\"}
  - {id: a, dependsOn: ok, agent: worker, task: Work., verify: {claims: strict, onFailed: fail}}
";
    let output = json!({"summary": "done", "modified": ["src/a.rs"]});
    let scratch = project(steps, &[("a", &["echo x >> src/a.rs"], output)]);
    scratch.kb(&RUN).code(3);
    scratch.kb(&["run", "approve", "@last", "ok"]);
    scratch.kb(&["run", "resume", "@last", "--yes"]);
    let (verdict, reason) = verdict(&scratch, "a");
    assert_eq!(verdict, "passed", "{reason}");
}
