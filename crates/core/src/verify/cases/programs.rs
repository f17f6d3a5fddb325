//! Where the program of a recorded command lies.

use super::Verdict::{Inconclusive, Passed};
use super::{CALC, Step, check};
use serde_json::json;

const PRINTED: &str = "2 passed in 0.02s";
/// Prints the numbers of a run.
const FAKE: &str = "#!/bin/sh\necho '2 passed in 0.02s'\n";

/// A step over a project with runners of its own.
fn step() -> Step {
    let own = ["tools/pytest", ".venv/bin/pytest", ".venv/bin/python", "node_modules/.bin/jest"];
    let files = own.map(|path| (path, FAKE)).into_iter().chain([("src/calc.py", CALC)]);
    Step::over(&files.collect::<Vec<_>>()).edit("src/calc.py", "a - b\n\ndef", "a + b\n\ndef")
}

#[test]
fn a_program_that_the_step_made_is_not_the_runner_of_its_name() {
    for (path, command) in [
        ("pytest", "./pytest -q"),
        ("tools/npm", "tools/npm test"),
        ("bin/python3", "bin/python3 -m pytest -q"),
        ("tools/uv", "tools/uv run pytest"),
        ("t/pytest", "uv run t/pytest"),
        ("t/pytest", "/work/t/pytest -q"),
        ("tools/pytest", "tools/pytest -q"),
        ("bash", "./bash -c 'pytest -q'"),
    ] {
        let made = step().write(path, FAKE).run(command, 0).printing(PRINTED);
        let tests = json!({"modified": ["src/calc.py"], "testResult": "passed"});
        check(&made, &[(tests, Inconclusive, "")]);
    }
    let made = step().write("t/pytest", FAKE).run("t/pytest -q", 0).printing(PRINTED);
    let command =
        json!({"modified": ["src/calc.py"], "created": ["t/pytest"], "commands": ["pytest -q"]});
    check(&made, &[(command, Inconclusive, "the program can be any")]);
    let own =
        json!({"modified": ["src/calc.py"], "created": ["t/pytest"], "commands": ["t/pytest -q"]});
    check(&made, &[(own, Passed, "")]);
    let named = Step { test_commands: vec!["./pytest".to_owned()], ..step() };
    let named = named.write("pytest", FAKE).run("./pytest", 0).printing(PRINTED);
    let tests = json!({"modified": ["src/calc.py"], "created": ["pytest"], "testResult": "passed"});
    check(&named, &[(tests, Inconclusive, "the step changed `pytest`")]);
}

#[test]
fn a_program_outside_of_the_project_counts_only_from_a_folder_of_path() {
    let report = json!({"modified": ["src/calc.py"], "testResult": "passed"});
    for command in
        ["/opt/x/pytest -q", "/opt/x/python3 -m pytest", "../pytest -q", "$TMPDIR/pytest -q"]
    {
        let ran = step().run(command, 0).printing(PRINTED);
        check(&ran, &[(report.clone(), Inconclusive, "")]);
    }
    // The gate answers the question for the folder.
    let ran = Step { repeated: Some(0), ..step() };
    let ran = ran.run("/usr/bin/python3 -m pytest", 0).printing(PRINTED);
    check(&ran, &[(report.clone(), Passed, "")]);
    let ran = Step { repeated: Some(0), ..step() }.run("$TMPDIR/pytest -q", 0).printing(PRINTED);
    check(&ran, &[(report, Inconclusive, "which program `$TMPDIR/pytest` is")]);
}

#[test]
fn a_program_that_was_in_the_project_counts_while_it_is_there() {
    let report = json!({"modified": ["src/calc.py"], "testResult": "passed"});
    for command in [
        "tools/pytest -q",
        ".venv/bin/pytest",
        ".venv/bin/python -m pytest",
        "node_modules/.bin/jest",
    ] {
        let ran = step().run(command, 0).printing(PRINTED);
        check(&ran, &[(report.clone(), Passed, "")]);
    }
    let ran = step().run("t/pytest -q", 0).printing(PRINTED);
    check(&ran, &[(report, Inconclusive, "is not there any more")]);
}

#[test]
fn a_builtin_that_sets_path_decides_which_program_runs() {
    let report = json!({"modified": ["src/calc.py"], "testResult": "passed"});
    for script in [
        "PATH=/tmp/x:$PATH pytest -q",
        "env PATH=/tmp/x pytest -q",
        "export PATH=/tmp/x:$PATH; pytest -q",
        "typeset PATH=/tmp/x:$PATH; pytest -q",
        "read -r PATH < p.txt; pytest -q",
        "printf -v PATH %s /tmp/x; pytest -q",
        "pytest() { echo '2 passed in 0.02s'; }; pytest -q",
        "alias pytest=true; pytest -q",
    ] {
        let ran = step().run(script, 0).printing(PRINTED);
        check(&ran, &[(report.clone(), Inconclusive, "")]);
    }
    let ran = step().run("export PATH; pytest -q", 0).printing(PRINTED);
    check(&ran, &[(report, Passed, "")]);
}
