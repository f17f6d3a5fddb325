//! Outputs of test runners and their numbers.

use super::*;

#[test]
fn summaries_of_test_runners_give_counts() {
    for (name, output, expected) in [
        (
            "libtest",
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\ntest result: FAILED. 1 passed; 2 failed; 0 ignored",
            Some((4, 2)),
        ),
        (
            "libtest, filtered",
            "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 5 filtered out; finished in 0.00s",
            Some((0, 0)),
        ),
        (
            "nextest",
            "     Summary [   0.013s] 3 tests run: 2 passed, 1 failed, 0 skipped",
            Some((2, 1)),
        ),
        (
            "pytest",
            "============= 3 passed, 1 failed, 2 warnings in 0.12s =============",
            Some((3, 1)),
        ),
        ("pytest -q", "5 passed in 0.01s", Some((5, 0))),
        (
            "pytest, color",
            "\u{1b}[32m\u{1b}[1m2 passed\u{1b}[0m\u{1b}[32m in 0.01s\u{1b}[0m",
            Some((2, 0)),
        ),
        ("pytest, none", "============ no tests ran in 0.01s ============", Some((0, 0))),
        ("pytest, deselected", "===== 4 deselected in 0.01s =====", Some((0, 0))),
        ("unittest", "Ran 3 tests in 0.001s\n\nOK", Some((3, 0))),
        (
            "unittest, failed",
            "Ran 3 tests in 0.001s\n\nFAILED (failures=1, errors=1)",
            Some((1, 2)),
        ),
        ("unittest, none", "Ran 0 tests in 0.000s\n\nNO TESTS RAN", Some((0, 0))),
        (
            "jest",
            "Test Suites: 1 failed, 1 total\nTests:       1 failed, 2 passed, 3 total",
            Some((2, 1)),
        ),
        ("jest, none", "No tests found, exiting with code 0", Some((0, 0))),
        ("vitest", " Test Files  1 passed (1)\n      Tests  2 passed (2)", Some((2, 0))),
        ("vitest, failed", "      Tests  1 failed | 2 passed (3)", Some((2, 1))),
        ("mocha", "  3 passing (10ms)\n  1 failing", Some((3, 1))),
        ("go", "ok  \tx/a\t0.012s\nok  \tx/b\t(cached)\n?   \tx/c\t[no test files]", Some((2, 0))),
        ("go, failed", "--- FAIL: TestA (0.00s)\nFAIL\nFAIL\tx/a\t0.003s", Some((0, 1))),
        ("go, none", "?   \tx\t[no test files]", Some((0, 0))),
        ("go, nothing matched", "ok  \tx/a\t0.002s [no tests to run]", Some((0, 0))),
        ("TAP", "TAP version 13\n1..2\nok 1 - a\nnot ok 2 - b", Some((1, 1))),
        ("TAP, none", "1..0", Some((0, 0))),
        ("node", "TAP version 13\nok 1 - a\n1..1\n# tests 1\n# pass 1\n# fail 0", Some((1, 0))),
        (
            "Maven",
            "Tests run: 2, Failures: 0, Errors: 0, Skipped: 0 -- in A\n[INFO] Tests run: 5, Failures: 1, Errors: 1, Skipped: 1",
            Some((2, 2)),
        ),
        (
            "JUnit XML",
            "<testsuites name=\"a\" tests=\"3\" failures=\"1\" errors=\"0\">\n<testsuite tests=\"3\" failures=\"1\">",
            Some((2, 1)),
        ),
        ("rspec", "3 examples, 1 failure", Some((2, 1))),
        ("phpunit", "OK (3 tests, 4 assertions)", Some((3, 0))),
        ("phpunit, failed", "Tests: 3, Assertions: 4, Failures: 1.", Some((2, 1))),
        ("ctest", "100% tests passed, 0 tests failed out of 3", Some((3, 0))),
        (
            "dotnet",
            "Passed!  - Failed:     0, Passed:     3, Skipped:     0, Total:     3",
            Some((3, 0)),
        ),
        ("deno", "ok | 3 passed | 1 failed (10ms)", Some((3, 1))),
        ("bun", " 3 pass\n 1 fail", Some((3, 1))),
        ("no summary", "built in 3s\nok\ndone: 3 files passed the linter", None),
        ("empty", "", None),
        ("make, nothing to do", "make: 'test' is up to date.", Some((0, 0))),
        ("make, a part", "make: Nothing to be done for 'all'.\nall fine", None),
    ] {
        let counts = TestCounts::in_output(output, "");
        assert_eq!(counts.map(|counts| (counts.passed, counts.failed)), expected, "{name}");
        assert_eq!(TestCounts::in_output("", output), counts, "{name}");
    }
}

#[test]
fn tests_that_are_expected_to_fail_did_not_pass() {
    for output in [
        "==== 4 passed, 1 xfailed in 0.1s ====",
        "Ran 5 tests in 0.1s\n\nOK (expected failures=1)",
        "Ran 5 tests in 0.1s\n\nOK (skipped=0, expected failures=1)",
    ] {
        assert_eq!(TestCounts::in_output(output, "").unwrap().skipped, 1, "{output}");
    }
}

#[test]
fn a_summary_on_several_lines_is_one() {
    for (output, expected) in [
        ("# tests 3\n# pass 2\n# fail 1\n# skipped 0", 0),
        ("  3 passing (10ms)\n  1 failing", 0),
        (" 3 pass\n 1 fail", 0),
        ("# pass 2\n# fail 1\n# pass 4\n# fail 0", 2),
        ("Ran 4 tests in 0.1s\n\nOK\nRan 4 tests in 0.1s\n\nOK", 2),
        ("  3 passing (10ms)\n  2 passing (4ms)", 2),
    ] {
        let counts = TestCounts::in_output(output, "").unwrap();
        assert_eq!(counts.summaries, expected, "{output}");
    }
}

#[test]
fn tests_that_a_selection_left_out_are_counted() {
    for (output, expected) in [
        ("4 passed, 1 deselected in 0.01s", 1),
        ("==== 2 passed, 1 skipped, 3 deselected, 1 warning in 0.01s ====", 3),
        (
            "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 5 filtered out; finished in 0.00s",
            5,
        ),
        ("ok | 3 passed | 0 failed | 2 filtered out (10ms)", 2),
        ("5 passed in 0.01s", 0),
        (
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s",
            0,
        ),
    ] {
        let counts = TestCounts::in_output(output, "").unwrap();
        assert_eq!(counts.deselected, expected, "{output}");
    }
}
