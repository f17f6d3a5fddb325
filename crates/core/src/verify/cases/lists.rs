//! Entries of lists are matched one to one with what was recorded.

use super::{CALC, Step, check};
use crate::evidence::Verdict::{Failed, Inconclusive, Passed};
use serde_json::{Value, json};

#[test]
fn a_path_is_listed_once_or_as_often_as_it_was_changed() {
    let step = Step::fixed();
    let edits = |count: usize| json!({"fileEdits": vec![json!({"path": "src/calc.py"}); count]});
    check(
        &step,
        &[
            (
                json!({"modified": ["src/calc.py", "./src/../src//calc.py"]}),
                Inconclusive,
                "listed 2 times",
            ),
            (json!({"modified": ["src/calc.py"], "changedFiles": ["src/calc.py"]}), Passed, ""),
            (edits(1), Passed, ""),
            (edits(2), Inconclusive, "listed 2 times"),
        ],
    );
    let twice = step.edit("src/calc.py", "a - b", "a - b  # note");
    check(&twice, &[(edits(2), Passed, ""), (edits(3), Inconclusive, "listed 3 times")]);
}

#[test]
fn no_call_proves_two_entries() {
    let step = Step::over(&[("src/calc.py", CALC), ("src/util.py", "x = 1\n")])
        .call("fs:read", json!({"path": "src/util.py"}))
        .call("fs:read", json!({"path": "src/calc.py"}))
        .edit("src/calc.py", "a - b\n\ndef", "a + b\n\ndef");
    let calls = |calls: Value| json!({"modified": ["src/calc.py"], "toolCalls": calls});
    let read = |path: &str| json!({"tool": "fs:read", "args": {"path": path}});
    check(
        &step,
        &[
            (calls(json!(["fs:read", "fs:read", "fs:edit"])), Passed, ""),
            (calls(json!(["fs:read", "fs:read", "fs:read"])), Inconclusive, "more often"),
            (calls(json!([{"tool": "fs:edit"}, {"tool": "fs:edit"}])), Inconclusive, "more often"),
            // The entry without arguments leaves the call to the one that needs it.
            (calls(json!(["fs:read", read("src/util.py")])), Passed, ""),
            (calls(json!([read("src/util.py"), read("src/util.py")])), Inconclusive, "more often"),
            (calls(json!([read("src/text.py")])), Failed, "had these arguments"),
        ],
    );
}

#[test]
fn each_command_of_a_list_was_recorded_by_itself() {
    let step = Step::fixed().test(1, 1).edit("src/calc.py", "a - b", "a * b").test(2, 0);
    let commands = |commands: Value| json!({"modified": ["src/calc.py"], "commands": commands});
    let run = |code: i64| json!({"command": "python3 -m unittest", "exitCode": code});
    check(
        &step,
        &[
            (commands(json!([run(1), run(0)])), Passed, ""),
            (commands(json!([run(0), run(0)])), Inconclusive, "more often"),
            (commands(json!([run(1), run(1)])), Inconclusive, "more often"),
            (
                commands(json!(["python3 -m unittest", "python -m unittest discover"])),
                Inconclusive,
                "",
            ),
        ],
    );
    let both = Step::fixed().run("npm install && npm run lint", 0);
    check(&both, &[(commands(json!(["npm install", "npm run lint"])), Passed, "")]);
}
