//! Entries of lists are matched one to one with what was recorded.

use super::{CALC, Step, check, doubted};
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

#[test]
fn a_report_that_says_nothing_about_no_work_is_refuted() {
    let idle = Step::over(&[("src/calc.py", CALC)]);
    let read = idle.clone().call("fs:read", json!({"path": "src/calc.py"}));
    let pushed = idle.clone().run("git push", 0);
    let nothing = json!({"summary": "Done."});
    for step in [&idle, &read] {
        check(step, &[(nothing.clone(), Failed, "the output says nothing")]);
        doubted(step, &json!({"summary": "The function is right: it adds."}));
        doubted(step, &json!({"summary": "Done.", "noChanges": true}));
    }
    doubted(&pushed, &nothing);
}

#[test]
fn what_is_called_added_is_new() {
    let (old, new) = (Step::fixed(), Step::fixed().write("src/n.py", "x = 1\n"));
    let [old_path, new_path] = ["src/calc.py", "src/n.py"];
    check(
        &new,
        &[
            (json!({"added": [new_path], "modified": [old_path]}), Passed, ""),
            (json!({"modified": [old_path], "summary": "Added src/n.py."}), Passed, ""),
        ],
    );
    for report in [
        json!({"added": [old_path]}),
        json!({"filesAdded": [old_path]}),
        json!({"files": [{"path": old_path, "action": "added"}]}),
        json!({"modified": ["src/calc.py (added)"]}),
        json!({"modified": [old_path], "summary": "Added src/calc.py."}),
        json!({"modified": [old_path], "summary": "src/calc.py was added."}),
        json!({"modified": ["src/calc.py (touched only)"]}),
        json!({"modified": [old_path], "summary": "Added `return` to src/calc.py."}),
    ] {
        doubted(&old, &report);
    }
    // Names can be added to an old file, and what is added need not be a file.
    let lines = json!({"modified": [old_path], "summary": "Added `a + b` to src/calc.py."});
    check(&old, &[(lines, Passed, "")]);
    assert_ne!(old.verdict(&json!({"modified": [old_path], "added": ["a login form"]})).0, Failed);
}

#[test]
fn an_empty_list_says_that_there_was_nothing() {
    let step = Step::fixed().test(2, 0);
    for key in ["modified", "changedFiles", "filesModified", "changes", "touchedFiles"] {
        check(&step, &[(json!({key: [], "testResult": "passed"}), Failed, "no list")]);
    }
    let made = Step::fixed().write("src/n.py", "x = 1\n");
    check(&made, &[(json!({"modified": ["src/calc.py"], "created": []}), Failed, "src/n.py")]);
    // Of problems or dependencies, not of files.
    for key in ["fixed", "updated", "implemented", "removed", "added"] {
        let report = json!({"modified": ["src/calc.py"], key: []});
        let (verdict, found) = made.verdict(&report);
        assert_ne!(verdict, Failed, "{report}: {found}");
    }
    let by_command = Step::over(&[("src/util.py", "x = 1\n")])
        .run("sed -i s/x/y/ src/util.py", 0)
        .changing("src/util.py", Some("y = 1\n"));
    doubted(&by_command, &json!({"modified": []}));
    for key in ["commands", "toolCalls"] {
        for none in [json!([]), json!(null)] {
            check(
                &step,
                &[(json!({"modified": ["src/calc.py"], key: none}), Inconclusive, "no command")],
            );
        }
    }
    // A list that is not there can be one that the model did not fill in.
    check(&step, &[(json!({"modified": null}), Inconclusive, "no list")]);
    check(
        &made,
        &[(json!({"modified": ["src/calc.py"], "created": null}), Inconclusive, "src/n.py")],
    );
    check(&step, &[(json!({"modified": ["src/calc.py"], "created": null}), Passed, "")]);
    for key in ["geändert", "изменены"] {
        check(&step, &[(json!({key: []}), Inconclusive, "no list")]);
    }
    // What is named among the files that were read is in no list of changes.
    let report = json!({"modified": [], "filesRead": ["src/calc.py"]});
    check(&step, &[(report, Inconclusive, "an empty list")]);
    let report = json!({"created": ["src/n.py"], "modified": ["src/calc.py"], "changedFiles": []});
    check(&made, &[(report, Inconclusive, "an empty list")]);
    // A command that names a file does not list it.
    let named = json!({"modified": [], "commands": ["sed -i s/x/y/ src/util.py"]});
    check(&by_command, &[(named, Inconclusive, "no list")]);
    let sorted = step.clone().run("wc -l src/calc.py", 0);
    check(
        &sorted,
        &[(
            json!({"created": [], "modified": [], "commands": ["wc -l src/calc.py"]}),
            Inconclusive,
            "no list",
        )],
    );
    let report =
        json!({"modified": ["src/calc.py"], "created": [], "deleted": [], "testResult": "passed"});
    check(&step, &[(report, Passed, "")]);
}

