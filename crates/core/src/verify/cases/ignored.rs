//! Files that ignore rules exclude and that changed during a step.

use super::super::{CommandCriterion, Criterion, IgnoredChange, IgnoredFolder};
use super::Verdict::{Failed, Inconclusive, Passed};
use super::{CALC, Step, check};
use serde_json::json;

const DECIDES: &str = "which decides what the command does";

fn file(path: &str) -> IgnoredChange {
    IgnoredChange { path: path.to_owned(), folder: None }
}

fn below(folder: &str, installed: bool, path: &str) -> IgnoredChange {
    let folder = Some(IgnoredFolder { path: folder.to_owned(), installed });
    IgnoredChange { path: path.to_owned(), folder }
}

fn command(argv: &[&str], inputs: &[&str]) -> Criterion {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    Criterion::Command(CommandCriterion {
        argv: words(argv),
        inputs: words(inputs),
        may_change: Vec::new(),
        must_fail_before: false,
        must_fail: false,
        tests: None,
        timeout: None,
    })
}

#[test]
fn ignored_files_that_decide_a_test_run_raise_doubt() {
    let report = json!({"modified": ["src/calc.py"], "testResult": "passed"});
    let modules = "node_modules";
    for changed in [
        file("sitecustomize.py"),
        file("pytest.pyc"),
        file("unittest.pyc"),
        file("tests/test_calc.py"),
        below(modules, true, "node_modules/foo/index.js"),
        below("src/__pycache__", false, "src/__pycache__/calc.cpython-311.pyc"),
    ] {
        let step = Step { ignored: vec![changed], ..Step::fixed().test(2, 0) };
        check(&step, &[(report.clone(), Inconclusive, DECIDES)]);
    }
    for changed in [
        file("notes.txt"),
        below("target", false, "target/debug/conftest.py"),
        below("build", false, "build/pytest.ini"),
    ] {
        let step = Step { ignored: vec![changed], ..Step::fixed().test(2, 0) };
        check(&step, &[(report.clone(), Passed, "")]);
    }
}

#[test]
fn ignored_programs_that_a_check_executes_raise_doubt() {
    let report = json!({"modified": ["src/calc.py"]});
    let venv = || below(".venv", true, ".venv/lib/ruff/main.py");
    let modules = || below("node_modules", true, "node_modules/typescript/lib/tsc.js");
    let cases: [(Criterion, IgnoredChange, bool); 9] = [
        (command(&[".venv/bin/ruff", "check"], &[]), venv(), true),
        (command(&["npx", "tsc"], &[]), modules(), true),
        (command(&["npm", "test"], &[]), modules(), true),
        (command(&["uv", "run", "ruff", "check"], &[]), venv(), true),
        (command(&["bash", "run.sh"], &[]), file("run.sh"), true),
        (command(&["./run.sh"], &[]), file("run.sh"), true),
        (command(&["target/debug/app"], &[]), below("target", false, "target/debug/app"), true),
        (command(&["git", "diff", "--check"], &[]), modules(), false),
        (command(&["./run.sh"], &[]), file("other.sh"), false),
    ];
    for (criterion, changed, doubt) in cases {
        let step = Step {
            ignored: vec![changed],
            criteria: vec![criterion],
            repeated: Some(0),
            ..Step::fixed()
        };
        let (verdict, text) = if doubt { (Inconclusive, DECIDES) } else { (Passed, "") };
        check(&step, &[(report.clone(), verdict, text)]);
    }
}

#[test]
fn ignored_files_of_inputs_raise_doubt_if_the_glob_begins_with_a_name() {
    let report = json!({"modified": ["src/calc.py"]});
    let hidden = "ignore rules hide";
    let changed = "the step changed";
    for (glob, verdict, reason) in [
        ("local/**", Inconclusive, hidden),
        ("local/data.txt", Inconclusive, hidden),
        ("**", Failed, changed),
        ("*/data.txt", Passed, ""),
    ] {
        let step = Step {
            ignored: vec![below("local", false, "local/data.txt")],
            criteria: vec![command(&["true"], &[glob])],
            repeated: Some(0),
            ..Step::over(&[("src/calc.py", "x = 1\n")]).edit("src/calc.py", "1", "2")
        };
        check(&step, &[(report.clone(), verdict, reason)]);
    }
}

#[test]
fn a_failed_write_of_a_file_that_nothing_changed_raises_doubt() {
    let report = json!({"modified": ["src/calc.py"]});
    let failing = |step: Step| {
        let mut step = step.call("fs:write", json!({"path": "src/other.py", "content": "x"}));
        step.last().status = super::InvocationStatus::Failed;
        step
    };
    check(&failing(Step::fixed()), &[(report, Inconclusive, "the last call of `fs:write` failed")]);
    let later = failing(Step::fixed()).run("echo x > src/other.py", 0);
    let later = later.changing("src/other.py", Some("x\n"));
    let report = json!({"modified": ["src/calc.py"], "created": ["src/other.py"]});
    check(&later, &[(report, Passed, "")]);
}

