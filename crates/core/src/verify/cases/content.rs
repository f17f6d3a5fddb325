//! Texts that a claim says were put into a file, or taken out of it; renamed files; words and keys.

use super::{CALC, Step, check, doubted};
use crate::evidence::Verdict::{Failed, Inconclusive, Passed, Unchecked};
use kb_base::value::Digest;
use serde_json::{Value, json};

#[test]
fn the_text_of_an_entry_is_that_of_its_claim_alone() {
    let step = Step::fixed();
    let odd = Step::over(&[("src/x.", "1\n")]).edit("src/x.", "1", "2");
    check(&odd, &[(json!({"modified": ["src/x."]}), Passed, "")]);
    for report in [
        json!({"modified": ["src/calc.py"], "summary": "Deleted src/calc.py."}),
        json!({"modified": ["src/calc.py"], "changes": ["Deleted src/calc.py."]}),
        json!({"modified": ["src/calc.py", "."], "summary": "All merged."}),
    ] {
        let (verdict, reason) = step.verdict(&report);
        assert_ne!(verdict, Passed, "{report}: {reason}");
    }
}

#[test]
fn snippets_are_texts_of_the_recorded_difference() {
    let claim = |texts: Value| {
        let mut entry = json!({"kind": "file-edit", "path": "src/calc.py"});
        for (key, value) in texts.as_object().unwrap() {
            entry[key] = value.clone();
        }
        json!({"claims": [entry]})
    };
    let step = Step::fixed();
    for texts in [
        json!({"afterSnippet": "return a + b"}),
        json!({"afterSnippet": "def add(a, b):\n    return a + b"}),
        json!({"beforeSnippet": "return a - b", "afterSnippet": "return a + b"}),
        json!({"beforeSnippet": "def add(a, b):\n  return a - b\n\ndef sub(a, b):"}),
        json!({"anchor": {"afterSnippet": "    return a + b\n\ndef sub(a, b):\n    return a - b"}}),
    ] {
        check(&step, &[(claim(texts), Passed, "")]);
    }
    for texts in [
        json!({"afterSnippet": "def sub(a, b):"}),
        json!({"afterSnippet": "return a - b"}),
        json!({"afterSnippet": "+"}),
        json!({"afterSnippet": " "}),
        json!({"beforeSnippet": "def sub(a, b):", "afterSnippet": "return a + b"}),
        json!({"beforeSnippet": "def sub(a, b):\n    return a - b", "afterSnippet": "return a + b"}),
        json!({"beforeSnippet": "def add(a, b):"}),
    ] {
        check(&step, &[(claim(texts), Inconclusive, "src/calc.py")]);
    }
    check(&step, &[(claim(json!({"afterSnippet": "return a / b"})), Failed, "does not contain")]);
    // The text of before of a pure insertion is the place of it.
    let inserted =
        Step::over(&[("src/calc.py", CALC)]).edit("src/calc.py", "def sub", "# note\ndef sub");
    let place =
        json!({"beforeSnippet": "def sub(a, b):", "afterSnippet": "# note\ndef sub(a, b):"});
    check(&inserted, &[(claim(place), Passed, "")]);
    let comment = Step::over(&[("src/calc.py", CALC)]).edit(
        "src/calc.py",
        "def add",
        "# return a + b\ndef add",
    );
    check(&comment, &[(claim(json!({"afterSnippet": "return a + b"})), Inconclusive, "")]);
    // An edit that a later one took back is not there.
    let two =
        step.edit("src/calc.py", "def sub", "# note\ndef sub").edit("src/calc.py", "# note\n", "");
    check(&two, &[(claim(json!({"afterSnippet": "return a + b"})), Passed, "")]);
}

#[test]
fn renamed_files_are_those_that_were_moved() {
    let files = [("src/a.py", "a = 1\n"), ("src/b.py", "b = 2\n")];
    let step = Step::over(&files)
        .run("mv src/a.py src/d.py && mv src/b.py src/c.py", 0)
        .changing("src/a.py", None)
        .changing("src/b.py", None)
        .changing("src/d.py", Some("a = 1\n"))
        .changing("src/c.py", Some("b = 2\n"));
    let lists = |key: &str, value: Value| json!({"deleted": ["src/a.py", "src/b.py"], "created": ["src/c.py", "src/d.py"], key: value});
    check(
        &step,
        &[
            (
                lists("summary", json!("Renamed src/a.py to src/d.py and src/b.py to src/c.py.")),
                Passed,
                "",
            ),
            (
                lists("moved", json!([["src/a.py", "src/d.py"], ["src/b.py", "src/c.py"]])),
                Passed,
                "",
            ),
        ],
    );
    doubted(
        &step,
        &lists("summary", json!("Renamed src/a.py to src/c.py and src/b.py to src/d.py.")),
    );
    doubted(&step, &lists("moved", json!([["src/a.py", "src/c.py"]])));
}