#[test]
fn what_is_called_unchanged_was_not_changed() {
    let step = Step::fixed();
    let report = |key: &str, path: &str| json!({"modified": ["src/calc.py"], key: [path]});
    for key in ["unchanged", "untouched", "unchangedFiles", "filesUntouched"] {
        check(&step, &[(report(key, "src/calc.py"), Failed, "said to be unchanged")]);
        check(&step, &[(report(key, "src/util.py"), Passed, "")]);
    }
    let said = |text: &str| json!({"modified": ["src/calc.py"], "summary": text});
    for text in
        ["`src/calc.py` is unchanged.", "Unchanged: `src/calc.py`.", "src/calc.py ist unverändert."]
    {
        check(&step, &[(said(text), Failed, "said to be unchanged")]);
    }
    check(&step, &[(said("`src/util.py` is unchanged."), Passed, "")]);
    for text in [
        "The signature of add in src/calc.py is unchanged.",
        "All other files are unchanged.",
        "Everything except src/calc.py is unchanged.",
    ] {
        let (verdict, reason) = step.verdict(&said(text));
        assert_ne!(verdict, Failed, "{text}: {reason}");
    }
    let by_command =
        step.run("sed -i s/1/2/ src/util.py", 0).changing("src/util.py", Some("x = 2\n"));
    check(
        &by_command,
        &[(
            json!({"modified": ["src/calc.py"], "unchanged": ["src/util.py"]}),
            Inconclusive,
            "src/util.py",
        )],
    );
}

#[test]
fn only_the_named_files_are_those_of_the_sentence() {
    let step = Step::fixed().edit("src/util.py", "1", "2");
    let report = |text: &str| json!({"modified": ["src/calc.py", "src/util.py"], "summary": text});
    for text in ["Only `src/calc.py` was modified.", "Modified only `src/calc.py`."] {
        doubted(&step, &report(text));
    }
    check(
        &step,
        &[
            (report("Only `src/calc.py` and `src/util.py` were modified."), Passed, ""),
            (report("No other files were changed."), Passed, ""),
        ],
    );
}

#[test]
fn an_empty_list_beside_a_new_file_of_a_command_is_doubt() {
    let made = |path: &str, by: &str| {
        Step::over(&[("src/calc.py", CALC)]).run(by, 0).changing(path, Some("x = 1\n"))
    };
    for report in [
        json!({"created": [], "commands": ["make docs"]}),
        json!({"created": [], "modified": [], "deleted": [], "commands": ["make docs"]}),
    ] {
        doubted(&made("docs/index.md", "make docs"), &report);
        doubted(&made("src/gen/version.py", "make docs"), &report);
    }
    let edited = Step::fixed().run("python3 tools/gen.py", 0).changing("src/x.py", Some("x\n"));
    doubted(&edited, &json!({"modified": ["src/calc.py"], "created": []}));
}

#[test]
fn a_cache_that_ignores_itself_is_no_change_beside_no_changes() {
    let step = Step::over(&[("src/calc.py", CALC)])
        .run("ruff check .", 0)
        .changing(".ruff_cache/.gitignore", Some("*\n"))
        .changing(".ruff_cache/CACHEDIR.TAG", Some("x\n"));
    let (verdict, reason) = step.verdict(&json!({"noChanges": true, "commands": ["ruff check ."]}));
    assert_ne!(verdict, Failed, "{reason}");
}

#[test]
fn a_key_without_a_value_is_a_statement_if_it_is_no_name_of_a_field() {
    let step = Step::fixed();
    let with =
        |key: &str, value: serde_json::Value| json!({"modified": ["src/calc.py"], key: value});
    for (key, value) in [
        ("created", json!({"docs/x.md": null})),
        ("deleted", json!({"README.md": null})),
        ("created", json!({"docs": {"x.md": ""}})),
        ("created", json!([{"docs/x.md": null}])),
        ("toolCalls", json!({"fs:delete": null})),
        ("README.md", json!("")),
        ("12", json!("")),
        ("all tests pass", json!(null)),
    ] {
        doubted(&step, &with(key, value));
    }
    for (key, value) in
        [("commit", json!(null)), ("created_at", json!("")), ("next", json!({"dry-run": null}))]
    {
        check(&step, &[(with(key, value), Passed, "")]);
    }
}
