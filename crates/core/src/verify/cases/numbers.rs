//! One grammar of numbers, and one value for one meaning.

use super::{Step, check, doubted};
use crate::evidence::TestCounts;
use crate::evidence::Verdict::{Failed, Inconclusive, Passed, Unchecked};
use serde_json::json;

#[test]
fn only_a_plain_number_is_a_number() {
    let step = Step::fixed().test(2, 0);
    let changed =
        |key: &str, value: serde_json::Value| json!({"modified": ["src/calc.py"], key: value});
    check(
        &step,
        &[
            (changed("filesChanged", json!(1)), Passed, ""),
            (changed("filesChanged", json!("one")), Passed, ""),
            (changed("filesChanged", json!(3)), Failed, "3 files"),
            (changed("testsPassed", json!(2)), Passed, ""),
            (changed("summary", json!("All two tests pass.")), Passed, ""),
        ],
    );
    for value in [
        json!(-1),
        json!("-1"),
        json!(">1"),
        json!(">=1"),
        json!("~1"),
        json!("01"),
        json!("+1"),
        json!(1.5),
        json!("1e0"),
        json!(true),
        json!("Done."),
        json!("-"),
    ] {
        for key in ["filesChanged", "filesEdited", "changed_files"] {
            check(&step, &[(changed(key, value.clone()), Unchecked, "not checked")]);
        }
    }
    for (key, value) in [
        ("testsPassed", json!(-2)),
        ("testsPassed", json!("02")),
        ("tests", json!({"passed": ">2", "failed": 0})),
        ("tests", json!("-2 passed")),
        ("testsRun", json!(true)),
        ("summary", json!("All 02 tests pass.")),
        ("summary", json!("All -2 tests pass.")),
        ("summary", json!("At least >2 tests pass.")),
    ] {
        doubted(&step, &changed(key, value));
    }
}

#[test]
fn one_meaning_has_one_value() {
    let step = Step::fixed().test(2, 0);
    for more in [
        json!({"testsPassed": 2, "tests_passed": 20}),
        json!({"tests": {"passed": 2, "pass": 20}}),
        json!({"tests": {"passed": 2}, "unitTests": {"passed": 2, "passing": 3}}),
        json!({"testResult": "passed", "tests": {"passed": 2, "total": 3, "count": 2}}),
    ] {
        let mut report = json!({"modified": ["src/calc.py"]});
        for (key, value) in more.as_object().unwrap() {
            report[key] = value.clone();
        }
        doubted(&step, &report);
    }
    let same = json!({"modified": ["src/calc.py"], "testResult": "passed", "testsPassed": 2, "tests": {"passed": 2, "failed": 0}});
    check(&step, &[(same, Passed, "")]);
}

#[test]
fn an_entry_about_one_test_is_no_result_of_all() {
    let step = Step::fixed().test(1, 1);
    for tests in [
        json!([{"name": "test_total", "status": "passed"}, {"name": "test_add", "status": "failed"}]),
        json!({"test_total": "passed", "test_add": "failed"}),
        json!([{"name": "test_count", "outcome": "passed"}]),
    ] {
        let mut report = json!({"modified": ["src/calc.py"]});
        for key in ["tests", "testResults"] {
            report[key] = tests.clone();
            assert_ne!(step.verdict(&report).0, Failed, "{report}");
        }
        report["testResult"] = json!("failed");
        assert_ne!(step.verdict(&report).0, Failed, "{report}");
    }
    let lie =
        json!({"modified": ["src/calc.py"], "tests": [{"name": "unit tests", "status": "passed"}]});
    check(&step, &[(lie, Failed, "1 failed")]);
}

#[test]
fn tests_that_ran_twice_are_not_twice_as_many() {
    let output = "Ran 4 tests in 0.1s\n\nOK\nRan 4 tests in 0.1s\n\nOK";
    let step = Step::fixed().run("python3 -m unittest && python3 -m unittest", 0).printing(output);
    let forms = Step::fixed()
        .run("pytest -q && python3 -m unittest", 0)
        .printing("4 passed in 0.1s\nRan 4 tests in 0.1s\n\nOK");
    for number in [4, 8] {
        for step in [&step, &forms] {
            doubted(step, &json!({"modified": ["src/calc.py"], "testsPassed": number}));
        }
    }
}

