//! Commits and commands: what exactly was recorded.

use super::{CALC, Step, check, doubted};
use crate::evidence::Verdict::{Inconclusive, Passed};
use crate::evidence::{EvidenceKind, EvidenceRef};
use serde_json::json;

const DIGEST: &str = "0a1b2c3d4e5f60718293a4b5c6d7e8f901234567";

impl Step {
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
fn what_is_called_committed_has_every_change_of_the_step() {
    let both = || Step::fixed().edit("src/util.py", "1", "2");
    let report = json!({"modified": ["src/calc.py", "src/util.py"], "committed": true});
    for step in [
        both().commit(&["src/calc.py", "src/util.py"]),
        both().commit(&["src"]),
        both().commit(&["."]),
        both().commit(&["src/calc.py"]).commit(&["src/util.py"]),
        both().run("git commit -am Work", 0),
        both().run("git add -A && git commit -m Work", 0),
        both().run("git add src/calc.py src/util.py", 0).run("git commit -m Work", 0),
        both().run("git add . && git commit -q -m 'Work on it'", 0),
        both().run("git -c core.editor=true add -u && git commit -m Work", 0),
        both().run("cd src && git add . && git commit -m Work", 0),
    ] {
        check(&step, &[(report.clone(), Passed, "")]);
    }
    for step in [
        both().commit(&["src/calc.py"]),
        both().run("git add src/calc.py && git commit -m Work", 0),
        both().run("git commit -m Work", 0),
        both().run("git add -A", 0).run("git commit -m Work || true", 0),
        both().run("cd docs && git add . && git commit -m Work", 0),
        both().run("git -C docs add . && git commit -m Work", 0),
        both().run("git add -n . && git commit -m Work", 0),
        both().run("git commit --dry-run -am Work", 0),
        both().run("git add -A && git log --grep commit", 0),
        Step::fixed().commit(&["src"]).edit("src/util.py", "1", "2"),
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
    let whole = both().commit(&["src"]);
    check(&whole, &[(said(&format!("Committed as {}.", &DIGEST[..8])), Passed, "")]);
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
