//! The generated tasks: what a step has to do in a small project, and the calls that do it.

use super::super::bench::Act;
use super::super::bench::Act::{Argv, Delete, Edit, Programs, Shell, Write};
use super::super::bench::{Case, text};
use serde_json::{Value, json};

/// A seeded random number generator (splitmix64): the same numbers for the same seed.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn of(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def0)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to one less than this.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    pub(super) fn pick<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.below(of.len())]
    }
}

/// A small task: a file to edit, a file to write, a file to delete, and tests to run.
pub(super) struct Task {
    pub(super) dice: Dice,
    /// An existing source file with these lines.
    pub(super) target: String,
    pub(super) before: String,
    /// Its content once the task is done.
    pub(super) after: String,
    /// The line that is replaced, and by which.
    pub(super) line: (String, String),
    /// A source file that does not exist yet, with its content.
    pub(super) fresh: String,
    pub(super) content: String,
    /// An existing source file that the task deletes.
    pub(super) victim: String,
    pub(super) runner: Runner,
    /// How the reports of the task are written.
    pub(super) form: Form,
}

/// A test command with the summary that its runner prints.
#[derive(Clone, Copy)]
pub(super) struct Runner {
    pub(super) command: &'static str,
    passed: &'static str,
    failed: &'static str,
    none: &'static str,
}

const RUNNERS: [Runner; 5] = [
    Runner {
        command: "npm test",
        passed: "Tests:       @ passed, @ total",
        failed: "Tests:       1 failed, @ passed, 9 total",
        none: "No tests found, exiting with code 0",
    },
    Runner {
        command: "npm run test:unit",
        passed: "  @ passing (10ms)",
        failed: "  @ passing (10ms)\n  1 failing",
        none: "  0 passing (1ms)",
    },
    Runner {
        command: "cargo test",
        passed: "test result: ok. @ passed; 0 failed; 0 ignored; 0 measured; 0 filtered out",
        failed: "test result: FAILED. @ passed; 1 failed; 0 ignored; 0 measured; 0 filtered out",
        none: "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 7 filtered out",
    },
    Runner {
        command: "pytest -q",
        passed: "@ passed in 0.12s",
        failed: "1 failed, @ passed in 0.12s",
        none: "no tests ran in 0.01s",
    },
    Runner {
        command: "pytest tests/unit",
        passed: "============ @ passed in 0.12s ============",
        failed: "============ 2 failed, @ passed in 0.12s ============",
        none: "============ 4 deselected in 0.01s ============",
    },
];

impl Runner {
    /// The act after which the command ends so: with a summary of `passed` tests.
    pub(super) fn passes(self, passed: usize) -> Act {
        Programs(0, text(self.passed.replace('@', &passed.to_string())))
    }

    pub(super) fn fails(self, code: i32, passed: usize) -> Act {
        Programs(code, text(self.failed.replace('@', &passed.to_string())))
    }

    pub(super) fn runs_none(self) -> Act {
        Programs(0, self.none)
    }
}

/// How a report states what was done.
#[derive(Clone, Copy)]
pub(super) struct Form {
    files: usize,
    commands: usize,
    tests: usize,
    paths: usize,
}

const FOLDERS: [&str; 7] =
    ["src", "src/core/util", "lib", "пакет/код", "a b", "naïve-Å", "deep/1/2/3/4/5/6"];
const NAMES: [&str; 8] = ["main", "util", "модуль", "two words", "it's", "x-1_2", "日本", "Ωmega"];
const ENDS: [&str; 5] = [".rs", ".ts", ".py", ".go", ".sh"];

