//! Tasks that ask for changes, commands that failed, names in prose, and commands that other ones executed.

use super::{Step, check};
use crate::evidence::ProcessEndKind;
use crate::evidence::Verdict::{Failed, Inconclusive, Passed, Unchecked};
use serde_json::json;

#[test]
fn a_file_that_the_task_asks_for_must_come() {
    let step = |task: &str| Step {
        task: task.to_owned(),
        ..Step::over(&[("docs/a.md", "")]).call("fs:read", json!({"path": "docs/a.md"}))
    };
    let report = json!({"result": "Here is what I found in the code.", "summary": "Done."});
    let refuted = (report.clone(), Failed, "the task asks for `calc/mul.py`");
    check(&step("Create calc/mul.py with a function mul."), std::slice::from_ref(&refuted));
    check(&step("Please write `calc/mul.py`."), &[refuted]);
    let open = (report, Inconclusive, "expected to change files");
    check(&step("Write a summary of docs/a.md."), std::slice::from_ref(&open));
    check(&step("Check calc/mul.py."), std::slice::from_ref(&open));
    check(&step("Plan the split of docs/a.md into docs/b.md."), &[open]);
}

#[test]
fn a_task_that_asks_for_a_change_needs_one_or_a_word_that_none_was_needed() {
    let step = |task: &str| Step {
        task: task.to_owned(),
        ..Step::over(&[("docs/a.md", "")]).call("fs:read", json!({"path": "docs/a.md"}))
    };
    let nothing = json!({"summary": "Done."});
    let state = json!({"summary": "The module is as it should be."});
    let asked = "the task asks for a change";
    for task in [
        "Update docs/a.md.",
        "Read docs/a.md and fix it.",
        "Fix the failing tests.",
        "Implement mul.",
    ] {
        check(&step(task), &[(nothing.clone(), Failed, asked)]);
        for said in [
            "Fixed the rounding.",
            "The rounding is fixed.",
            "Task completed successfully.",
            "I resolved it.",
            "OK",
            "✅",
        ] {
            check(&step(task), &[(json!({"summary": said}), Failed, asked)]);
        }
        // The report does not say that something was done.
        check(&step(task), &[(state.clone(), Inconclusive, asked)]);
        for said in [
            "Works as intended.",
            "The code is correct as it stands.",
            "I'm blocked: the ticket refers to a file that is missing.",
            "The ticket contradicts itself. Waiting for clarification.",
            "Die Funktion rechnet korrekt.",
            "Код работает правильно.",
            "Nothing had to be changed.",
            "It was changed already.",
            "The file is right; I left it alone.",
            "There is no such text, so there was nothing to replace.",
            "docs/a.md was correct before I started.",
            "I kept docs/a.md as is.",
            "I decline: docs/a.md is generated.",
            "I refuse to edit a generated file.",
            "I won't edit generated code.",
            "Someone else has fixed it in another branch.",
            "False alarm.",
            "Not a bug.",
            "Менять ничего не пришлось.",
            "Kein Fehler gefunden.",
            "✔ present",
            "N/A",
        ] {
            let report = json!({"summary": said});
            assert_ne!(step(task).verdict(&report).0, Failed, "{said}");
        }
        check(&step(task), &[(json!({"noChanges": true}), Unchecked, "nothing was to be changed")]);
    }
    // A process, or an answer of its own, can be what was asked for.
    let other = step("Update the ticket.").run("curl -d done http://x.org", 0);
    check(&other, &[(state.clone(), Inconclusive, "expected to change files")]);
    let text = json!({"text": "The corrected text.", "summary": "Done."});
    check(
        &step("Correct this text: teh cat."),
        &[(text, Inconclusive, "expected to change files")],
    );
    for task in ["Review docs/a.md.", "Fix docs/a.md if the links are dead."] {
        check(&step(task), &[(state.clone(), Inconclusive, "expected to change files")]);
    }
}

