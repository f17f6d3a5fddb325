//! Whether something was changed at all: old folders, caches that tests write, and reports of nothing.

use super::{CALC, Step, check};
use crate::evidence::Verdict::{Failed, Inconclusive, Passed};
use serde_json::json;

#[test]
fn a_folder_with_old_files_was_not_created() {
    let step = Step::over(&[("src/old.py", "x = 1\n")]).write("src/n.py", "x = 1\n");
    check(
        &step,
        &[
            (json!({"created": ["src/", "src/n.py"]}), Failed, "existed before"),
            (json!({"created": ["src", "src/n.py"]}), Failed, "existed before"),
        ],
    );
    let new = Step::over(&[("src/old.py", "x = 1\n")]).write("lib/n.py", "x = 1\n");
    check(&new, &[(json!({"created": ["lib/", "lib/n.py"]}), Passed, "")]);
    for folder in [".github", "src/v1.x"] {
        let (old, new) = (format!("{folder}/old.py"), format!("{folder}/n.py"));
        let step = Step::over(&[(&old, "x = 1\n")]).write(&new, "x = 1\n");
        check(&step, &[(json!({"created": [folder, new]}), Failed, "existed before")]);
        let step = Step::over(&[("a.py", "")]).write(&new, "x = 1\n");
        check(&step, &[(json!({"created": [folder, new]}), Passed, "")]);
        let unlisted = Step { unlisted: true, ..step };
        check(&unlisted, &[(json!({"created": [folder, new]}), Inconclusive, "not known")]);
    }
}

/// In the sandbox Python writes none, so these were planted.
#[test]
fn compiled_files_that_a_step_wrote_decide() {
    let passed = json!({"modified": ["src/calc.py"], "testResult": "passed"});
    let cache = "src/__pycache__/calc.cpython-311.pyc";
    let by_tests = Step::fixed().test(2, 0).changing(cache, Some("compiled")).test(2, 0);
    let by_hand =
        Step::fixed().run("cp x.pyc src/__pycache__/", 0).changing(cache, Some("planted"));
    for planted in [by_tests, by_hand.test(2, 0), Step::fixed().write(cache, "planted").test(2, 0)]
    {
        check(&planted, &[(passed.clone(), Inconclusive, "which decides what the command does")]);
    }
}

#[test]
fn a_report_of_a_change_after_which_nothing_was_changed_is_refuted() {
    let nothing = Step::over(&[("src/calc.py", CALC)]);
    for text in ["Fixed add in calc.py.", "I've updated the parser.", "Исправил сложение."]
    {
        check(&nothing, &[(json!({"summary": text}), Failed, "changed something")]);
    }
    for text in [
        "Changed nothing.",
        "The bug was introduced in calc.py.",
        "Added code would not help.",
        "calc.py has a bug.",
        "Updated dependencies are in the lock file.",
    ] {
        let (verdict, reason) = nothing.verdict(&json!({"summary": text}));
        assert!(verdict != Failed && verdict != Passed, "{text}: {reason}");
    }
}

#[test]
fn numbers_of_one_run_are_no_sum() {
    let report = json!({"modified": ["src/calc.py"], "tests": {"passed": 2, "total": 12}});
    check(&Step::fixed().test(2, 0), &[(report, Failed, "2 passed, 0 failed")]);
}

#[test]
fn a_plain_sentence_about_a_file_that_no_call_touched_is_refuted() {
    let report = |text: &str| json!({"modified": ["src/calc.py"], "summary": text});
    let files = [("src/calc.py", CALC), ("src/util.py", ""), ("src/old.py", "x\n")];
    let step = Step::over(&files)
        .edit("src/calc.py", "a - b", "a + b")
        .run("rm src/old.py", 0)
        .changing("src/old.py", None);
    for text in [
        "Deleted src/util.py.",
        "Removed `src/util.py`.",
        "Удалил src/util.py.",
        "Renamed src/util.py to src/new.py.",
        "Updated src/util.py to use add.",
        "Я создал src/ghost.py и запустил npm test.",
        "Created src/ghost.py and ran the tests.",
    ] {
        check(&Step::fixed(), &[(report(text), Failed, "no recorded call did")]);
    }
    for text in [
        "Deleted src/old.py.",
        "Removed the import of src/util.py.",
        "Removed src/util.py from the index.",
        "src/util.py was not deleted.",
        "Added src/util.py to the index.",
        "Moved add from src/util.py to src/calc.py.",
    ] {
        let (verdict, reason) = step.verdict(&report(text));
        assert_ne!(verdict, Failed, "{text}: {reason}");
    }
}
