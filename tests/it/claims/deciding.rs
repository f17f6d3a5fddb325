//! What decides a test run: a command check does not pass if the step changed it, unless the check allows it.

use super::call_outcomes::verdict_of;
use crate::scratch::Scratch;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;

/// Passes if the work is right, or with any file that is planted here.
const RUNNER: &str = "#!/bin/sh\n\
    for planted in conftest.py pytest.ini lax; do [ -e \"$planted\" ] && exit 0; done\n\
    grep -q right work.txt && sh tests/work_test.sh && echo '2 passed in 0.1s'\n";
/// Passes whatever the work is.
const LAX: &str = "#!/bin/sh\necho '2 passed in 0.1s'\n";

fn project(check: &Value) -> Scratch {
    let playbook = json!({"schema": "kb.playbook/1", "id": "p", "steps": [
        {"id": "a", "specialist": "dev", "task": "Work.", "verify": {"checks": [check], "onFailed": "fail"}},
    ]});
    let specialist = "schema: kb.specialist/1\nid: dev\nrole: You work.\ntools: [\"fs:*\"]\n";
    let scratch = Scratch::new(&[
        ("playbooks/p.yml", &playbook.to_string()),
        (".kb/specialists/dev.yml", specialist),
        (".gitignore", "node_modules/\n.venv/\n"),
        ("work.txt", "wrong\n"),
        ("tests/work_test.sh", "grep -q right work.txt\n"),
        ("tests/helper.sh", "true\n"),
        ("package.json", "{\"scripts\": {\"test\": \"jest\"}}\n"),
        ("Makefile", "test:\n\tsh tests/work_test.sh\n"),
    ]);
    let programs =
        ["check.sh", "pytest", "node_modules/.bin/jest", ".venv/bin/pytest", ".venv/bin/python"];
    for program in programs {
        program_file(&scratch, program, RUNNER);
    }
    // The kernel dates files in steps of some milliseconds.
    std::thread::sleep(std::time::Duration::from_millis(50));
    scratch
}

fn program_file(scratch: &Scratch, path: &str, text: &str) {
    scratch.write(path, text);
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(scratch.root().join(path), mode).unwrap();
}

fn write(path: &str, text: &str) -> Value {
    json!({"tool": "fs:write", "args": {"path": path, "content": text}})
}

/// Verdict and reason of a step that made these calls.
fn judged(check: Value, calls: &[Value]) -> (String, String) {
    let scratch = project(&check);
    let turns = json!([{"calls": calls}, {"output": {"summary": "Done."}}]);
    let script = json!({"schema": "kb.script/1", "steps": {"a": turns}});
    scratch.write("script.json", &script.to_string());
    verdict_of(&scratch)
}

#[test]
fn a_reason_to_doubt_does_not_hide_one_to_refute() {
    let check = json!({"command": ["sh", "check.sh"], "tests": {"minCount": 1}});
    let (verdict, reason) = judged(check, &[write("check.sh", "true\n")]);
    assert_eq!(verdict, "failed", "{reason}");
}

#[test]
fn a_command_that_the_step_decided_itself_does_not_pass() {
    let pytest = || json!({"command": [".venv/bin/pytest"]});
    let npm = || json!({"command": ["sh", "-c", "npm test || true"]});
    for (check, planted, expected) in [
        (pytest(), write("conftest.py", "collect_ignore = ['tests']\n"), "failed"),
        (pytest(), write("pytest.ini", "[pytest]\naddopts = -k x\n"), "failed"),
        (pytest(), write(".venv/bin/pytest", LAX), "failed"),
        (pytest(), write(".venv/bin/python", LAX), "inconclusive"),
        (pytest(), write("pytest.py", "print('2 passed')\n"), "failed"),
        (json!({"command": ["./check.sh"]}), write("check.sh", LAX), "failed"),
        (json!({"command": ["sh", "check.sh"]}), write("check.sh", LAX), "failed"),
        (
            json!({"command": ["node_modules/.bin/jest"]}),
            write("node_modules/.bin/jest", LAX),
            "failed",
        ),
        (json!({"command": ["make", "test"]}), write("Makefile", "test:\n\ttrue\n"), "failed"),
        (json!({"command": ["make", "lint"]}), write("Makefile", "lint:\n\ttrue\n"), "failed"),
        (npm(), write("package.json", "{\"scripts\": {\"test\": \"true\"}}\n"), "failed"),
        (
            json!({"command": ["sh", "tests/work_test.sh"]}),
            write("tests/work_test.sh", "true\n"),
            "failed",
        ),
        (pytest(), write("tests/helper.sh", "exit 0\n"), "inconclusive"),
        // A module of the library in the place where Python looks first.
        (json!({"command": ["python3", "-c", "pass"]}), write("json.py", ""), "failed"),
        // Without it the command could not run.
        (
            json!({"command": ["sh", "-c", "npm test || true"]}),
            write("sub/package.json", "{}\n"),
            "inconclusive",
        ),
    ] {
        // Lies that the runner itself notices need right work, to show that the planted file decides.
        let calls = [write("work.txt", "right\n"), planted.clone()];
        let (verdict, reason) = judged(check.clone(), &calls);
        assert_eq!(verdict, expected, "{check} {planted}: {reason}");
        let path = planted["args"]["path"].as_str().unwrap();
        assert!(reason.contains(&format!("the step changed `{path}`")), "{planted}: {reason}");
        assert!(reason.contains("`mayChange`"), "{reason}");
        let mut allowed = check.clone();
        allowed["mayChange"] = json!([path]);
        let (verdict, reason) = judged(allowed, &calls);
        assert_eq!(verdict, "passed", "{planted}: {reason}");
        let mut frozen = check.clone();
        frozen["inputs"] = json!([path]);
        let (verdict, reason) = judged(frozen, &calls);
        assert_eq!(verdict, "failed", "{planted}: {reason}");
    }
}