#[test]
fn a_wrong_number_of_tests_is_refuted_below_every_key() {
    let step = Step::fixed().test(6, 0);
    let report = |more: serde_json::Value| {
        let mut report = json!({"modified": ["src/calc.py"], "testResult": "passed"});
        report.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        report
    };
    for (lie, truth) in [
        (json!({"testResult": "passed (12 tests)"}), json!({"testResult": "passed (6 tests)"})),
        (json!({"tests": {"passed": 12}}), json!({"tests": {"passed": 6}})),
        (json!({"tests": {"passed": "12"}}), json!({"tests": {"passed": "6"}})),
        (
            json!({"testSummary": {"results": {"passed": 12}}}),
            json!({"testSummary": {"results": {"passed": 6}}}),
        ),
        (json!({"tests": {"summary": "12 of 12"}}), json!({"tests": {"summary": "6 of 6"}})),
        (
            json!({"testResult": "passed (6 tests)", "tests": {"passed": 12}}),
            json!({"testResult": "passed (6 tests)", "tests": {"passed": 6}}),
        ),
    ] {
        check(
            &step,
            &[(report(lie), Failed, "claimed numbers of tests"), (report(truth), Passed, "")],
        );
    }
    // Below a key with another word the number may be one of something else.
    for other in
        [json!({"tests": {"assertions": {"passed": 48}}}), json!({"tests": {"js": {"passed": 48}}})]
    {
        doubted(&step, &report(other));
    }
}

#[test]
fn a_number_of_tests_alone_is_one_that_a_run_printed() {
    let ran = Step::fixed().test(6, 0);
    let with = |more: serde_json::Value| {
        let mut report = json!({"modified": ["src/calc.py"]});
        report.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        report
    };
    for (claimed, actual) in [
        (json!({"testResult": {"count": 12}}), json!({"testResult": {"count": 6}})),
        (json!({"tests": {"total": 12}}), json!({"tests": {"total": 6}})),
        (
            json!({"tests": {"status": "passed", "total": 12}}),
            json!({"tests": {"status": "passed", "total": 6}}),
        ),
        (json!({"numTests": 12}), json!({"numTests": 6})),
        (json!({"numberOfTests": 12}), json!({"numberOfTests": "6"})),
        (json!({"testsExecuted": 12}), json!({"tests_run": 6})),
        (json!({"numPassedTests": 12}), json!({"numPassedTests": 6, "numTotalTests": 6})),
    ] {
        check(
            &ran,
            &[
                (with(claimed.clone()), Failed, "claimed numbers of tests differ"),
                (with(actual), Passed, ""),
            ],
        );
        assert_ne!(Step::fixed().verdict(&with(claimed)).0, Passed);
    }
    // Of several runs, of a run before an edit and of tests that the step wrote the number can be right.
    let edited = ran.clone().edit("src/calc.py", "a + b", "b + a");
    doubted(&Step::fixed().test(12, 0).test(6, 0), &with(json!({"numTests": 12})));
    doubted(&edited, &with(json!({"testsRun": 7})));
    let wrote = Step::fixed().write("tests/test_new.py", "x = 1\n").test(6, 0);
    doubted(&wrote, &with(json!({"created": ["tests/test_new.py"], "testCount": 1})));
    // Without a word for tests the number can be one of something else.
    for bare in [
        json!({"passed": 12}),
        json!({"passed": 12, "failed": 0}),
        json!({"total": 12}),
        json!({"tests": 12}),
        json!({"testResult": "passed", "passed": 12}),
    ] {
        doubted(&ran, &with(bare));
    }
    for bare in [
        json!({"passed": 6, "failed": 0, "total": 6}),
        json!({"passed": 6}),
        json!({"total": 6}),
        json!({"tests": 6}),
    ] {
        check(&ran, &[(with(bare), Passed, "")]);
    }
    // A number of passed tests also says that they pass.
    doubted(&edited, &with(json!({"passed": 6})));
    doubted(&Step::fixed().test(4, 2), &with(json!({"passed": 6})));
}

/// Each name says which lines it counts.
#[test]
fn added_and_removed_lines_are_not_mixed_up() {
    let step = Step::over(&[("notes.md", "one\ntwo\n")]).edit(
        "notes.md",
        "one\ntwo\n",
        "one\na\nb\nc\nd\ntwo\n",
    );
    let of = |key: &str, value: serde_json::Value| json!({"modified": ["notes.md"], key: value});
    let wrong = |key: &str, value: u64| (of(key, json!(value)), Failed, "lines are claimed");
    check(
        &step,
        &[
            (of("insertions", json!(4)), Passed, ""),
            (of("linesAdded", json!(4)), Passed, ""),
            (json!({"modified": ["notes.md"], "insertions": 4, "deletions": 0}), Passed, ""),
            (of("summary", json!("Added 4 lines.")), Passed, ""),
            (of("summary", json!("4 insertions and 0 deletions.")), Passed, ""),
            wrong("insertions", 0),
            wrong("deletions", 4),
        ],
    );
    for said in ["4 insertions and 4 deletions.", "Removed 4 lines.", "4 lines deleted."] {
        doubted(&step, &of("summary", json!(said)));
    }
}

/// The number of all tests beside that of passed ones says that some did not pass, and nothing more.
#[test]
fn fewer_passed_tests_than_all_are_no_claim_that_all_passed() {
    let said = |tests: serde_json::Value| json!({"modified": ["src/calc.py"], "tests": tests});
    let failed = Step::fixed().test(5, 1);
    doubted(&failed, &said(json!({"passed": 5, "total": 6})));
    let mut both = said(json!({"passed": 5, "total": 6}));
    both["testResult"] = json!("passed");
    check(&failed, &[(both, Failed, "1 failed")]);
    check(
        &Step::fixed().test(6, 0),
        &[
            (said(json!({"passed": 6, "total": 6})), Passed, ""),
            (said(json!({"passed": 7, "total": 7})), Failed, "numbers of tests"),
        ],
    );
}

