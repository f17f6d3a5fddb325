//! Shares of passed tests, compared with the numbers that a run printed.

use super::call_outcomes::verdict_of_script;
use crate::scratch::Scratch;
use serde_json::{Value, json};

/// Verdict and reason over this report, beside a run of tests that printed this summary and ended with this code.
fn judged(printed: &str, code: u8, report: &Value) -> (String, String) {
    let run = json!({"tool": "shell:exec", "args": {"command": "sh tests/run.sh"}});
    let edit = json!({"tool": "fs:edit", "args": {"path": "calc.py", "old": "1", "new": "2"}});
    let mut report = report.clone();
    report["modified"] = json!(["calc.py"]);
    let turns = json!([{"calls": [edit]}, {"calls": [run]}, {"output": report}]);
    let script = json!({"schema": "kb.script/1", "steps": {"a": turns}});
    verdict_of_script(
        &Scratch::new(&[
            (
                "playbooks/p.yml",
                "schema: kb.playbook/1\nid: p\nsteps:\n  - {id: a, specialist: dev, task: Work., verify: {maxReworks: 0}}\n",
            ),
            (
                ".kb/specialists/dev.yml",
                "schema: kb.specialist/1\nid: dev\nrole: You work.\ntools: [\"fs:*\", \"shell:exec\"]\n",
            ),
            (".kb/kb.config.yml", "testCommands: [sh tests/run.sh]\n"),
            (".kb/script.json", &script.to_string()),
            ("calc.py", "1\n"),
            ("tests/run.sh", &format!("echo '{printed}'\nexit {code}\n")),
        ]),
        ".kb/script.json",
    )
}

#[test]
fn a_share_of_tests_is_compared_with_the_numbers_of_the_run() {
    let (some, all) = ("1 failed, 5 passed in 0.02s", "6 passed in 0.02s");
    let left_out = "5 passed, 1 skipped, 1 xfailed in 0.02s";
    for (printed, code, report, expected) in [
        (some, 1, json!({"summary": "83 % of the tests pass."}), "inconclusive"),
        (some, 1, json!({"summary": "83 % тестов прошли."}), "inconclusive"),
        (
            some,
            1,
            json!({"testResult": "83 % passed", "summary": "One test fails."}),
            "inconclusive",
        ),
        (some, 1, json!({"summary": "90 % of the tests pass."}), "failed"),
        (some, 1, json!({"summary": "100 % of the tests pass."}), "failed"),
        (all, 0, json!({"testResult": "100 % passed", "summary": "Done."}), "passed"),
        (all, 0, json!({"testResult": "passed", "summary": "100 % of the tests pass."}), "passed"),
        (all, 0, json!({"testResult": "83 % passed", "summary": "Done."}), "failed"),
        (all, 0, json!({"testResult": "passed", "summary": "50% of tests pass."}), "failed"),
        // What was left out did not pass and did not fail.
        (left_out, 0, json!({"tests": "5/7", "summary": "Done."}), "inconclusive"),
        (
            left_out,
            0,
            json!({"tests": {"passed": 5, "total": 6}, "summary": "Done."}),
            "inconclusive",
        ),
        (left_out, 0, json!({"tests": "5/8", "summary": "Done."}), "failed"),
        (left_out, 0, json!({"testResult": "100 % passed", "summary": "Done."}), "inconclusive"),
    ] {
        let (verdict, reason) = judged(printed, code, &report);
        assert_eq!(verdict, expected, "{printed}: {report}: {reason}");
    }
}