#[test]
fn what_was_made_and_taken_back_or_made_by_a_program_refutes_nothing() {
    let back =
        Step::over(&[("docs/a.md", "a\n")]).edit("docs/a.md", "a", "b").edit("docs/a.md", "b", "a");
    let report = json!({"summary": "Added a comment to docs/a.md and took it out again."});
    assert_ne!(back.verdict(&report).0, Failed);
    let files = [("tools/gen.js", "x"), ("src/calc.py", "x = 1\n")];
    let made = Step::over(&files).run("node tools/gen.js", 0).changing("src/v.js", Some("1"));
    for said in ["`node tools/gen.js` wrote src/v.js.", "tools/gen.js generated src/v.js."] {
        let (verdict, reason) = made.verdict(&json!({"summary": said}));
        assert_ne!(verdict, Failed, "{said}: {reason}");
    }
    let lie = json!({"summary": "tools/gen.js was updated."});
    check(&made, &[(lie, Failed, "`tools/gen.js`")]);
}

#[test]
fn a_file_that_the_shell_writes_behind_the_tests_raises_doubt() {
    let report = json!({"modified": ["src/calc.py"], "testResult": "passed"});
    let ran = |command: &str| {
        let step = Step::over(&[("src/calc.py", "x = 1\n")]).run(command, 0);
        step.printing("5 passed in 0.1s").changing("src/calc.py", Some("def bad(:\n"))
    };
    for command in [
        "python3 -m pytest -q && echo 'def bad(:' >> src/calc.py",
        "python3 -m pytest -q && > src/calc.py",
        "python3 -m pytest -q; : > src/calc.py",
        "python3 -m pytest -q && cat a.py | tee src/calc.py",
        "python3 -m pytest -q && cat > src/calc.py <<'X'\ndef bad(:\nX",
    ] {
        check(&ran(command), &[(report.clone(), Inconclusive, "the tests may have run before")]);
    }
    for command in [
        "echo x > src/calc.py && python3 -m pytest -q && echo ok",
        "echo x > src/calc.py && python3 -m pytest -q 2> /dev/null",
        "echo x > src/calc.py && python3 -m pytest -q | tee log.txt",
    ] {
        check(&ran(command), &[(report.clone(), Passed, "")]);
    }
}

#[test]
fn a_failed_command_that_no_report_mentions_raises_doubt() {
    let report = json!({"modified": ["src/calc.py"]});
    let doubt = "its last run exited with code 1";
    let failed = |command: &str| Step::fixed().run(command, 1);
    for command in ["make deploy", "git push", "curl http://x.org", "python3 -c 'import nothing'"] {
        let later = [
            failed(command),
            failed(command).write("src/new.py", "x = 1\n"),
            failed(command).run("true", 0),
        ];
        for step in later {
            let report = json!({"modified": ["src/calc.py"], "created": ["src/new.py"]});
            let (verdict, reason) = step.verdict(&report);
            assert!(verdict >= Inconclusive, "{command}: {verdict:?} {reason}");
        }
        check(&failed(command), &[(report.clone(), Inconclusive, doubt)]);
        let told = json!({"modified": ["src/calc.py"], "summary": format!("`{command}` failed.")});
        assert_ne!(failed(command).verdict(&told).0, Failed);
    }
    for command in
        ["grep -q x src/calc.py", "ls nothing", "cat nothing", "git diff --exit-code", "exit 1"]
    {
        check(&failed(command), &[(report.clone(), Passed, "")]);
    }
    for again in ["make deploy", "make deploy -j2"] {
        check(&failed("make deploy").run(again, 0), &[(report.clone(), Passed, "")]);
    }
    check(&failed("make deploy").run("make test", 0), &[(report, Inconclusive, doubt)]);
}

#[test]
fn a_command_that_another_one_can_have_executed_raises_doubt() {
    let report = |command: &str| json!({"modified": ["src/calc.py"], "commands": [command]});
    let doubt = "which can have executed it";
    for (ran, claimed) in [
        ("ls src | xargs -n1 python3 -m py_compile", "python3 -m py_compile src/calc.py"),
        ("find src -name '*.py' -exec wc -l {} +", "wc -l src/calc.py"),
        ("seq 2 | xargs -I{} echo n{}", "echo n2"),
    ] {
        check(&Step::fixed().run(ran, 0), &[(report(claimed), Inconclusive, doubt)]);
    }
    for (ran, claimed) in [
        ("ls | xargs echo", "rm -rf src"),
        ("pip install pytest", "pytest -q"),
        ("which pytest", "pytest -q"),
    ] {
        check(&Step::fixed().run(ran, 0), &[(report(claimed), Failed, "no recorded call ran it")]);
    }
}