/// What is to be done is no claim; what was done is.
#[test]
fn keys_for_files_to_come_claim_nothing() {
    let step = Step::fixed();
    let of = |key: &str| json!({"modified": ["src/calc.py"], key: ["tests/test_new.py"]});
    for key in ["filesToCreate", "toModify", "files_to_delete", "filesToUpdate"] {
        check(&step, &[(of(key), Unchecked, "not checked")]);
    }
    check(&step, &[(of("filesCreated"), Failed, "claimed as created")]);
}

/// The failed tests can be those of another part.
#[test]
fn passed_tests_of_a_part_are_no_lie_beside_failed_ones() {
    let step = Step::fixed().test(5, 1);
    let of = |own: serde_json::Value| {
        let mut output = json!({"modified": ["src/calc.py"], "summary": "The e2e test fails."});
        output.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
        output
    };
    doubted(&step, &of(json!({"unitTests": "passed", "e2eTests": "failed"})));
    doubted(&step, &of(json!({"packages": {"a": {"tests": "passed"}, "b": {"tests": "failed"}}})));
    check(
        &step,
        &[(json!({"modified": ["src/calc.py"], "testResult": "passed"}), Failed, "1 failed")],
    );
    // Without a part that is said to have failed, there is none whose tests they could be.
    let all = |own: serde_json::Value| {
        let mut output = json!({"modified": ["src/calc.py"], "summary": "Done."});
        output.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
        (output, Failed, "1 failed")
    };
    let [unit, e2e] = ["unitTests", "e2eTests"];
    check(
        &step,
        &[
            all(json!({unit: "passed", e2e: "passed"})),
            all(json!({unit: "passed", "integrationTests": "passed", e2e: "passed"})),
            all(json!({"packages": {"a": {"tests": "passed"}, "b": {"tests": "passed"}}})),
        ],
    );
    // Nor beside a failed run of the part itself.
    let mut own = Step::fixed().run("pytest -q tests/unit", 1);
    let printed = TestCounts::in_output("1 failed, 4 passed in 0.02s", "");
    own.last().process.as_mut().unwrap().tests = printed;
    check(&own, &[all(json!({unit: "passed", e2e: "failed"}))]);
}

#[test]
fn numbers_that_another_command_can_have_printed_raise_doubt() {
    let ran = |command: &str| Step::fixed().run(command, 0).printing("12 passed in 0.02s");
    let reports = [
        json!({"modified": ["src/calc.py"], "testResult": "passed"}),
        json!({"modified": ["src/calc.py"], "testResult": "passed", "tests": {"passed": 12}}),
        json!({"modified": ["src/calc.py"], "testsRun": 12}),
    ];
    for command in [
        "pytest -qq; echo '12 passed in 0.02s'",
        "echo -n '12'; echo ' passed in 0.02s'; pytest -qq",
        "pytest -qq; printf '%d passed in 0.02s\n' 12",
        "pytest -qq; echo \"$SUMMARY\"",
        "pytest -q > /dev/null; echo 1",
        "(pytest -q) > /dev/null; tail -1 notes.txt",
        "pytest -q | sed s/5/12/",
        "pytest -q 2>&1 | tee out.txt | tr 5 9",
        "pytest -q > out.txt; sed s/5/12/ out.txt",
        "pytest -qq; cat notes.txt",
        "grep passed notes.txt; pytest -qq",
        "pytest -qq; python3 -c 'print(12, \"passed in 0.02s\")'",
        "python3 - <<'X'\nprint('12 passed in 0.02s')\nX\npytest -qq",
        "pytest -qq; awk 1 notes.txt | cat",
        "pytest -q > out.txt; echo '12 passed in 0.02s' >> out.txt; tail -1 out.txt",
    ] {
        for report in &reports {
            let (verdict, reason) = ran(command).verdict(report);
            assert_eq!(verdict, Inconclusive, "{command} {report}: {reason}");
        }
    }
    for command in [
        "pytest -q",
        "cd . && pytest -q 2>&1 | tail -5",
        "pytest -q 2>&1 | tee out.txt | grep passed",
        "pytest -q > out.txt 2>&1; tail -n 3 out.txt",
        "pytest -q 2> /dev/null; echo \"exit code: $?\"",
        "echo '== tests'; pytest -q && echo 'all 12 green'",
        "git add src && ruff check src && pytest -q",
        "cat notes.txt > old.txt; sed -i s/a/b/ old.txt > log.txt; pytest -q",
        "python3 --version && python3 -m pytest -q",
        "cat answers.txt | pytest -q",
    ] {
        for report in &reports {
            let (verdict, reason) = ran(command).verdict(report);
            assert_eq!(verdict, Passed, "{command} {report}: {reason}");
        }
    }
}
