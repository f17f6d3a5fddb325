//! What can be true refutes nothing: a text that may name a changed file, a note, an admission.

use super::{CALC, Step, check, doubted};
use crate::evidence::Verdict::{Failed, Inconclusive, Passed};
use serde_json::json;

#[test]
fn a_path_that_may_name_a_changed_file_is_doubted() {
    for path in [
        "a/src/calc.py",
        "project/src/calc.py",
        "/src/calc.py",
        "@src/calc.py",
        "src/calc.py@main",
        "src.calc",
        "calc.py",
    ] {
        check(
            &Step::fixed(),
            &[(json!({"modified": [path]}), Inconclusive, "it may mean `src/calc.py`")],
        );
    }
    for path in ["src/text.py", "src/calc.rs", "/etc/passwd", "tests/test_calc.py", "py"] {
        let (verdict, reason) = Step::fixed().verdict(&json!({"modified": [path]}));
        assert_eq!(verdict, Failed, "{path}: {reason}");
    }
}

#[test]
fn another_kind_of_change_beside_a_note_is_doubted() {
    let moved = Step::over(&[("src/util.py", "x = 1\n")])
        .run("mv src/util.py src/text.py", 0)
        .changing("src/util.py", None)
        .changing("src/text.py", Some("x = 1\n"));
    let again = Step::fixed().delete("src/util.py").write("src/util.py", "x = 2\n");
    for (step, report) in [
        (&moved, json!({"modified": ["src/text.py (was src/util.py)"]})),
        (
            &again,
            json!({"modified": ["src/calc.py"], "deleted": ["src/util.py"], "created": ["src/util.py"]}),
        ),
    ] {
        check(step, &[(report, Inconclusive, "")]);
    }
    check(&moved, &[(json!({"modified": ["src/text.py"]}), Failed, "the step created it")]);
    check(
        &again,
        &[(
            json!({"modified": ["src/calc.py"], "deleted": ["src/util.py"]}),
            Failed,
            "still exists",
        )],
    );
}

#[test]
fn what_may_be_no_command_or_a_part_of_one_is_doubted() {
    let step = Step::fixed().test(2, 0);
    let report = |commands| json!({"modified": ["src/calc.py"], "commands": commands});
    check(
        &step,
        &[
            (report(json!(["python3 -m unittest (2 passed)"])), Inconclusive, "it may mean call"),
            (report(json!(["git diff (not run: nothing to show)"])), Inconclusive, "did not run"),
            (report(json!(["python3", "-m", "unittest"])), Inconclusive, "it may mean call"),
            (report(json!(["edit"])), Inconclusive, "names a tool"),
            (report(json!(["npm run build"])), Failed, "no recorded call ran it"),
            (report(json!(["build (it works"])), Failed, "no recorded call ran it"),
        ],
    );
}