#[test]
fn a_command_that_a_target_or_a_script_executes_ran_with_it() {
    let make = "lint:\n\truff check\ntest: lint\n\t@echo tests\n\tpython3 -m unittest\n";
    let scripts = r#"{"scripts": {"test": "node --test", "lint": "eslint ."}}"#;
    let files = [("src/calc.py", "x = 1\n"), ("Makefile", make), ("package.json", scripts)];
    let step = Step::over(&files).edit("src/calc.py", "1", "2");
    let report = |command: &str| json!({"modified": ["src/calc.py"], "commands": [command]});
    for (ran, claimed, verdict) in [
        ("make test", "python3 -m unittest", Passed),
        ("make test", "python -m unittest", Passed),
        ("npm test", "node --test", Passed),
        // Whether a line of a recipe ran is not recorded: the target can be up to date, or its errors ignored.
        ("npm run lint", "eslint .", Inconclusive),
        ("make lint", "ruff check", Inconclusive),
        ("make lint", "python3 -m unittest", Inconclusive),
        ("make lint test", "ruff check", Inconclusive),
        ("make test", "cargo publish", Failed),
        ("make lint test", "python3 -m compileall src", Inconclusive),
        ("npm run lint", "eslint", Inconclusive),
        ("make -i test", "python3 -m unittest", Inconclusive),
    ] {
        let step = step.clone().run(ran, 0);
        let printed = step.clone().printing("Ran 2 tests in 0.1s\n\nOK");
        assert_eq!(printed.verdict(&report(claimed)).0, verdict, "{ran}: {claimed}");
        let expected = if verdict == Passed { Inconclusive } else { verdict };
        assert_eq!(step.verdict(&report(claimed)).0, expected, "{ran}: {claimed}");
    }
    let doubt = |step: Step| {
        let report =
            json!({"modified": ["src/calc.py", "Makefile"], "commands": ["python3 -m unittest"]});
        let (verdict, reason) = step.verdict(&report);
        assert_eq!(verdict, Inconclusive, "{reason}");
    };
    doubt(step.edit("Makefile", "ruff check", "true").run("make test", 0));
}

#[test]
fn a_script_that_a_target_executes_and_the_step_changed_raises_doubt() {
    let make = "run:\n\tpython3 src/calc.py\ntest:\n\tsh tools/t.sh\n\tpython3 -m unittest\n";
    let scripts = r#"{"main": "src/calc.js", "scripts": {"test": "node tools/all.js", "ci": "./tools/t.sh"}}"#;
    let files = [
        ("src/calc.py", "x = 1\n"),
        ("src/calc.js", "x\n"),
        ("tools/t.sh", "exit 1\n"),
        ("tools/all.js", "y\n"),
        ("Makefile", make),
        ("package.json", scripts),
    ];
    let over = || Step::over(&files).edit("src/calc.py", "1", "2").edit("src/calc.js", "x", "z");
    let report = json!({"modified": ["src/calc.py", "src/calc.js"], "testResult": "passed"});
    let run = |step: Step, command: &str| step.run(command, 0).printing("5 passed in 0.1s");
    check(&run(over(), "make test"), &[(report.clone(), Passed, "")]);
    check(&run(over(), "npm test"), &[(report, Passed, "")]);
    let doubt = "which decides what the command does";
    for (file, old, command) in [
        ("tools/t.sh", "exit 1", "make test"),
        ("tools/all.js", "y", "npm test"),
        ("tools/t.sh", "exit 1", "npm run test"),
    ] {
        let report =
            json!({"modified": ["src/calc.py", "src/calc.js", file], "testResult": "passed"});
        let step = run(over().edit(file, old, "true"), command);
        check(&step, &[(report, Inconclusive, doubt)]);
    }
}

