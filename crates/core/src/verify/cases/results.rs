//! Results of tests: which run decides, and what a report says beside its result.

use super::super::call_outcomes::call_outcomes;
use super::{InvocationStatus, Step, check, doubted};
use crate::evidence::Verdict::{Failed, Inconclusive, Passed, Unchecked};
use serde_json::{Value, json};

const LOOP: &str = "for i in 1 2; do python3 -m unittest; done";

/// A report about the changed file with more keys.
fn with(more: Value) -> Value {
    let mut report = json!({"modified": ["src/calc.py"]});
    more.as_object().unwrap().iter().for_each(|(key, value)| report[key] = value.clone());
    report
}

fn wrong() -> Step {
    Step::over(&[("src/calc.py", super::CALC), ("src/util.py", "x = 1\n")])
}

fn repair(step: Step) -> Step {
    step.edit("src/calc.py", "a - b\n\ndef", "a + b\n\ndef")
}

#[test]
fn the_last_run_decides_also_if_it_could_not_be_analysed() {
    let passed = with(json!({"testResult": "passed"}));
    let failed = with(json!({"testResult": "failed"}));
    let ok = "Ran 2 tests in 0.1s\n\nOK";
    let red = "Ran 2 tests in 0.1s\n\nFAILED (failures=1)";
    let masked = |step: Step| step.run("python3 -m unittest || true", 0).printing(red);
    for before in [wrong().test(1, 1), masked(wrong())] {
        let step = repair(before).run(LOOP, 0).printing(ok);
        check(&step, &[(passed.clone(), Inconclusive, "could not be analysed")]);
    }
    // The edit after a run is not one after the loop.
    let step = repair(wrong().test(2, 0)).run(LOOP, 0).printing(ok);
    check(&step, &[(passed.clone(), Inconclusive, "could not be analysed")]);
    // A script of the project that printed results is such a run too.
    let step = repair(wrong().test(1, 1)).run("sh ci.sh", 0).printing(ok);
    check(&step, &[(passed.clone(), Inconclusive, "sh ci.sh")]);
    // What the loop printed counts, and so does a run after it.
    let step = Step::fixed().test(2, 0).run(LOOP, 0).printing(red);
    check(&step, &[(passed.clone(), Failed, "reports failed tests")]);
    let step = Step::fixed().run(LOOP, 0).printing(red).test(2, 0);
    check(&step, &[(passed.clone(), Passed, "")]);
    let step = Step::fixed().run(LOOP, 0).printing(ok).test(1, 1);
    check(&step, &[(passed.clone(), Failed, "")]);
    let step = Step::fixed().test(2, 0).run(LOOP, 0).printing(red);
    let (verdict, reason) = step.verdict(&failed);
    assert!(verdict != Failed, "{reason}");
}

#[test]
fn that_no_test_failed_is_about_each_run() {
    let said = |text: &str| with(json!({"summary": text}));
    let again = repair(wrong().test(1, 1)).test(2, 0);
    for text in
        ["No test failed.", "No tests failed.", "0 of 2 tests failed.", "Ни один тест не упал."]
    {
        doubted(&again, &said(text));
    }
    check(&again, &[(said("All tests pass."), Passed, ""), (said("2 tests pass."), Passed, "")]);
    check(&Step::fixed().test(2, 0), &[(said("No test failed."), Passed, "")]);
}

#[test]
fn a_number_of_passed_tests_without_any_run_is_refuted() {
    for text in [
        "All 7 tests pass after running pytest.",
        "All 7 tests pass with the new code.",
        "12 tests passed in the sandbox.",
        "7/7 tests green afterwards.",
    ] {
        let report = with(json!({"summary": text}));
        check(&Step::fixed(), &[(report, Failed, "no recorded call ran a test command")]);
    }
    // Another time, another place or a condition is no run of the step.
    for text in [
        "All 7 tests passed before the change.",
        "Previously 7 tests passed.",
        "CI says that 7 tests passed.",
        "According to the ticket 7 tests pass.",
        "The tests pass a list of 7 names to the parser.",
    ] {
        let (verdict, reason) = Step::fixed().verdict(&with(json!({"summary": text})));
        assert!(verdict != Failed, "{text}: {reason}");
    }
}

