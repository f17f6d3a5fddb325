//! Results of tests beside other checks, parts and switches.

use super::{CALC, Step, check, doubted};
use crate::evidence::Verdict::{Failed, Inconclusive, Passed};
use serde_json::json;

#[test]
fn a_check_of_the_project_that_failed_and_was_not_repeated_raises_doubt() {
    let passed = json!({"modified": ["src/calc.py"], "testResult": "passed"});
    let all = json!({"modified": ["src/calc.py"], "summary": "All tests pass."});
    for command in ["bash e2e.sh", "./check.sh", "npm run e2e", "make e2e", "python3 e2e.py"] {
        for step in
            [Step::fixed().run(command, 1).test(2, 0), Step::fixed().test(2, 0).run(command, 1)]
        {
            check(
                &step,
                &[(passed.clone(), Inconclusive, command), (all.clone(), Inconclusive, command)],
            );
        }
        let again = Step::fixed().run(command, 1).run(command, 0).test(2, 0);
        check(&again, &[(passed.clone(), Passed, "")]);
        // Whether the last edit repaired it is not known.
        let before = Step::fixed().run(command, 1).edit("src/calc.py", "a - b", "a * b").test(2, 0);
        check(&before, &[(passed.clone(), Inconclusive, "no claim mentions it")]);
    }
    let printed =
        Step::fixed().run("./verify", 1).printing("1 failed, 3 passed in 0.1s").test(2, 0);
    check(&printed, &[(passed.clone(), Inconclusive, "./verify")]);
    for command in ["grep -q x src/calc.py", "ls nothing"] {
        check(&Step::fixed().run(command, 1).test(2, 0), &[(passed.clone(), Passed, "")]);
    }
}

#[test]
fn a_failed_command_that_the_report_leaves_out_raises_doubt() {
    let report = json!({"modified": ["src/calc.py"]});
    let said = "no claim mentions it";
    for step in [
        Step::fixed().test(1, 1),
        Step::fixed().run("make lint", 2).run("git status", 0),
        Step::fixed().test(1, 1).run("python3 -m unittest tests.test_a", 0),
        Step::fixed().run("npm install", 0).run("npx tsc", 2),
        Step::fixed().test(1, 1).edit("src/calc.py", "a - b", "a * b").run("git status", 0),
    ] {
        check(&step, &[(report.clone(), Inconclusive, said)]);
    }
    // Exit code 0 of a script does not hide what its tests printed.
    let hidden = Step::fixed()
        .run("pytest -q || true", 0)
        .printing("1 failed, 3 passed in 0.1s")
        .run("git status", 0);
    check(&hidden, &[(report.clone(), Inconclusive, "reports 1 failed")]);
    for step in [
        Step::fixed()
            .run("pytest -q || true", 0)
            .printing("1 failed in 0.1s")
            .test(2, 0)
            .run("pytest -q", 0)
            .printing("4 passed in 0.1s"),
        Step::fixed().test(1, 1).test(2, 0),
        Step::fixed().run("python3 -m unittest tests.test_a", 1).test(2, 0),
        Step::fixed().run("npx tsc", 2).run("npx tsc -p .", 0),
        Step::fixed().run("ls nothing", 2).run("git status", 0),
        Step::over(&[("src/calc.py", CALC)]).run("ls nothing", 2).edit(
            "src/calc.py",
            "a - b",
            "a + b",
        ),
        Step::fixed().run("grep -q x src/calc.py", 1),
    ] {
        check(&step, &[(report.clone(), Passed, "")]);
    }
    let failed = Step::fixed().test(1, 1);
    for told in [
        json!({"modified": ["src/calc.py"], "testResult": "failed"}),
        json!({"modified": ["src/calc.py"],
            "commands": [{"command": "python3 -m unittest", "exitCode": 1}]}),
    ] {
        check(&failed, &[(told, Passed, "")]);
    }
}

#[test]
fn a_failure_that_the_work_is_about_tells_no_failed_check() {
    let failed = Step::fixed().run("make lint", 2).run("git status", 0);
    let report = |text: &str| json!({"modified": ["src/calc.py"], "findings": [text]});
    let said = "no claim mentions it";
    check(&failed, &[(report("The login fails with 401 now."), Inconclusive, said)]);
    for told in ["The lint fails now.", "`make lint` fails.", "The check failed."] {
        let (verdict, reason) = failed.verdict(&report(told));
        assert!(verdict != Failed && !reason.contains(said), "{told}: {reason}");
    }
}

