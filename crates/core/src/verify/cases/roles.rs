//! What a part of a sentence stands for: text of before and of now, a file that was read and one that is proposed.

use super::{Step, check, doubted};
use crate::evidence::Verdict::{Failed, Inconclusive, Passed};
use serde_json::json;

#[test]
fn old_and_new_text_stand_on_their_sides_of_the_difference() {
    let timeout = "timeout: 30\ndebug: true\n";
    let set =
        Step::over(&[("conf/a.yml", timeout)]).edit("conf/a.yml", "timeout: 30", "timeout: 60");
    let clamped = Step::over(&[("shop/stock.py", "def f(n, k):\n    return n - k\n")]).edit(
        "shop/stock.py",
        "n - k",
        "max(0, n - k)",
    );
    let said = |text: &str| json!({"summary": text});
    for text in [
        "Changed `timeout: 30` to `timeout: 60` in `conf/a.yml`.",
        "Updated `conf/a.yml`: `timeout: 30` → `timeout: 60`.",
        "Changed `conf/a.yml` to `timeout: 60`.",
        "`timeout: 30` was changed to `timeout: 60` in `conf/a.yml`.",
    ] {
        check(&set, &[(said(text), Passed, "")]);
    }
    for text in [
        "Changed `timeout: 60` to `timeout: 30` in `conf/a.yml`.",
        "Updated `conf/a.yml`: `timeout: 60` → `timeout: 30`.",
        "`timeout: 60` was changed to `timeout: 30` in `conf/a.yml`.",
        "Changed `conf/a.yml` to `timeout: 30`.",
        "Changed `conf/a.yml` from `timeout: 60`.",
        "`timeout: 60` zu `timeout: 30` geändert in `conf/a.yml`.",
        "Changed `timeout: 30` in `conf/a.yml`.",
        "Added `timeout: 30` to `conf/a.yml`.",
    ] {
        doubted(&set, &said(text));
    }
    let right = said("Changed `shop/stock.py` from `n - k` to `max(0, n - k)`.");
    check(&clamped, &[(right, Passed, "")]);
    doubted(&clamped, &said("Changed `shop/stock.py` from `max(0, n - k)` to `n - k`."));
}

#[test]
fn a_proposed_file_is_doubt_and_one_with_a_line_must_exist() {
    let step = Step { only_reads: true, ..Step::over(&[("shop/cart.py", "x = 1\n")]) };
    let said = |text: &str| json!({"findings": [text]});
    for text in [
        "Consider moving the shipping rates to `config/shipping.yml`.",
        "It is worth extracting the rates into `shop/shipping.py`.",
        "`shipping` deserves its own test file (`tests/test_shipping.py`).",
        "Better: a type in `shop/money.py`.",
        "Die Versandkosten gehören nach `config/shipping.yml`.",
    ] {
        doubted(&step, &said(text));
    }
    let fix = json!({"findings": [{"path": "shop/cart.py", "fix": "keep the values in config/prod.yml"}]});
    doubted(&step, &fix);
    for lie in [
        said("`shop/payment.py` contains the rates."),
        said("`shop/payment.py:12` is weak."),
        json!({"findings": [{"file": "shop/payment.py", "line": 12, "message": "no validation"}]}),
        json!({"files": ["shop/payment.py"]}),
    ] {
        check(&step, &[(lie, Failed, "`shop/payment.py`, which does not exist")]);
    }
    for absent in [
        said("There is no `shop/payment.py`."),
        json!({"files": [{"path": "shop/payment.py", "exists": false}]}),
        json!({"files": [{"path": "shop/payment.py", "missing": true}]}),
        json!({"path": "shop/payment.py", "found": false, "summary": "Done."}),
        json!({"path": "shop/payment.py", "note": "does not exist", "summary": "Done."}),
        json!({"files": [{"path": "shop/payment.py", "status": "not found"}]}),
        json!({"files": [{"path": "shop/payment.py", "note": "it does not exist"}]}),
    ] {
        doubted(&step, &absent);
    }
}

#[test]
fn a_text_that_stays_as_written_tells_of_no_work() {
    let step = Step {
        task: "Fix the error in shop/stock.py.".to_owned(),
        ..Step::over(&[("shop/stock.py", "")]).call("fs:read", json!({"path": "shop/stock.py"}))
    };
    let said = |text: &str| json!({"summary": text});
    check(
        &step,
        &[
            (said("The code is correct as written."), Inconclusive, "asks for a change"),
            (said("Both look correct as written. Which one do you mean?"), Inconclusive, ""),
            (said("The fix was written."), Failed, "asks for a change"),
        ],
    );
}

#[test]
fn an_exception_without_a_path_can_be_any_file() {
    let step = Step::fixed().write("tests/test_add.py", "x = 1\n");
    let said = |text: &str| json!({"modified": ["src/calc.py"], "summary": text});
    check(
        &step,
        &[
            (said("Apart from the new test nothing else was modified."), Inconclusive, "exception"),
            (said("Nothing else was modified."), Failed, "tests/test_add.py"),
            (
                said("Except for `src/util.py` nothing else was modified."),
                Failed,
                "tests/test_add.py",
            ),
        ],
    );
}