#[test]
fn the_words_of_a_command_are_read_and_python3_is_python() {
    let step = Step::fixed().run("python3 -m compileall src", 0).run("python3 tool.py", 0);
    let report =
        |command: serde_json::Value| json!({"modified": ["src/calc.py"], "commands": [command]});
    for command in [
        json!(["python3", "-m", "compileall", "src"]),
        json!({"command": ["python3", "tool.py"], "exitCode": 0}),
        json!("python tool.py"),
        json!("python -m compileall src"),
    ] {
        check(&step, &[(report(command), Passed, "")]);
    }
    check(&step, &[(report(json!(["python3", "ghost.py"])), Failed, "no recorded call ran it")]);
    check(&step, &[(report(json!("python3.9 tool.py")), Failed, "no recorded call ran it")]);
}

#[test]
fn a_file_that_one_command_made_and_deleted_raises_doubt() {
    let step = Step::fixed().run("echo x > src/tmp.py; rm src/tmp.py", 0);
    let both =
        json!({"modified": ["src/calc.py"], "created": ["src/tmp.py"], "deleted": ["src/tmp.py"]});
    check(&step, &[(both, Inconclusive, "a command names it")]);
    let made = json!({"modified": ["src/calc.py"], "created": ["src/tmp.py"]});
    check(&step, &[(made, Failed, "not on disk")]);
}

#[test]
fn a_script_that_names_a_claimed_program_raises_doubt() {
    let files = [("src/calc.py", "x = 1\n"), ("check.sh", "#!/bin/sh\npython3 -m pytest -q\n")];
    let step = Step::over(&files).edit("src/calc.py", "1", "2").run("sh check.sh", 0);
    let report = |command: &str| json!({"modified": ["src/calc.py"], "commands": [command]});
    let doubt = "call `call_1_2_1` ran `check.sh`";
    check(&step, &[(report("pytest -q"), Inconclusive, doubt)]);
    check(&step, &[(report("cargo publish"), Failed, "no recorded call ran it")]);
}

#[test]
fn only_these_files_is_refuted_by_a_file_that_a_command_was_to_change() {
    let report = json!({"modified": ["src/calc.py"], "summary": "No other files were changed."});
    let changed =
        |command: &str| Step::fixed().run(command, 0).changing("src/util.py", Some("x = 2\n"));
    let named = changed("sed -i s/1/2/ src/util.py");
    check(&named, &[(report.clone(), Failed, "the step changed `src/util.py`")]);
    let lock = Step::fixed().run("npm ci", 0).changing("package-lock.json", Some("{}"));
    check(&lock, &[(report, Inconclusive, "the step changed `package-lock.json`")]);
}

#[test]
fn a_script_that_is_written_again_is_still_changed() {
    let twice = |path: &str, before: &str, text: &str, argv: &[&str]| {
        let mut step = Step::over(&[("src/calc.py", CALC), (path, before)]);
        step = step.write(path, text).write(path, text);
        // The tool records no difference where there is none.
        let again = &mut step.last().changes[0];
        (again.same_content, again.diff) = (false, None);
        Step { criteria: vec![command(argv, &[])], repeated: Some(0), ..step }
    };
    let over = |script: &str| twice(script, "python3 -m unittest\n", "exit 0\n", &["sh", script]);
    let report = |script: &str| json!({"modified": [script]});
    let changed = "the step changed `";
    check(&over("check.sh"), &[(report("check.sh"), Failed, changed)]);
    let scripts = |test: &str| format!("{{\"scripts\": {{\"test\": \"{test}\"}}}}\n");
    let manifest = "package.json";
    let step = twice(manifest, &scripts("jest"), &scripts("true"), &["npm", "test"]);
    check(&step, &[(report(manifest), Failed, changed)]);
    // What the task asks to write can be the work.
    let test = "test/calc.test.sh";
    for (task, script, verdict) in [
        ("Write its tests.", test, Inconclusive),
        ("Create check.sh with a check of calc.", "check.sh", Inconclusive),
        ("Write calc so that the tests pass.", test, Failed),
        ("Fix the failing tests.", test, Failed),
        ("Write its tests.", "check.sh", Failed),
    ] {
        let step = Step { task: task.to_owned(), ..over(script) };
        check(&step, &[(report(script), verdict, changed)]);
    }
}