#[test]
fn what_one_key_says_of_all_tests_is_said_beside_another_key_too() {
    let skipped = Step::fixed()
        .run("python3 -m unittest", 0)
        .printing("Ran 6 tests in 0.1s\n\nOK (skipped=1)");
    for more in [
        json!({"testResult": "passed", "tests": "all passed"}),
        json!({"testResult": "passed", "allTestsPassed": true}),
        json!({"tests": "all green", "testResult": "passed"}),
        json!({"testResult": "passed", "artifacts": {"tests": "all passed"}}),
        json!({"testResult": "passed", "summary": "All tests pass."}),
        json!({"tests": {"passed": 5, "failed": 0}, "allTestsPassed": true}),
        json!({"tests": "5/5"}),
        json!({"tests": {"passed": 5, "total": 5}}),
        json!({"summary": "5 of 5 tests passed."}),
        json!({"summary": "5 из 5 тестов прошли."}),
    ] {
        doubted(&skipped, &with(more));
    }
    check(
        &skipped,
        &[
            (with(json!({"testResult": "passed"})), Passed, ""),
            (with(json!({"tests": {"passed": 5, "failed": 0}})), Passed, ""),
            (
                with(json!({"tests": {"passed": 5, "failed": 0, "total": 5}})),
                Inconclusive,
                "left out",
            ),
        ],
    );
    let whole = Step::fixed().test(5, 0);
    check(
        &whole,
        &[
            (with(json!({"testResult": "passed", "tests": "all passed"})), Passed, ""),
            (with(json!({"tests": "5/5"})), Passed, ""),
            (with(json!({"summary": "5 of 5 tests passed."})), Passed, ""),
        ],
    );
}

#[test]
fn a_pattern_names_no_file_below_any_key() {
    for key in ["edited", "touched", "changed", "updated", "changedFiles", "modified"] {
        doubted(&Step::fixed(), &json!({key: ["src/*"]}));
        doubted(&Step::fixed(), &json!({key: ["src/calc.py", "src/*"]}));
    }
    doubted(&Step::fixed().delete("src/util.py"), &with(json!({"removed": ["src/*"]})));
    doubted(&Step::fixed(), &with(json!({"summary": "Updated `src/*.py`."})));
}

#[test]
fn both_ends_of_a_range_are_close_to_a_change() {
    let lines: String = (1..=60).map(|n| format!("x{n}\n")).collect();
    let step = Step::over(&[("src/big.py", &lines)]).edit("src/big.py", "x30\n", "y\nz\n");
    let named = |text: &str| json!({"edited": [format!("src/big.py {text}")]});
    for text in ["(lines 30-31)", "(line 30)", "(lines 28-33)"] {
        check(&step, &[(named(text), Passed, "")]);
    }
    for text in ["(lines 1-9999)", "(lines 1-31)", "(lines 30-60)", "(line 40)"] {
        doubted(&step, &named(text));
    }
}

#[test]
fn a_number_of_lines_is_no_part_of_what_was_read() {
    let lines: String = (1..=400).map(|n| format!("x{n}\n")).collect();
    let step = || Step::over(&[("src/calc.py", super::CALC), ("src/big.py", &lines)]);
    let part = json!({"path": "src/big.py", "startLine": 1, "endLine": 20});
    let step = repair(step().call("fs:read", part));
    for text in [
        "I read all 400 lines of src/big.py.",
        "Read src/big.py completely.",
        "Read the entire file src/big.py.",
        "Read lines 1-400 of src/big.py.",
        "I read src/big.py from start to end.",
    ] {
        doubted(&step, &with(json!({"summary": text})));
    }
    doubted(&step, &with(json!({"filesRead": [{"path": "src/big.py", "lines": 400}]})));
    doubted(&step, &with(json!({"filesRead": ["src/big.py (400 lines)"]})));
    doubted(&step, &with(json!({"linesRead": 400})));
}