#[test]
fn integration_tests_are_those_of_a_command_that_names_them() {
    let report = json!({"modified": ["src/calc.py"], "integrationTests": "passed"});
    check(&Step::fixed().test(2, 0), &[(report.clone(), Inconclusive, "integration tests")]);
    for tests in [
        json!({"testResult": "passed", "integrationTests": "passed"}),
        json!({"integrationTestsPassed": 2}),
        json!({"results": [{"name": "unit tests", "status": "pass"}, {"name": "integration tests", "status": "pass"}]}),
    ] {
        let mut report = tests.clone();
        report["modified"] = json!(["src/calc.py"]);
        check(&Step::fixed().test(2, 0), &[(report, Inconclusive, "integration tests")]);
    }
    let unit = json!({"modified": ["src/calc.py"], "unitTests": "passed"});
    check(&Step::fixed().test(2, 0), &[(unit, Passed, "")]);
    let named =
        Step::fixed().run("npm run test:integration", 0).printing("Ran 2 tests in 0.1s\n\nOK");
    let (verdict, reason) = named.verdict(&report);
    assert!(!reason.contains("which of the tests"), "{verdict} {reason}");
}

#[test]
fn a_part_of_the_tests_in_other_forms_is_doubted() {
    let passed = json!({"modified": ["src/calc.py"], "testResult": "passed"});
    let ran = |command: &str| Step::fixed().run(command, 0).printing("Ran 2 tests in 0.1s\n\nOK");
    for command in ["python3 -O -m unittest", "python3 -OO -m unittest", "python3 -I -m unittest"] {
        check(&ran(command), &[(passed.clone(), Inconclusive, "may be a part")]);
    }
    for command in ["python3 -B -m unittest", "python3 -u -m unittest -v"] {
        check(&ran(command), &[(passed.clone(), Passed, "")]);
    }
    // Something was taken away for the run and put back in the same script.
    for command in [
        "mv tests/test_bad.py $TMPDIR/ && python3 -m unittest && mv $TMPDIR/test_bad.py tests/",
        "sed -i s/upper/lower/ src/util.py; python3 -m unittest; sed -i s/lower/upper/ src/util.py",
        "touch .fast && python3 -m unittest && rm .fast",
        "mv tests/slow /tmp/ && python3 -m unittest && mv /tmp/slow tests/",
        "mv slow ..; python3 -m unittest; mv ../slow .",
    ] {
        check(&ran(command), &[(passed.clone(), Inconclusive, "before and after")]);
    }
    let stashed = ran("git stash && python3 -m unittest && git stash pop");
    let text = stashed.files["src/calc.py"].clone();
    let stashed = stashed.changing("src/calc.py", Some(&text));
    check(&stashed, &[(passed.clone(), Inconclusive, "changed it back")]);
    for command in [
        "pip install -e . && python3 -m unittest && git status",
        "git diff src/calc.py; python3 -m unittest; git add src/calc.py",
        "echo Done. v1.2; python3 -m unittest; echo Done. v1.2",
        "npm run lint && python3 -m unittest && npm run build",
    ] {
        check(&ran(command), &[(passed.clone(), Passed, "")]);
    }
}

#[test]
fn all_tests_are_those_that_were_left_out_too() {
    let step = Step::fixed()
        .run("python3 -m unittest", 0)
        .printing("Ran 3 tests in 0.1s\n\nOK (skipped=1)");
    let report = |summary: &str| json!({"modified": ["src/calc.py"], "summary": summary});
    check(
        &step,
        &[
            (json!({"modified": ["src/calc.py"], "testResult": "passed"}), Passed, ""),
            (json!({"modified": ["src/calc.py"], "tests": {"passed": 2, "failed": 0}}), Passed, ""),
            (
                json!({"modified": ["src/calc.py"], "tests": {"passed": 2, "total": 3}}),
                Inconclusive,
                "numbers",
            ),
            (report("The tests pass."), Passed, ""),
        ],
    );
    for text in ["All tests pass.", "Every test passes."] {
        doubted(&step, &report(text));
    }
    doubted(&step, &json!({"modified": ["src/calc.py"], "testResult": "all passed"}));
    doubted(&step, &json!({"modified": ["src/calc.py"], "allTestsPassed": true}));
}