#[test]
fn words_and_keys_that_say_more_than_the_record_are_unread() {
    let step = Step::fixed().write("src/n.py", "x = 1\n");
    let report = |key: &str, value: Value| {
        let mut report = json!({"modified": ["src/calc.py"], "created": ["src/n.py"]});
        report[key] = value;
        report
    };
    for (key, value) in [
        ("summary", json!("src/n.py is to be created.")),
        ("toBeCreated", json!(["src/n.py"])),
        ("reviewed", json!(["src/calc.py"])),
        ("summary", json!("Reviewed src/calc.py.")),
        ("all 12 tests pass on Windows", Value::Null),
        ("modified", json!(["M src/calc.py", "A src/calc.py"])),
    ] {
        let (verdict, reason) = step.verdict(&report(key, value.clone()));
        assert_ne!(verdict, Passed, "{key}: {value} {reason}");
    }
    check(
        &step,
        &[
            (report("notes", Value::Null), Passed, ""),
            (report("changedFiles", json!(["M src/calc.py", "A src/n.py"])), Passed, ""),
        ],
    );
}

#[test]
fn a_number_of_files_beside_a_change_of_a_mode_is_doubted() {
    let mut step =
        Step::fixed().run("chmod +x src/util.py", 0).changing("src/util.py", Some("x = 1\n"));
    let change = &mut step.trace.last_mut().unwrap().changes[0];
    change.after.as_mut().unwrap().mode = 0o755;
    doubted(&step, &json!({"modified": ["src/calc.py"], "filesChanged": 1}));
}

#[test]
fn names_are_those_of_changed_lines_and_of_what_they_stand_in() {
    let step = Step::fixed();
    let said = |text: &str| json!({"modified": ["src/calc.py"], "summary": text});
    for text in ["Changed `add` in `src/calc.py`.", "Updated `add` in `src/calc.py`."] {
        check(&step, &[(said(text), Passed, "")]);
    }
    for text in [
        "Added `add` to `src/calc.py`.",
        "Added `sub` to `src/calc.py`.",
        "Changed `sub` in `src/calc.py`.",
        "`src/calc.py`: added `sub`.",
        "Changed `ad` in `src/calc.py`.",
    ] {
        doubted(&step, &said(text));
    }
    let added =
        Step::fixed().edit("src/calc.py", "def sub", "def mul(a, b):\n    return a * b\n\ndef sub");
    check(&added, &[(said("Added `mul` to `src/calc.py`."), Passed, "")]);
}

#[test]
fn a_file_was_read_if_a_call_showed_what_it_contains() {
    let report = json!({"modified": ["src/calc.py"], "filesRead": ["src/util.py"]});
    let fixed = |step: Step| step.edit("src/calc.py", "a - b\n\ndef", "a + b\n\ndef");
    let files = || Step::over(&[("src/calc.py", CALC), ("src/util.py", "x = 1\n")]);
    for command in
        ["cat src/util.py", "sed -n 1,9p src/util.py", "ls src/util.py && cat src/util.py"]
    {
        check(&fixed(files().run(command, 0)), &[(report.clone(), Passed, "")]);
    }
    for command in
        ["ls src/util.py", "echo src/util.py", "test -f src/util.py", "git log -- src/util.py"]
    {
        doubted(&fixed(files().run(command, 0)), &report);
    }
    for tool in ["fs:exists", "fs:list"] {
        let looked = files().call(tool, json!({"path": "src/util.py"}));
        doubted(&fixed(looked), &report);
    }
    // A part that was read is not all of it.
    let lines = json!({"path": "src/util.py", "startLine": 1, "endLine": 1});
    for part in [files().call("fs:read", lines), files().run("head -1 src/util.py", 0)] {
        for text in [
            "Read all of src/util.py.",
            "Read src/util.py as a whole.",
            "Read all files: src/util.py.",
        ] {
            let said = json!({"modified": ["src/calc.py"], "summary": text});
            doubted(&fixed(part.clone()), &said);
        }
        doubted(
            &fixed(part),
            &json!({"modified": ["src/calc.py"], "filesRead": ["src/util.py (all)"]}),
        );
    }
    let made = Step::fixed().write("src/n.py", "x = 1\n");
    let own =
        json!({"modified": ["src/calc.py"], "created": ["src/n.py"], "filesRead": ["src/n.py"]});
    doubted(&made, &own);
}