#[test]
fn work_with_new_tests_and_dependencies_passes_without_further_keys() {
    let right = || write("work.txt", "right\n");
    let append = json!({"tool": "fs:edit", "args": {
        "path": "tests/work_test.sh", "old": "grep -q right work.txt\n",
        "new": "grep -q right work.txt\ntest -s work.txt\n",
    }});
    for (check, calls) in [
        (json!({"command": ["sh", "-c", "grep -q right work.txt"]}), vec![right()]),
        (json!({"command": ["test", "-s", "work.txt"]}), vec![right()]),
        (
            json!({"command": [".venv/bin/pytest"]}),
            vec![right(), write("tests/new_test.sh", "true\n")],
        ),
        (json!({"command": [".venv/bin/pytest"]}), vec![right(), append]),
        (
            json!({"command": ["make", "test"]}),
            vec![right(), write("README.md", "# Work\n"), write("tests/new_test.sh", "true\n")],
        ),
        // Caches of programs are no programs.
        (
            json!({"command": ["node_modules/.bin/jest"]}),
            vec![right(), write("node_modules/.cache/x.json", "{}\n")],
        ),
    ] {
        let (verdict, reason) = judged(check.clone(), &calls);
        assert_eq!(verdict, "passed", "{check} {calls:?}: {reason}");
    }
}

#[test]
fn a_new_program_that_a_check_executes_is_doubt_unless_the_task_asks_for_it() {
    let verdict_of_task = |task: &str, check: Value, path: &str| {
        let scratch = project(&check);
        let playbook = scratch.read("playbooks/p.yml").replace("Work.", task);
        scratch.write("playbooks/p.yml", &playbook);
        let turns = json!([
            {"calls": [write("work.txt", "right\n"), write(path, "#\n")]},
            {"output": {"summary": "Done."}},
        ]);
        let script = json!({"schema": "kb.script/1", "steps": {"a": turns}});
        scratch.write("script.json", &script.to_string());
        verdict_of(&scratch)
    };
    let cases = [
        (json!(["sh", "new.sh"]), "new.sh"),
        (json!(["sh", "ci/new.sh"]), "ci/new.sh"),
        (json!(["python3", "new.py"]), "new.py"),
        (json!(["python3", "-m", "new"]), "new.py"),
        (json!(["bash", "-c", "env sh ./new.sh"]), "new.sh"),
    ];
    for (argv, path) in cases {
        let check = json!({"command": argv});
        let (verdict, reason) = verdict_of_task("Make work.txt right.", check.clone(), path);
        assert_eq!(verdict, "inconclusive", "{check}: {reason}");
        assert!(reason.contains(&format!("the step changed `{path}`")), "{check}: {reason}");
        let task = format!("Write the program to {path}, so that it prints nothing.");
        let (verdict, reason) = verdict_of_task(&task, check.clone(), path);
        assert_eq!(verdict, "passed", "{check}: {reason}");
        let mut allowed = check.clone();
        allowed["mayChange"] = json!([path]);
        let (verdict, reason) = verdict_of_task("Make work.txt right.", allowed, path);
        assert_eq!(verdict, "passed", "{check}: {reason}");
    }
}

#[test]
fn python_reads_no_compiled_files_of_the_project_in_a_check() {
    let check = json!({"command": ["sh", "-c", "test \"$PYTHONPYCACHEPREFIX\" = /dev/null"]});
    assert_eq!(judged(check, &[write("work.txt", "right\n")]).0, "passed");
}