#[test]
fn admissions_and_numbers_of_a_part_of_the_tests_are_doubted() {
    let part = |text: &str| {
        let cargo =
            "test result: ok. 2 passed; 0 failed; 1 ignored\ntest result: ok. 1 passed; 0 failed";
        let report = json!({"modified": ["src/calc.py"]}).as_object().unwrap().clone();
        let more: serde_json::Map<String, serde_json::Value> = serde_json::from_str(text).unwrap();
        let report = report.into_iter().chain(more).collect::<serde_json::Map<_, _>>();
        Step::fixed().run("cargo test", 0).printing(cargo).verdict(&report.into()).0
    };
    for text in [
        r#"{"testsPassed": 2}"#,
        r#"{"unitTests": {"passed": 2}, "docTests": {"passed": 1}}"#,
        r#"{"crates": {"root": {"testsPassed": 2}, "sub": {"testsPassed": 1}}}"#,
    ] {
        assert_ne!(part(text), Failed, "{text}");
        assert_ne!(part(text), Passed, "{text}");
    }
    assert_eq!(part(r#"{"testsPassed": 4}"#), Failed);
    assert_eq!(part(r#"{"testsPassed": 3}"#), Passed);
    let report = |more: serde_json::Value| {
        let mut report = json!({"modified": ["src/calc.py"]});
        for (key, value) in more.as_object().unwrap() {
            report[key] = value.clone();
        }
        report
    };
    for more in [json!({"testsPassed": false}), json!({"tests": {"passed": 0, "failed": 0}})] {
        doubted(&Step::fixed(), &report(more));
    }
    let all = report(json!({"summary": "All tests pass. No failures."}));
    check(&Step::fixed().test(1, 1), &[(all, Failed, "")]);
}

#[test]
fn the_end_of_a_claimed_path_is_no_end_of_a_sentence() {
    let step = Step::over(&[("src/calc.py", CALC)]).write("src/x.py.", "x = 1\n");
    check(&step, &[(json!({"created": ["src/x.py."]}), Passed, "")]);
}

#[test]
fn places_and_notes_are_no_counts_and_no_commands() {
    let step = Step::fixed().test(2, 0);
    for report in [
        json!({"modified": ["src/calc.py"], "changes": [{"file": "src/calc.py", "type": "modify", "lines": [6]}]}),
        json!({"modified": ["src/calc.py"], "commands": ["`python3 -m unittest`: OK"]}),
    ] {
        let (verdict, reason) = step.verdict(&report);
        assert_ne!(verdict, crate::evidence::Verdict::Failed, "{report}: {reason}");
    }
}

#[test]
fn a_recorded_command_with_a_note_is_not_refuted() {
    let step = Step::fixed()
        .run("git --no-pager diff", 0)
        .run("grep -c def src/calc.py", 0)
        .run("cat > docs/n.md <<'EOF'\nhi\nEOF", 0)
        .run("python3 -c 'print(1)'", 0)
        .test(2, 0);
    for command in [
        "python3 -m unittest: 2 tests, OK",
        "python3 -m unittest, exit code 0",
        "python3 -m unittest: успешно",
        "OK",
        "git diff",
        "grep -c def src/calc.py → 2",
        "grep -c def src/calc.py: 2",
        "python3 -c ...",
        "cat > docs/n.md << EOF",
    ] {
        let report = json!({"modified": ["src/calc.py"], "commands": [command]});
        let (verdict, reason) = step.verdict(&report);
        assert_ne!(verdict, Failed, "{command}: {reason}");
    }
    for command in ["npm run lint", "git push", "python3 -m unittest (exit 1)", "cargo test ..."] {
        let report = json!({"modified": ["src/calc.py"], "commands": [command]});
        check(&step, &[(report, Failed, "")]);
    }
}

#[test]
fn a_file_that_the_step_made_and_deleted_was_deleted() {
    let step = Step::fixed().write("t.py", "1\n").delete("t.py");
    doubted(&step, &json!({"modified": ["src/calc.py"], "deleted": ["t.py"]}));
    check(&step, &[(json!({"modified": ["src/calc.py"], "deleted": ["u.py"]}), Failed, "u.py")]);
}

#[test]
fn what_the_record_cannot_show_in_part_is_doubted() {
    let made = Step::fixed().run("python3 -m unittest > build.log; rm build.log", 0);
    let folder = Step::fixed().run("mkdir -p build && touch build/a && rm -r build", 0);
    for (step, path, expected) in [
        (&made, "build.log", Inconclusive),
        (&folder, "build", Inconclusive),
        (&made, "other.log", Failed),
    ] {
        check(step, &[(json!({"modified": ["src/calc.py"], "deleted": [path]}), expected, path)]);
    }
    // Places in a file are no numbers of lines.
    for lines in [json!({"start": 2, "end": 2}), json!({"from": 7, "to": 9}), json!({"first": 40})]
    {
        let report = json!({"modified": [{"path": "src/calc.py", "lines": lines}]});
        assert_ne!(Step::fixed().verdict(&report).0, Failed, "{report}");
    }
    // A command with its result in a list.
    let ran = Step::fixed().test(2, 0);
    for (note, expected) in [
        (json!("exit 0"), true),
        (json!(0), true),
        (json!(1), true),
        (json!("exit 1"), false),
        (json!("fine"), true),
    ] {
        let report =
            json!({"modified": ["src/calc.py"], "commands": [["python3 -m unittest", note]]});
        assert_eq!(
            ran.verdict(&report).0 != Failed,
            expected,
            "{report}: {}",
            ran.verdict(&report).1
        );
    }
    // Tests behind a script of the project, as its output shows; a text that the agent prints is no script.
    let passed = json!({"modified": ["src/calc.py"], "testResult": "passed"});
    for (command, expected) in [
        ("bash t/run.sh", Inconclusive),
        ("./check.sh", Inconclusive),
        ("make", Inconclusive),
        ("python3 run.py", Inconclusive),
        ("python3 -c 'import pytest; pytest.main([\"-q\"])'", Inconclusive),
        ("echo 7 passed in 0.1s", Failed),
        ("python3 -c 'print(\"7 passed in 0.1s\")'", Failed),
    ] {
        let step = Step::fixed().run(command, 0).printing("7 passed in 0.1s");
        check(&step, &[(passed.clone(), expected, "")]);
    }
    check(&Step::fixed().run("bash t/run.sh", 0), &[(passed, Failed, "no recorded call")]);
    let shown = Step::fixed().run("cat src/util.py", 0);
    let noted = json!({"modified": ["src/calc.py"], "commands": ["cat src/util.py → 1 line"]});
    doubted(&shown, &noted);
    assert_ne!(shown.verdict(&noted).0, Failed);
}