#[test]
fn a_name_that_is_called_added_or_changed_is_that_of_the_changed_definition() {
    let file =
        "def total(xs):\n    return sum(xs)\n\n\ndef cost(w):\n    return 5 if w < 10 else 9\n";
    let over = || Step::over(&[("shop/cart.py", file), ("shop/cart.rb", file)]);
    let end = "    return 5 if w < 10 else 9\n";
    let said = |text: &str| json!({"modified": ["shop/cart.py"], "summary": text});
    let below = |code: &str| over().edit("shop/cart.py", end, &format!("{end}\n\n{code}"));
    for (code, text) in [
        ("def tax(xs):\n    return total(xs)\n", "Added `total` to shop/cart.py."),
        ("def tax(xs):\n    return total(xs)\n", "Changed `total` in shop/cart.py."),
        ("RATE = 0.2\n", "Changed `cost` in shop/cart.py."),
        ("# see cost\n", "Updated `cost()` in shop/cart.py."),
        ("NOTE = 'refund'\n", "Added `refund` to shop/cart.py."),
        ("DUE = refund(2)\n", "Added `refund` to shop/cart.py."),
        ("RATE = 0.2\n", "`cost` wurde in shop/cart.py geändert."),
        ("RATE = 0.2\n", "Изменена `cost` в shop/cart.py."),
    ] {
        doubted(&below(code), &said(text));
    }
    check(
        &below("def tax(xs):\n    return total(xs)\n"),
        &[(said("Added `tax` to shop/cart.py."), Passed, ""), (said("Added `tax()`."), Passed, "")],
    );
    check(&below("import sys\n"), &[(said("Added `sys` to shop/cart.py."), Passed, "")]);
    let body = over().edit("shop/cart.py", "sum(xs)", "sum(xs) * 2");
    check(&body, &[(said("Changed `total` in shop/cart.py."), Passed, "")]);
    doubted(&body, &said("Added `total` to shop/cart.py."));
    // A file whose language is not read: lines that enclose the change by their indentation.
    let other = over().edit("shop/cart.rb", "sum(xs)", "sum(xs) * 2");
    let said = |text: &str| json!({"modified": ["shop/cart.rb"], "summary": text});
    check(&other, &[(said("Changed `total` in shop/cart.rb."), Passed, "")]);
    let below = over().edit("shop/cart.rb", end, &format!("{end}RATE = 2\n"));
    doubted(&below, &said("Changed `cost` in shop/cart.rb."));
}

#[test]
fn a_digest_is_compared_in_every_spelling() {
    let step = Step::fixed();
    let own = Digest::of(step.files["src/calc.py"].as_bytes()).to_string();
    let other = Digest::of(b"other").to_string();
    let claim = |key: &str, digest: &str| json!({"claims": [{"kind": "file-edit", "path": "src/calc.py", key: digest}]});
    for key in ["contentHash", "sha256", "hash", "checksum"] {
        for spelt in [|own: &str| own.to_uppercase(), |own: &str| format!("SHA256:{own}")] {
            check(
                &step,
                &[
                    (claim(key, &spelt(&own)), Passed, ""),
                    (claim(key, &spelt(&other)), Failed, "another digest"),
                ],
            );
        }
        check(&step, &[(claim(key, &own[..40]), Passed, "")]);
        // A digest of another algorithm is not compared.
        doubted(&step, &claim(key, "d41d8cd98f00b204e9800998ecf8427e"));
    }
}

#[test]
fn a_part_of_a_word_is_no_added_line() {
    let step =
        Step::over(&[("rate.py", "RATE = 0.1\n")]).edit("rate.py", "RATE = 0.1", "RATE = 0.215");
    let said = |text: &str| json!({"claims": [{"kind": "code-inserted", "path": "rate.py", "afterSnippet": text}]});
    check(&step, &[(said("RATE = 0.215"), Passed, ""), (said("RATE ="), Passed, "")]);
    for text in ["RATE = 0.21", "RATE = 0.2", "RATE = 0"] {
        doubted(&step, &said(text));
    }
}

#[test]
fn a_folder_that_is_called_unchanged_has_no_changed_file() {
    let files = [("src/calc.py", CALC), ("tests/test_calc.py", "x = 1\n")];
    let fixed = Step::over(&files).edit("src/calc.py", "a - b\n\ndef", "a + b\n\ndef");
    let said = |key: &str, path: &str| json!({"modified": ["src/calc.py"], key: [path]});
    for key in ["unchanged", "untouched"] {
        for path in ["tests/", "tests"] {
            let (verdict, reason) = fixed.verdict(&said(key, path));
            assert_ne!(verdict, Failed, "{key} {path}: {reason}");
            let edited = fixed.clone().edit("tests/test_calc.py", "1", "2");
            let (verdict, reason) = edited.verdict(&said(key, path));
            assert!(
                matches!(verdict, Failed | Inconclusive | Unchecked),
                "{key} {path}: {verdict:?} {reason}"
            );
        }
        let (verdict, reason) = fixed.verdict(&said(key, "tests/"));
        assert_eq!(verdict, Passed, "{reason}");
    }
    let told = fixed.edit("tests/test_calc.py", "1", "2");
    let told =
        told.verdict(&json!({"modified": ["src/calc.py"], "summary": "tests/ is unchanged."}));
    assert_eq!(told.0, Failed, "{}", told.1);
}