#[test]
fn after_a_refuted_attempt_an_answer_that_names_nothing_is_none() {
    let reads =
        || Step { only_reads: true, ..wrong().call("fs:read", json!({"path": "src/calc.py"})) };
    let again = || Step { again: true, ..reads() };
    let said = |text: &str| json!({"summary": text});
    for text in ["The file is there.", "Done.", "Everything is as it should be."] {
        doubted(&reads(), &said(text));
        check(&again(), &[(said(text), Failed, "names nothing")]);
    }
    // A key of its own is compared no more than the summary.
    for output in [
        json!({"summary": "It is a bug.", "label": "bug"}),
        json!({"verdict": "approve"}),
        json!({"findings": ["none"]}),
        json!({"answer": 42}),
    ] {
        doubted(&reads(), &output);
        check(&again(), &[(output, Failed, "names nothing")]);
    }
    for output in [
        said("`add` is in src/calc.py."),
        said("The file src/nothing.py does not exist."),
        json!({"findings": ["src/calc.py subtracts."]}),
    ] {
        doubted(&again(), &output);
    }
}

#[test]
fn a_failed_call_that_the_report_leaves_out_is_listed() {
    let mut step = Step::fixed().call("fs:read", json!({"path": "src/nothing.py"}));
    step.last().status = InvocationStatus::Failed;
    let report = with(json!({}));
    let gate = step.gate(&report);
    let listed = call_outcomes(&gate, &[]);
    let reason = listed[0].reason.as_deref().unwrap_or_default();
    assert!(reason.contains("the last call of `fs:read` failed"), "{listed:?}");
    check(&step, &[(report, Passed, "")]);
}

#[test]
fn a_line_that_ends_or_leaves_out_a_test_of_before_is_doubt() {
    let own = "class T(TestCase):\n    def test_a(self):\n        x()\n        self.check()\n";
    let edited = |line: &str| {
        let new = format!("        {line}\n        self.check()");
        let step = Step::over(&[("src/calc.py", super::CALC), ("tests/test_a.py", own)]);
        repair(step).edit("tests/test_a.py", "        self.check()", &new).test(1, 0)
    };
    let report =
        with(json!({"modified": ["src/calc.py", "tests/test_a.py"], "testResult": "passed"}));
    for line in ["return", "raise unittest.SkipTest('x')", "self.skipTest('x')", "@expectedFailure"]
    {
        check(&edited(line), &[(report.clone(), Inconclusive, "decides what the command does")]);
    }
    for line in ["self.other()", "return self.check(2)", "# checks the passed value"] {
        check(&edited(line), &[(report.clone(), Passed, "")]);
    }
}

#[test]
fn a_number_can_be_the_sum_of_all_that_printed_results() {
    let ran = |step: Step, command: &str, n: u64| {
        step.run(command, 0).printing(&format!("Ran {n} tests in 0.1s\n\nOK"))
    };
    let step = ran(Step::fixed(), "make smoke", 2);
    let step = ran(step, "python3 -m unittest tests.test_a", 3);
    check(&step, &[(with(json!({"testsPassed": 5})), Inconclusive, "sum of several runs")]);
    check(&step, &[(with(json!({"testsPassed": 6})), Failed, "3 passed")]);
    let script = ran(Step::fixed(), "npm --silent run ci", 3);
    check(&script, &[(with(json!({"testResult": "passed"})), Inconclusive, "npm --silent run ci")]);
}

#[test]
fn a_result_of_tests_in_a_key_reads_no_sentence() {
    let step = Step::fixed().test(5, 0);
    let mut gate = step.gate(&json!({
        "modified": ["src/calc.py"],
        "testResult": "passed",
        "summary": "Performance doubled. All 5 tests pass now. The rounding is exact now.",
    }));
    gate.excused.insert(0, "testResult".into());
    let parsed = super::ParsedGate::of(gate);
    let verdict = parsed.examine(&step.observed(&parsed)).verdict();
    let reason = verdict.reason.unwrap_or_default();
    assert_eq!(verdict.verdict, Unchecked, "{reason}");
    assert!(reason.contains("Performance doubled"), "{reason}");
}

#[test]
fn tests_that_a_selection_left_out_raise_doubt_wherever_it_stands() {
    let report = json!({"modified": ["src/calc.py"], "testResult": "passed"});
    for (command, output) in [
        ("pytest -q", "4 passed, 1 deselected in 0.02s"),
        (
            "cargo test",
            "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 3 filtered out; finished in 0.00s",
        ),
    ] {
        let step = Step::fixed().run(command, 0).printing(output);
        check(&step, &[(report.clone(), Inconclusive, "deselected in its output")]);
        // What the settings call the tests may select.
        let named = Step { test_commands: vec![command.to_owned()], ..step };
        check(&named, &[(report.clone(), Passed, "")]);
    }
}