#[test]
fn a_run_whose_exit_code_is_hidden_can_be_the_one_that_failed() {
    let step = Step::fixed()
        .run("python3 -m pytest -q || true", 0)
        .run("python3 -m pytest -q", 0)
        .printing("5 passed in 0.1s");
    let entry = |code: i64| json!({"command": "python3 -m pytest -q", "exitCode": code});
    doubted(&step, &json!({"modified": ["src/calc.py"], "commands": [entry(1), entry(0)]}));
    let once = Step::fixed().run("python3 -m pytest -q", 0).printing("5 passed in 0.1s");
    let lie = json!({"modified": ["src/calc.py"], "commands": [entry(1)]});
    check(&once, &[(lie, Failed, "claimed to have failed")]);
}

#[test]
fn a_command_with_a_variable_that_decides_is_not_the_command_alone() {
    let run = |command: &str| Step::fixed().run(command, 0);
    let claim = |command: &str| json!({"modified": ["src/calc.py"], "commands": [command]});
    doubted(&run("MAKEFLAGS=-n make lint"), &claim("make lint"));
    check(&run("MAKEFLAGS=-n make lint"), &[(claim("MAKEFLAGS=-n make lint"), Passed, "")]);
    check(&run("NO_COLOR=1 make lint"), &[(claim("make lint"), Passed, "")]);
}

#[test]
fn a_failure_is_told_by_any_usual_field_or_note() {
    let step = Step::fixed().run("ls nosuch", 2);
    let claim =
        |entry: serde_json::Value| json!({"modified": ["src/calc.py"], "commands": [entry]});
    for exact in [
        json!({"command": "ls nosuch", "rc": 2}),
        json!({"command": "ls nosuch", "returncode": 2}),
        json!({"command": "ls nosuch", "return_code": 2}),
        json!({"command": "ls nosuch", "exitStatus": 2}),
        json!({"command": "ls nosuch", "status": 2}),
        json!({"command": "ls nosuch", "result": "exit 2"}),
        json!({"command": "ls nosuch", "outcome": "failed"}),
    ] {
        check(&step, &[(claim(exact), Passed, "")]);
    }
    for noted in [
        json!({"command": "ls nosuch", "failed": true}),
        json!({"command": "ls nosuch", "note": "fails as expected"}),
        json!("ls nosuch # exit 2"),
    ] {
        doubted(&step, &claim(noted));
    }
    for lie in [
        json!({"command": "ls nosuch", "rc": 0}),
        json!({"command": "ls nosuch", "status": "ok", "note": "failed before"}),
        json!({"command": "ls nosuch", "purpose": "looks for it"}),
        json!("ls nosuch # lists it"),
    ] {
        check(&step, &[(claim(lie), Failed, "ls nosuch")]);
    }
}

#[test]
fn a_folder_to_which_a_file_was_added_was_not_created() {
    let step = Step::over(&[("calc/core.py", "x = 1\n")]).write("calc/x.py", "y = 1\n");
    for said in ["Created the folder calc/.", "Создана папка calc/.", "Ordner calc/ erstellt."]
    {
        doubted(&step, &json!({"summary": said}));
    }
    doubted(&step, &json!({"summary": "Done.", "createdFolders": ["calc/"]}));
    doubted(&step.delete("calc/x.py"), &json!({"summary": "Deleted the folder calc/."}));
}

#[test]
fn a_sentence_without_a_full_stop_is_one() {
    let step = Step::fixed();
    for lie in ["Created src/nope.py", "Deleted src/util.py", "Создан src/nope.py"] {
        check(&step, &[(json!({"summary": lie}), Failed, "no recorded call")]);
    }
    check(&step, &[(json!({"summary": "Updated src/calc.py"}), Passed, "")]);
}

#[test]
fn new_files_are_no_modified_ones() {
    let step = Step::fixed().write("src/new.py", "y = 1\n");
    doubted(&step, &json!({"summary": "Done.", "filesModified": 2}));
    doubted(&step.clone(), &json!({"summary": "Done.", "filesUpdated": 2}));
    check(&step, &[(json!({"summary": "Done.", "filesChanged": 2}), Passed, "")]);
}

#[test]
fn a_script_behind_another_path_can_have_run_the_tests() {
    let run = |output: &str| {
        let step = Step::fixed().run("PATH=bin:$PATH sh check.sh", 0);
        step.printing(output)
    };
    let claim = json!({"modified": ["src/calc.py"], "testResult": "passed"});
    check(&run("6 passed in 0.1s"), &[(claim.clone(), Inconclusive, "sh check.sh")]);
    check(&run("1 failed, 5 passed in 0.1s"), &[(claim, Failed, "failed tests")]);
}
