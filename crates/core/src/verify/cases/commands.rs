//! Commits and commands: what exactly was recorded.

use super::{CALC, Step, check, doubted};
use crate::evidence::Verdict::{Failed, Inconclusive, Passed};
use crate::evidence::{EvidenceKind, EvidenceRef};
use serde_json::json;

const DIGEST: &str = "0a1b2c3d4e5f60718293a4b5c6d7e8f901234567";

impl Step {
    /// The last commit has the files as they are now.
    fn in_head(mut self) -> Step {
        self.head = self.files.clone();
        self
    }

    /// A commit by the tool.
    fn commit(self, paths: &[&str]) -> Step {
        let mut step = self.call("git:commit", json!({"paths": paths, "message": "Work"}));
        step.trace.last_mut().unwrap().evidence.push(EvidenceRef {
            kind: EvidenceKind::Receipt,
            reference: DIGEST.to_owned(),
            sha256: None,
            status: None,
        });
        step
    }
}

#[test]
fn what_is_called_committed_is_in_the_last_commit_as_it_is_on_disk() {
    let both = || Step::fixed().edit("src/util.py", "1", "2");
    let report = json!({"modified": ["src/calc.py", "src/util.py"], "committed": true});
    let shell = |step: Step| step.run("git add -A && git commit -m Work", 0).in_head();
    for step in
        [both().commit(&["src"]).in_head(), shell(both()), shell(both().delete("src/util.py"))]
    {
        let report = match step.files.contains_key("src/util.py") {
            true => report.clone(),
            false => {
                json!({"modified": ["src/calc.py"], "deleted": ["src/util.py"], "committed": true})
            }
        };
        check(&step, &[(report, Passed, "")]);
    }
    for step in [
        // Only a part, taken back, changed later, staged in another state, or not committed.
        both().commit(&["src/calc.py"]),
        both().run("git add -A && git commit -m Work", 0).run("git reset --soft HEAD~1", 0),
        shell(Step::fixed()).edit("src/util.py", "1", "2"),
        both().run("git add -A", 0).run("git commit -m Work || true", 0),
        both().run("git commit --dry-run -am Work", 0),
        both(),
    ] {
        doubted(&step, &report);
        doubted(
            &step,
            &json!({"modified": ["src/calc.py", "src/util.py"], "summary": "Committed."}),
        );
    }
    let said = |text: &str| json!({"modified": ["src/calc.py", "src/util.py"], "summary": text});
    let part = both().commit(&["src/calc.py"]);
    doubted(&part, &said(&format!("Committed as {}.", &DIGEST[..8])));
    let whole = both().commit(&["src"]).in_head();
    check(&whole, &[(said(&format!("Committed as {}.", &DIGEST[..8])), Passed, "")]);
}

#[test]
fn no_word_of_a_command_proves_an_effect() {
    let report = |key: &str| json!({"modified": ["src/calc.py"], key: true});
    for (key, command) in [
        ("deployed", "make -n deploy"),
        ("deployed", "make deploy"),
        ("deployed", "cat deploy.sh"),
        ("published", "npm publish --dry-run"),
        ("merged", "git merge topic"),
        ("pushed", "git push --dry-run origin main"),
        ("pushed", "git push origin :main"),
        ("pushed", "echo git push"),
    ] {
        doubted(&Step::fixed().run(command, 0), &report(key));
    }
    let pushed = Step::fixed().run("git push -q origin main", 0);
    check(&pushed, &[(report("pushed"), Passed, "")]);
    doubted(&pushed, &json!({"modified": ["src/calc.py"], "pushed": true, "deployed": true}));
}