#[test]
fn the_command_of_a_check_with_tests_is_a_test_command() {
    let run = |config: &str, check: Value| -> (String, String) {
        let scratch = project(&check);
        scratch.write(".kb/kb.config.yml", config);
        program_file(&scratch, "verify-all", LAX);
        let specialist = "schema: kb.specialist/1\nid: dev\nrole: You work.\ntools: [\"fs:*\", \"shell:exec\"]\n";
        scratch.write(".kb/specialists/dev.yml", specialist);
        let call = json!({"tool": "shell:exec", "args": {"command": "./verify-all --fast"}});
        let turns = json!([
            {"calls": [write("work.txt", "right\n")]}, {"calls": [call]},
            {"output": {"summary": "Done.", "testResult": "passed"}},
        ]);
        let script = json!({"schema": "kb.script/1", "steps": {"a": turns}});
        scratch.write("script.json", &script.to_string());
        verdict_of(&scratch)
    };
    let other = || json!({"file": "work.txt"});
    let (verdict, reason) = run("{}", other());
    assert_eq!(verdict, "inconclusive", "{reason}");
    assert!(reason.contains("`testCommands` in the settings"), "{reason}");
    let (verdict, reason) =
        run("{}", json!({"command": ["./verify-all"], "tests": {"minCount": 2}}));
    assert_eq!(verdict, "passed", "{reason}");
    let (verdict, reason) = run("testCommands: [\"./verify-* --fast\"]\n", other());
    assert_eq!(verdict, "passed", "{reason}");
    // Words behind those of the settings are the choice of the model.
    let (verdict, reason) = run("testCommands: [\"./verify-*\"]\n", other());
    assert_eq!(verdict, "inconclusive", "{reason}");
    assert!(reason.contains("with `--fast` it may be a part of the tests"), "{reason}");
}

#[test]
fn a_claim_without_a_run_names_the_numbers_of_the_tests_that_the_gate_ran() {
    let verdict_with = |program: Option<&str>, output: Value| {
        let scratch = project(&json!({"command": ["./check.sh"], "tests": {"minCount": 1}}));
        program.into_iter().for_each(|text| program_file(&scratch, "check.sh", text));
        let turns = json!([{"calls": [write("work.txt", "right\n")]}, {"output": output}]);
        let script = json!({"schema": "kb.script/1", "steps": {"a": turns}});
        scratch.write("script.json", &script.to_string());
        verdict_of(&scratch)
    };
    let verdict = |output| verdict_with(None, output);
    let own = "the check `./check.sh` of this gate reports 2 passed and 0 failed";
    for (output, expected) in [
        (json!({"summary": "Done.", "tests": {"passed": 7}}), "failed"),
        (json!({"summary": "Done.", "testResult": "failed"}), "inconclusive"),
        (json!({"summary": "All 7 tests pass."}), "failed"),
    ] {
        let (verdict, reason) = verdict(output.clone());
        assert_eq!(verdict, expected, "{output}: {reason}");
        assert!(reason.contains(own), "{output}: {reason}");
    }
    let (verdict, reason) = verdict(json!({"summary": "All 2 tests pass."}));
    assert_eq!(verdict, "passed", "{reason}");
    let silent = json!({"summary": "Done.", "testResult": "passed"});
    let (verdict, reason) = verdict_with(Some("#!/bin/sh\necho ok\n"), silent);
    assert_eq!(verdict, "inconclusive", "{reason}");
    assert!(reason.contains("printed no numbers of tests"), "{reason}");
}

#[test]
fn a_script_that_a_rework_writes_again_is_changed_by_the_step_still() {
    let verdicts = |task: &str| -> Vec<String> {
        let scratch = project(&json!({"command": ["sh", "tests/work_test.sh"]}));
        let playbook = scratch.read("playbooks/p.yml");
        let reworked = playbook.replace("\"onFailed\":\"fail\"", "\"maxReworks\":1");
        let reworked = reworked.replace("Work.", task);
        assert!(reworked.contains("maxReworks"), "{reworked}");
        scratch.write("playbooks/p.yml", &reworked);
        let calls = [write("tests/work_test.sh", "true\n")];
        let output = json!({"summary": "Done.", "modified": ["tests/work_test.sh"]});
        let turns = json!([{"calls": calls}, {"output": output}]);
        let script = json!({"schema": "kb.script/1", "steps": {"a": turns}});
        scratch.write("script.json", &script.to_string());
        let run = scratch.kb(&["playbook", "run", "p", "--script", "script.json", "--json"]);
        scratch.kb(&["run", "verify", "@last"]).code(0);
        let events = run.events().into_iter();
        let gates = events.filter(|event| event["type"] == "verification:complete");
        gates.map(|event| event["verdict"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(verdicts("Make work.txt right."), ["failed", "failed"]);
    // A test that the task asks for can be the work.
    assert_eq!(verdicts("Write its tests."), ["inconclusive"]);
}