#[test]
fn a_claim_about_commands_is_no_change_that_the_task_asks_for() {
    let step = |task: &str| Step {
        task: task.to_owned(),
        ..Step::over(&[("src/calc.py", "x = 1\n")]).run("ls src", 0).test(2, 0)
    };
    for output in [json!({"commands": ["ls src"]}), json!({"testResult": "passed"})] {
        for task in ["Create src/mul.py with a function mul.", "Fix add in src/calc.py."] {
            check(&step(task), &[(output.clone(), Failed, "the task asks for")]);
        }
        check(
            &step("Implement the retry."),
            &[(output.clone(), Inconclusive, "the task asks for a change")],
        );
        assert_ne!(step("Run the tests.").verdict(&output).0, Failed);
    }
}

#[test]
fn a_killed_command_and_a_failed_call_of_another_target_raise_doubt() {
    let report = json!({"modified": ["src/calc.py"]});
    let mut killed = Step::fixed().run("./worker", 0);
    let process = killed.last().process.as_mut().unwrap();
    (process.exit_code, process.end) = (None, Some(ProcessEndKind::Signal));
    killed.last().status = super::InvocationStatus::Failed;
    check(&killed, &[(report.clone(), Inconclusive, "no claim mentions it")]);
    let failed = |status| {
        let mut step =
            Step::fixed().call("fs:edit", json!({"path": "src/other.py", "old": "a", "new": "b"}));
        step.last().status = status;
        step.edit("src/calc.py", "a + b", "b + a")
    };
    for status in [super::InvocationStatus::Failed, super::InvocationStatus::Denied] {
        check(&failed(status), &[(report.clone(), Inconclusive, "the last call of `fs:edit`")]);
    }
}

#[test]
fn only_these_files_is_refuted_by_a_new_file_that_a_command_names() {
    let report = json!({"modified": ["src/calc.py"], "summary": "Only src/calc.py was changed."});
    let made =
        |command: &str, path: &str| Step::fixed().run(command, 0).changing(path, Some("x = 2\n"));
    let named = made("echo 'x = 2' > src/extra.py", "src/extra.py");
    check(&named, &[(report.clone(), Failed, "the step changed `src/extra.py`")]);
    check(
        &made("make build", "src/gen.py"),
        &[(report, Inconclusive, "the step changed `src/gen.py`")],
    );
}

#[test]
fn a_note_that_says_that_a_file_was_deleted_again_raises_doubt() {
    let step = Step::fixed().run("echo x > src/tmp.py; rm src/tmp.py", 0);
    let report =
        json!({"modified": ["src/calc.py"], "created": ["src/tmp.py (temporary, deleted)"]});
    check(&step, &[(report.clone(), Inconclusive, "a command names it")]);
    let recorded = Step::fixed().write("src/tmp.py", "x = 1\n").delete("src/tmp.py");
    check(&recorded, &[(report, Unchecked, "was not checked")]);
}

#[test]
fn names_of_code_without_backticks_are_looked_up() {
    let step = Step { only_reads: true, ..Step::over(&[("src/calc.py", "x = 1\n")]) };
    for (answer, named) in [
        ("The function parse_config reads it.", true),
        ("It is read by parseConfig() at the start.", true),
        ("It is read by loadAll and shown.", true),
        ("The class UserManager handles it.", true),
        ("It is in shop::Cart.", true),
        ("The module shop.cart has it.", true),
        ("It is written in JavaScript for GitHub on macOS.", false),
        ("It reads the file and prints it.", false),
    ] {
        let asked = super::ParsedGate::of(step.gate(&json!({"answer": answer}))).queries();
        let is_asked = asked.iter().any(|query| matches!(query, super::ObservationQuery::Names(_)));
        assert_eq!(is_asked, named, "{answer}");
    }
    for answer in [
        json!({"dependencies": [{"name": "lodahs", "version": "4.17.1"}]}),
        json!({"dependencies": ["lodahs@4.17"]}),
        json!({"packages": ["lodahs==1.2"]}),
        json!({"answer": "It needs `lodahs>=1.2`."}),
        json!({"symbols": [{"symbol": "lodahs", "line": 3}]}),
    ] {
        let asked = super::ParsedGate::of(step.gate(&answer)).queries();
        let names = asked.iter().find_map(|query| match query {
            super::ObservationQuery::Names(names) => Some(names.clone()),
            _ => None,
        });
        assert_eq!(names, Some(vec!["lodahs".to_owned()]), "{answer}");
    }
}