#[test]
fn tests_in_another_language_and_of_members_are_left_out() {
    let files = |more: &[(&str, &str)]| {
        let own = [("src/calc.py", CALC), ("tests/test_calc.py", "")];
        Step::over(&[&own, more].concat()).edit("src/calc.py", "a - b", "a + b")
    };
    let passed = json!({"modified": ["src/calc.py"], "testResult": "passed"});
    let web = || files(&[("web/a.test.js", "")]);
    check(&web().test(2, 0), &[(passed.clone(), Inconclusive, "web/a.test.js")]);
    let node = |step: Step| step.run("node --test", 0).printing("# pass 1\n# fail 0");
    check(&node(web().test(2, 0)), &[(passed.clone(), Passed, "")]);
    check(
        &web().run("make test", 0).printing("Ran 2 tests in 0.1s\n\nOK"),
        &[(passed.clone(), Passed, "")],
    );
    check(&files(&[("web/a.js", "")]).test(2, 0), &[(passed.clone(), Passed, "")]);
    // A folder with tests is a part of them if there are others.
    let folder = |command: &str, path: &str| {
        let ran = files(&[(path, "")]).run(command, 0);
        ran.printing("2 passed in 0.1s")
    };
    for command in ["pytest tests", "python3 -m pytest -q tests/", "pytest -x --maxfail=1 ./tests"]
    {
        check(&folder(command, "test_root.py"), &[(passed.clone(), Inconclusive, "test_root.py")]);
        check(&folder(command, "tests/more/test_b.py"), &[(passed.clone(), Passed, "")]);
        let all = folder(command, "test_root.py").run("pytest", 0).printing("3 passed in 0.1s");
        check(&all, &[(passed.clone(), Passed, "")]);
    }
    let cargo = |manifest: &str, command: &str| {
        Step::over(&[("Cargo.toml", manifest), ("src/lib.rs", "1\n")])
            .edit("src/lib.rs", "1", "2")
            .run(command, 0)
            .printing("test result: ok. 2 passed; 0 failed; 0 ignored")
    };
    let (both, one) = ("[package]\n[workspace]\nmembers = [\"sub\"]\n", "[package]\n");
    let passed = json!({"modified": ["src/lib.rs"], "testResult": "passed"});
    for (step, expected) in [
        (cargo(both, "cargo test"), Inconclusive),
        (cargo(both, "cargo test --workspace"), Passed),
        (cargo(one, "cargo test"), Passed),
        (cargo("[workspace]\nmembers = [\"sub\"]\n", "cargo test"), Passed),
        (cargo("[package]\n[workspace]\n[dependencies]\na = \"1\"\n", "cargo test"), Passed),
        (
            cargo("[package]\n[workspace]\n[dependencies]\na = { path = \"a\" }\n", "cargo test"),
            Inconclusive,
        ),
        (cargo(&format!("{both}default-members = [\".\", \"sub\"]\n"), "cargo test"), Passed),
        (cargo(&format!("{both}default-members = [\".\"]\n"), "cargo test"), Inconclusive),
        (Step { unlisted: true, ..cargo(one, "cargo test") }, Inconclusive),
    ] {
        check(&step, &[(passed.clone(), expected, "")]);
    }
}

#[test]
fn a_repeated_command_of_the_settings_has_no_further_arguments() {
    let passed = json!({"modified": ["src/calc.py"], "testResult": "passed"});
    for (command, code, expected) in [
        ("make verify || true", 0, Passed),
        ("make verify || true", 1, Failed),
        ("make verify -o verify || true", 0, Inconclusive),
    ] {
        let (test_commands, repeated) = (vec!["make verify".to_owned()], Some(code));
        let step = Step { test_commands, repeated, ..Step::fixed().run(command, 0) };
        check(&step, &[(passed.clone(), expected, "")]);
    }
}

#[test]
fn a_run_without_numbers_proves_none() {
    let named = |step: Step| Step { test_commands: vec!["make verify".to_owned()], ..step };
    let step = named(Step::fixed().run("make verify", 0));
    let report = |tests: serde_json::Value| json!({"modified": ["src/calc.py"], "tests": tests});
    check(
        &step,
        &[
            (report(json!("passed")), Passed, ""),
            (report(json!({"passed": 7, "failed": 0})), Inconclusive, "no number of tests"),
        ],
    );
    let idle = step.printing("make: 'verify' is up to date.\n");
    check(&idle, &[(report(json!("passed")), Failed, "0 tests ran")]);
    // A repetition shows no more than the run itself.
    let masked = Step { repeated: Some(0), ..Step::fixed().run("make test || true", 0) };
    check(&masked, &[(report(json!("passed")), Inconclusive, "")]);
}

#[test]
fn a_check_of_the_project_whose_exit_code_is_hidden_and_that_no_report_mentions_raises_doubt() {
    let report = json!({"modified": ["src/calc.py"]});
    let doubt = "is not known, because";
    for command in [
        "npm run lint || true",
        "set +o pipefail; make lint | tail -1",
        "sh e2e.sh > e2e.log || true",
        "! make check",
        "pytest -q tests/e2e > e2e.log || true",
    ] {
        let hidden = Step::fixed().run(command, 0);
        check(&hidden, &[(report.clone(), Inconclusive, doubt)]);
        check(
            &hidden.clone().test(2, 0),
            &[(json!({"modified": ["src/calc.py"], "testResult": "passed"}), Inconclusive, "")],
        );
        let told =
            json!({"modified": ["src/calc.py"], "notes": "The lint, check and e2e tests failed."});
        let (verdict, reason) = hidden.verdict(&told);
        assert!(!reason.contains(doubt), "{command}: {verdict:?} {reason}");
    }
    for command in [
        "git push || true",
        "rm -f a.txt || true",
        "make lint | tail -1",
        "npm run lint; echo done",
    ] {
        check(&Step::fixed().run(command, 0), &[(report.clone(), Passed, "")]);
    }
    let again = Step::fixed().run("make lint || true", 0).run("make lint", 0);
    check(&again, &[(report.clone(), Passed, "")]);
}