impl Task {
    pub(super) fn of(seed: u64) -> Task {
        let mut dice = Dice::of(seed);
        let mut paths: Vec<String> = Vec::new();
        while paths.len() < 3 {
            let (folder, name) = (dice.pick(&FOLDERS), dice.pick(&NAMES));
            let path = format!("{folder}/{name}{}", dice.pick(&ENDS));
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        let [target, fresh, victim]: [String; 3] = paths.try_into().unwrap();
        let lines: Vec<String> = (0..3 + dice.below(40))
            .map(|line| format!("let v{line} = {};", dice.below(1_000_000)))
            .collect();
        let at = dice.below(lines.len());
        let old = lines[at].clone();
        let new = format!("let changed{at} = {};", dice.below(1_000_000));
        let before = lines.join("\n") + "\n";
        let after = before.replacen(&old, &new, 1);
        let content = format!("// {seed}\nfn fresh() {{ {} }}\n", dice.below(1_000_000));
        let runner = RUNNERS[dice.below(RUNNERS.len())];
        let mut of = |bound| dice.below(bound);
        let form = Form { files: of(5), commands: of(3), tests: of(4), paths: of(4) };
        Task { dice, target, before, after, line: (old, new), fresh, content, victim, runner, form }
    }

    /// A case over the files of the task.
    pub(super) fn case(&self, operator: &'static str, acts: Vec<Act>, output: Value) -> Case {
        let files = vec![
            (self.target.clone(), self.before.clone()),
            (self.victim.clone(), "// victim\n".to_owned()),
        ];
        Case { files, ..super::super::bench::case(operator, acts, output) }
    }

    /// The call that edits the target, by one of several tools.
    pub(super) fn edit(&mut self) -> Act {
        let (target, after) = (text(&*self.target), text(&*self.after));
        match self.dice.below(5) {
            0 => Edit(target, text(&*self.line.0), text(&*self.line.1)),
            1 => Write(target, after),
            2 => {
                let sed = format!("s/^{}$/{}/", self.line.0, self.line.1);
                Shell(text(format!("sed -i {} {}", quoted(&sed), quoted(&self.target))))
            }
            3 => Shell(text(format!("printf %s {} > {}", quoted(after), quoted(&self.target)))),
            _ => Shell(text(format!(
                "printf %s {} > .new && mv .new {}",
                quoted(after),
                quoted(&self.target)
            ))),
        }
    }

    /// The call that writes a file, by one of several tools.
    pub(super) fn write(&mut self, path: &str) -> Act {
        let content = text(&*self.content);
        match self.dice.below(3) {
            0 | 1 => Write(text(path), content),
            _ => {
                let path = quoted(path);
                let make = format!("mkdir -p \"$(dirname {path})\"; printf %s {}", quoted(content));
                Shell(text(format!("{make} > {path}")))
            }
        }
    }

    /// The call that deletes a file.
    pub(super) fn delete(&mut self, path: &str) -> Act {
        match self.dice.below(2) {
            0 => Delete(text(path)),
            _ => Shell(text(format!("rm {}", quoted(path)))),
        }
    }

    /// The call that runs the tests without hiding the exit code.
    pub(super) fn test(&mut self) -> Act {
        let command = self.runner.command;
        match self.dice.below(6) {
            0 => Argv(text_list(command)),
            1 => Shell(text(format!("CI=1 {command} 2>&1"))),
            2 => Shell(text(format!("{command} 2>&1 | tail -20"))),
            3 => Shell(text(format!("cd . && {command}"))),
            _ => Shell(command),
        }
    }

    /// A report with these paths that names the test command.
    pub(super) fn report(&self, created: &[&str], modified: &[&str], deleted: &[&str]) -> Value {
        let path = |path: &&str| match self.form.paths {
            0 => format!("./{path}"),
            1 => format!("$ROOT/{path}"),
            _ => (*path).to_owned(),
        };
        let list = |paths: &[&str]| -> Vec<String> { paths.iter().map(path).collect() };
        let (created, modified, deleted) = (list(created), list(modified), list(deleted));
        let objects =
            |paths: &[String]| -> Vec<Value> { paths.iter().map(|p| json!({"path": p})).collect() };
        match self.form.files {
            0 => json!({"created": created, "modified": modified, "deleted": deleted}),
            1 => json!({
                "files_created": created, "modifiedFiles": objects(&modified), "files-deleted": deleted,
            }),
            2 => json!({"artifacts": {
                "filesCreated": objects(&created), "fileEdits": objects(&modified), "deleted": deleted,
            }}),
            3 => {
                let claim = |kind: &str, paths: &[String]| -> Vec<Value> {
                    let of = |path| json!({"kind": kind, "path": path});
                    paths.iter().map(of).collect()
                };
                let mut claims = claim("file-write", &created);
                claims.extend(claim("file-edit", &modified));
                claims.extend(claim("file-delete", &deleted));
                json!({ "claims": claims })
            }
            _ => {
                let of = |kind: &str, paths: &[String]| -> Vec<Value> {
                    let claim = |path| json!({"kind": kind, "filePath": path});
                    paths.iter().map(claim).collect()
                };
                let all = [
                    of("file-write", &created),
                    of("file-edit", &modified),
                    of("file-delete", &deleted),
                ];
                json!({ "claims": all.concat(), "summary": "done" })
            }
        }
    }

    /// Adds to a report that a command ran and exited with 0.
    pub(super) fn with_command(&self, mut report: Value, command: &str) -> Value {
        match self.form.commands {
            0 => report["commands"] = json!([command]),
            1 => {
                report["artifacts"]["commandResults"] =
                    json!([{"command": command, "exitCode": 0}]);
            }
            _ => {
                let claim = json!({"kind": "command-executed", "command": command});
                match report["claims"].as_array_mut() {
                    Some(claims) => claims.push(claim),
                    None => report["claims"] = json!([claim]),
                }
            }
        }
        report
    }

    /// Adds to a report that so many tests passed.
    pub(super) fn with_tests(&self, mut report: Value, passed: usize) -> Value {
        match self.form.tests {
            0 => report["testResult"] = json!("passed"),
            1 => report["testResult"] = json!("All tests passed."),
            2 => report["tests"] = json!({"passed": passed, "failed": 0}),
            _ => report["testsPassed"] = json!(true),
        }
        report
    }
}

fn text_list(command: &str) -> &'static [&'static str] {
    command.split(' ').map(text).collect::<Vec<_>>().leak()
}

/// A word for a shell.
pub(super) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