#[test]
fn a_file_was_read_if_a_command_printed_what_it_contains() {
    let report = json!({"modified": ["src/calc.py"], "filesRead": ["src/util.py"]});
    let printing = |command: &str, bytes: u64| {
        let mut step = Step::fixed().run(command, 0);
        step.trace.last_mut().unwrap().process.as_mut().unwrap().stdout_bytes = bytes;
        step
    };
    check(&printing("cat src/util.py", 400), &[(report.clone(), Passed, "")]);
    for (command, bytes) in [
        ("cat src/util.py > /dev/null", 0),
        ("grep -c x src/util.py", 2),
        ("grep -l x src/util.py", 12),
        ("cat src/util.py | wc -c", 6),
        ("python3 -m py_compile src/util.py", 0),
    ] {
        doubted(&printing(command, bytes), &report);
    }
}

#[test]
fn what_is_denied_beside_a_name_refutes_nothing() {
    for report in [
        json!({"modified": ["src/calc.py", "src/util.py (unchanged)"]}),
        json!({"modified": ["src/calc.py"], "created": ["tests/test_calc.py (planned)"]}),
        json!({"modified": ["src/calc.py"], "deleted": ["src/util.py (kept)"]}),
        json!({"modified": ["src/calc.py"], "deleted": [{"path": "src/util.py", "done": false}]}),
        json!({"modified": ["src/calc.py"], "commands": ["make build: not run"]}),
        json!({"modified": ["src/calc.py"], "commands": [{"command": "make build", "executed": false}]}),
        json!({"modified": ["src/calc.py"], "commands": [{"command": "make build", "status": "skipped"}]}),
        json!({"modified": ["src/calc.py"], "commands": [{"command": "make build", "skipped": true}]}),
        json!({"modified": ["src/calc.py"], "toolCalls": [{"tool": "fs:delete", "called": false}]}),
    ] {
        doubted(&Step::fixed(), &report);
    }
    // A field that denies what the record has is no true report.
    let ran = Step::fixed().run("make lint", 0);
    for entry in [
        json!({"command": "make lint", "executed": false}),
        json!({"command": "make lint", "ran": false}),
        json!({"command": "make lint", "status": "not run"}),
    ] {
        doubted(&ran, &json!({"modified": ["src/calc.py"], "commands": [entry]}));
    }
    doubted(&ran, &json!({"modified": [{"path": "src/calc.py", "applied": false}]}));
    let tool = json!({"tool": "fs:edit", "args": {"path": "src/calc.py"}, "executed": false});
    doubted(&ran, &json!({"modified": ["src/calc.py"], "toolCalls": [tool]}));
    // A note that denies nothing does not help a lie.
    check(
        &Step::fixed(),
        &[
            (
                json!({"modified": ["src/calc.py", "src/util.py (new guard)"]}),
                Failed,
                "src/util.py",
            ),
            (
                json!({"modified": ["src/calc.py"], "commands": ["make build (exit 0)"]}),
                Failed,
                "make build",
            ),
        ],
    );
}

#[test]
fn an_earlier_failure_of_tests_is_no_lie_and_what_never_was_is_not_unchanged() {
    let failed =
        Step::over(&[("src/calc.py", CALC)]).test(1, 1).edit("src/calc.py", "a - b", "a + b");
    for result in [json!({"testResult": "failed"}), json!({"tests": {"passed": 1, "failed": 1}})] {
        let mut report = json!({"modified": ["src/calc.py"]});
        report.as_object_mut().unwrap().extend(result.as_object().unwrap().clone());
        doubted(&failed, &report);
    }
    let step = Step::fixed();
    check(
        &step,
        &[(json!({"modified": ["src/calc.py"], "unchanged": ["src/util.py"]}), Passed, "")],
    );
    doubted(&step, &json!({"modified": ["src/calc.py"], "unchanged": ["src/nope.py"]}));
    doubted(&step, &json!({"modified": ["src/calc.py"], "linesAdded": "one each"}));
}

