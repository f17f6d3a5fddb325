//! A gate knows what a specialist changed in an earlier step that decides the result of its command.

use crate::scratch::Scratch;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;

/// A runner of the project that prints numbers as pytest does.
const RUNNER: &str = "#!/bin/sh\necho '2 passed in 0.1s'\n";
const TEST: &str = "def test_a():\n    assert 1\n\n\ndef test_b():\n    assert 2\n";

fn write(path: &str, text: &str) -> Value {
    json!({"tool": "fs:write", "args": {"path": path, "content": text}})
}

fn run(command: &str) -> Value {
    json!({"tool": "shell:exec", "args": {"command": command}})
}

/// A project in which step `a` makes a call, with the steps after it.
fn project(first: &Value, task: &str, later: Value) -> Scratch {
    let Value::Array(later) = later else { panic!("steps are a list") };
    let a = json!({"id": "a", "specialist": "dev", "task": task, "verify": {"claims": "none"}});
    let steps: Vec<Value> = std::iter::once(a).chain(later).collect();
    let playbook = json!({"schema": "kb.playbook/1", "id": "p", "steps": steps});
    let specialist =
        "schema: kb.specialist/1\nid: dev\nrole: You work.\ntools: [\"fs:*\", \"shell:exec\"]\n";
    let turns = json!([{"calls": [first]}, {"output": {"summary": "Done."}}]);
    let report = json!([{"calls": [run(".venv/bin/pytest -q")]}, {"output": {"summary": "Done.", "testResult": "passed"}}]);
    let script = json!({"schema": "kb.script/1", "steps": {"a": turns, "b": report}});
    let scratch = Scratch::new(&[
        ("playbooks/p.yml", &playbook.to_string()),
        (".kb/specialists/dev.yml", specialist),
        ("script.json", &script.to_string()),
        (".gitignore", ".venv/\n"),
        ("conftest.py", "\n"),
        ("Makefile", "test:\n\t.venv/bin/pytest\n"),
        ("tests/test_a.py", TEST),
        (".venv/bin/pytest", RUNNER),
    ]);
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(scratch.root().join(".venv/bin/pytest"), mode).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(50));
    scratch
}

/// The last verdict of the step `b` with its checks, in a run of the playbook or in one that continues.
fn verdict(scratch: &Scratch, args: &[&str]) -> (String, String) {
    let said = scratch.kb(args);
    let events = said.events();
    let own = |event: &&Value| event["type"] == "verification:complete" && event["step"] == "b";
    let event = events.iter().rev().find(own);
    let event = event.unwrap_or_else(|| panic!("no verdict: {said:?}"));
    (event["verdict"].as_str().unwrap_or_default().to_owned(), event.to_string())
}

fn check(command: Value) -> Value {
    json!([{"id": "b", "dependsOn": ["a"], "gate": [{"command": command}]}])
}

fn reporter() -> Value {
    json!([{"id": "b", "dependsOn": ["a"], "specialist": "dev", "task": "Run the tests."}])
}

const START: [&str; 6] = ["playbook", "run", "p", "--script", "script.json", "--json"];

#[test]
fn what_an_earlier_step_changed_raises_doubt_in_a_check_and_a_claim() {
    let pytest = || check(json!([".venv/bin/pytest"]));
    let fewer = write("tests/test_a.py", "def test_a():\n    assert 1\n");
    for (first, later) in [
        (write("conftest.py", "collect_ignore = ['tests']\n"), pytest()),
        (write("conftest.py", "collect_ignore = ['tests']\n"), reporter()),
        (write("pytest.ini", "[pytest]\naddopts = -k x\n"), reporter()),
        (fewer.clone(), pytest()),
        (fewer.clone(), reporter()),
        (run("rm tests/test_a.py"), reporter()),
        (write("Makefile", "test:\n\ttrue\n"), check(json!(["make", "test"]))),
        (write("check", "#!/bin/sh\n"), check(json!(["sh", "check"]))),
    ] {
        let scratch = project(&first, "Work.", later);
        let (verdict, reason) = verdict(&scratch, &START);
        assert_eq!(verdict, "inconclusive", "{first}: {reason}");
        assert!(reason.contains("the earlier step `a` changed"), "{first}: {reason}");
        let again = scratch.kb(&["run", "verify", "@last"]);
        assert_eq!(again.code, 0, "{again:?}");
    }
}

#[test]
fn what_an_earlier_step_was_asked_for_or_what_decides_nothing_raises_no_doubt() {
    let pytest = || check(json!([".venv/bin/pytest"]));
    let new = write("tests/test_c.py", TEST);
    let added = write("tests/test_a.py", &format!("{TEST}\n\ndef test_c():\n    assert 3\n"));
    let fewer = write("tests/test_a.py", "def test_a():\n    assert 1\n");
    for (first, task, later) in [
        (new.clone(), "Work.", pytest()),
        (new, "Work.", reporter()),
        (added, "Work.", pytest()),
        (write("src/calc.py", "x = 1\n"), "Work.", reporter()),
        (fewer.clone(), "Write the tests again.", pytest()),
        (fewer, "Rewrite tests/test_a.py with one test.", reporter()),
        (write("check", "#!/bin/sh\n"), "Write the script check.", check(json!(["make", "-n"]))),
        (
            write("conftest.py", "x = 1\n"),
            "Work.",
            json!([{"id": "b", "dependsOn": ["a"], "gate": [
                {"command": [".venv/bin/pytest"], "mayChange": ["conftest.py"]},
            ]}]),
        ),
    ] {
        let scratch = project(&first, task, later);
        let (verdict, reason) = verdict(&scratch, &START);
        assert!(!reason.contains("the earlier step"), "{first}: {verdict} {reason}");
        assert_ne!(verdict, "failed", "{first}: {reason}");
    }
}

#[test]
fn a_person_who_read_the_changes_releases_them() {
    let later = json!([
        {"id": "look", "dependsOn": ["a"], "approve": "Is the change right?"},
        {"id": "b", "dependsOn": ["look"], "gate": [{"command": [".venv/bin/pytest"]}]},
    ]);
    let scratch = project(&write("conftest.py", "x = 1\n"), "Work.", later);
    scratch.kb(&START).code(3);
    let shown = scratch.kb(&["run", "diff", "@last"]).code(0);
    let (_, seen) = shown.err.split_once("--seen ").unwrap();
    let seen = seen.split('`').next().unwrap();
    let approve = ["run", "approve", "@last", "--seen", seen, "--json"];
    let (verdict, reason) = verdict(&scratch, &approve);
    assert_eq!(verdict, "passed", "{reason}");
}