#[test]
fn another_program_or_folder_is_another_command() {
    let report = |command: &str| json!({"modified": ["src/calc.py"], "commands": [command]});
    let step = Step::fixed().test(2, 0);
    for command in
        ["python3.9 -m unittest", "/opt/pypy/bin/python3 -m unittest", "python3.13 -m unittest"]
    {
        check(&step, &[(report(command), Inconclusive, "without the rest")]);
    }
    for command in ["python -m unittest", "python3 -m unittest -v"] {
        check(&step, &[(report(command), Passed, "")]);
    }
    let elsewhere = [
        Step::fixed().run("cd ok && python3 -m unittest", 0),
        Step::fixed()
            .call("shell:exec", json!({"command": "python3 -m unittest", "cwd": "ok"}))
            .ended(0),
    ];
    // The verbosity of one runner is the version of another.
    let jest = Step::fixed().run("jest -v", 0);
    doubted(&jest, &report("jest"));
    for step in elsewhere {
        check(
            &step,
            &[
                (report("python3 -m unittest"), Inconclusive, "in `ok`"),
                (report("cd ok && python3 -m unittest"), Passed, ""),
            ],
        );
    }
    let here = Step::over(&[("src/calc.py", CALC)])
        .edit("src/calc.py", "a - b", "a + b")
        .run("cd /work && python3 -m unittest", 0);
    check(&here, &[(report("python3 -m unittest"), Passed, "")]);
}

#[test]
fn what_a_loop_expands_may_be_the_claimed_operand() {
    let script = "for f in calc util; do python3 -m py_compile src/$f.py; done";
    let step = Step::fixed().run(script, 0);
    let report = |command: &str| json!({"modified": ["src/calc.py"], "commands": [command]});
    doubted(&step, &report("python3 -m py_compile src/util.py"));
    check(
        &step,
        &[
            (report("make build"), Failed, "make build"),
            (report("python3 --check src/util.py"), Failed, "python3 --check"),
        ],
    );
}

#[test]
fn the_folder_of_a_command_is_read_beside_it() {
    let step = Step::fixed().run("cd backend && python3 tool.py", 0);
    let report = |folder: &str| {
        let command = json!({"command": "python3 tool.py", "cwd": folder, "exitCode": 0});
        json!({"modified": ["src/calc.py"], "commands": [command]})
    };
    check(
        &step,
        &[
            (report("backend"), Passed, ""),
            (report("frontend"), Inconclusive, "it ran in `backend`"),
        ],
    );
}

#[test]
fn aliases_are_equal_and_the_same_program_behind_other_words_is_no_lie() {
    let claim = |command: &str| json!({"modified": ["src/calc.py"], "commands": [command]});
    for (ran, claimed) in [
        ("npm run-script lint", "npm run lint"),
        ("npm run lint", "npm run-script lint"),
        ("npm run-script test:unit", "npm run test:unit"),
        ("npm i", "npm install"),
        ("cargo b", "cargo build"),
        ("./venv/bin/tox", "tox"),
        ("tox", "python3 -m tox"),
    ] {
        let mut step = Step::fixed();
        step.files.insert("venv/bin/tox".to_owned(), String::new());
        check(&step.run(ran, 0), &[(claim(claimed), Passed, "")]);
    }
    for (ran, claimed) in [
        ("sh bin/tox", "tox"),
        ("bin/tox", "sh bin/tox"),
        ("sh bin/tox", "pytest"),
        ("./run.sh", "bash run.sh"),
        ("./node_modules/.bin/eslint .", "eslint ."),
        ("npx eslint .", "./node_modules/.bin/eslint ."),
        ("pnpm lint", "pnpm run lint"),
        ("yarn lint", "yarn run lint"),
        ("pip3 install x", "python -m pip install x"),
    ] {
        check(&Step::fixed().run(ran, 0), &[(claim(claimed), Inconclusive, "")]);
    }
    for (ran, claimed) in [
        ("npm run lint", "npm run build"),
        ("sh bin/tox", "sh bin/deploy"),
        ("npx eslint .", "eslint src"),
        ("cargo b", "cargo clippy"),
    ] {
        check(&Step::fixed().run(ran, 0), &[(claim(claimed), Failed, "no recorded call ran it")]);
    }
}
