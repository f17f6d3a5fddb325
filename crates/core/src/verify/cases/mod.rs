//! Tests of whole gates: a recorded step, a report about it, and the verdict.

mod asked;
mod changes;
mod commands;
mod content;
mod honest;
mod ignored;
mod judged;
mod lists;
mod numbers;
mod other_checks;
mod programs;
mod results;
mod roles;

use super::{
    AskedWork, CommandEnd, CommandRun, Criterion, DefinedName, EarlierStep, Gate, IgnoredChange,
    Location, MatchedFile, NamePlace, NamesSeen, Observation, ObservationQuery, Observations,
    ParsedGate,
};
use crate::evidence::{
    Change, FileKind, FileState, Invocation, InvocationStatus, ProcessEndKind, ProcessEvidence,
    Purpose, TestCounts, Verdict,
};
use kb_base::value::{Digest, Glob, Json, Timestamp};
use kb_language::definition::ClaimPolicy;
use serde_json::json;
use similar::TextDiff;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The text of the file that most steps change.
const CALC: &str = "def add(a, b):\n    return a - b\n\ndef sub(a, b):\n    return a - b\n";

/// A recorded step over files whose texts are known.
#[derive(Clone, Default)]
struct Step {
    files: BTreeMap<String, String>,
    trace: Vec<Invocation>,
    /// `testCommands` of the settings.
    test_commands: Vec<String>,
    /// The exit code of commands that the gate runs.
    repeated: Option<i32>,
    /// The files of the last commit.
    head: BTreeMap<String, String>,
    /// Whether no list of files can be read.
    unlisted: bool,
    /// Whether the specialist only reads, and an attempt before was refuted.
    only_reads: bool,
    again: bool,
    /// The ignored files that changed.
    ignored: Vec<IgnoredChange>,
    /// What the specialist was asked to do.
    task: String,
    /// The checks of the gate.
    criteria: Vec<Criterion>,
    /// What earlier steps changed.
    earlier: Vec<EarlierStep>,
}

impl Step {
    /// The files of before.
    fn over(files: &[(&str, &str)]) -> Step {
        let own = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
        Step { files: own.collect(), ..Step::default() }
    }

    /// A step that repaired `add` in `src/calc.py`.
    fn fixed() -> Step {
        let files = [("src/calc.py", CALC), ("src/util.py", "x = 1\n")];
        Step::over(&files).edit("src/calc.py", "a - b\n\ndef", "a + b\n\ndef")
    }

    fn call(mut self, tool: &str, args: Json) -> Step {
        self.trace.push(Invocation {
            id: format!("call_1_{}_1", self.trace.len() + 1),
            tool: tool.to_owned(),
            args_hash: Digest::of_json(&args),
            args,
            at: Timestamp(0),
            duration_ms: 0,
            purpose: Purpose::Execution,
            status: InvocationStatus::Success,
            changes: Vec::new(),
            evidence: Vec::new(),
            process: None,
            output: None,
            bytes: 1,
        });
        self
    }

    fn last(&mut self) -> &mut Invocation {
        self.trace.last_mut().unwrap()
    }

    /// A new text of a file, or none, by the last call.
    fn changing(mut self, path: &str, text: Option<&str>) -> Step {
        let before = self.files.get(path).cloned();
        let old = before.as_deref().unwrap_or_default();
        let diff = TextDiff::from_lines(old, text.unwrap_or_default()).unified_diff().to_string();
        self.last().changes.push(Change {
            path: path.to_owned(),
            before: before.as_deref().map(state),
            after: text.map(state),
            same_content: before.as_deref() == text,
            diff: Some(diff),
        });
        match text {
            Some(text) => drop(self.files.insert(path.to_owned(), text.to_owned())),
            None => drop(self.files.remove(path)),
        }
        self
    }

    fn write(self, path: &str, text: &str) -> Step {
        self.call("fs:write", json!({"path": path, "content": text})).changing(path, Some(text))
    }

    fn edit(self, path: &str, old: &str, new: &str) -> Step {
        let text = self.files[path].replacen(old, new, 1);
        self.call("fs:edit", json!({"path": path, "old": old, "new": new}))
            .changing(path, Some(&text))
    }

    fn delete(self, path: &str) -> Step {
        self.call("fs:delete", json!({"path": path})).changing(path, None)
    }

    /// A command with its exit code.
    fn run(self, command: &str, code: i64) -> Step {
        self.call("shell:exec", json!({"command": command})).ended(code)
    }

    /// The process of the last call.
    fn ended(self, code: i64) -> Step {
        let mut step = self;
        let call = step.last();
        if code != 0 {
            call.status = InvocationStatus::Failed;
        }
        call.process = Some(Box::new(ProcessEvidence {
            end: Some(ProcessEndKind::Exit),
            exit_code: Some(code),
            watched: true,
            stdout_bytes: 100,
            ..ProcessEvidence::default()
        }));
        step
    }

    /// The output of the last command.
    fn printing(mut self, output: &str) -> Step {
        self.last().process.as_mut().unwrap().tests = TestCounts::in_output(output, "");
        self
    }

    /// The tests, as unittest prints them.
    fn test(self, passed: u64, failed: u64) -> Step {
        let ran = passed + failed;
        let end = if failed == 0 { "OK".to_owned() } else { format!("FAILED (failures={failed})") };
        self.run("python3 -m unittest", i64::from(failed > 0))
            .printing(&format!("Ran {ran} tests in 0.1s\n\n{end}"))
    }

    fn gate(&self, report: &Json) -> Gate {
        Gate {
            criteria: self.criteria.clone(),
            claims: ClaimPolicy::Strict,
            expect_changes: !self.only_reads,
            changes_declared: false,
            after_refuted: self.again,
            output: Arc::new(report.clone()),
            output_schema: None,
            trace: self.trace.clone(),
            unwatched: false,
            root: "/work".to_owned(),
            test_commands: self.test_commands.clone(),
            looks_up_names: self.only_reads,
            earlier: self.earlier.clone(),
            excused: Vec::new(),
            asked: AskedWork::of(&self.task),
            tools: Default::default(),
        }
    }

    /// The verdict over a report, with its reason.
    fn verdict(&self, report: &Json) -> (Verdict, String) {
        let gate = ParsedGate::of(self.gate(report));
        let found = gate.examine(&self.observed(&gate)).verdict();
        (found.verdict, found.reason.unwrap_or_default())
    }

    /// Everything that a gate must observe.
    fn observed(&self, gate: &ParsedGate) -> Observations {
        let asked = gate.queries().into_iter();
        asked.map(|query| (query.clone(), self.observe(&query))).collect()
    }

    fn observe(&self, query: &ObservationQuery) -> Observation {
        match query {
            ObservationQuery::Location(path) => {
                let below = self.files.keys().any(|own| own.starts_with(&format!("{path}/")));
                let folder = below.then(|| FileState { kind: FileKind::Directory, ..state("") });
                let own = self.files.get(path).map(|text| state(text));
                let entry = path.clone();
                Observation::Location(Ok(Location {
                    entry,
                    state: own.or(folder),
                    ..Location::default()
                }))
            }
            ObservationQuery::Ignored(_) => Observation::Ignored(false),
            ObservationQuery::IgnoredChanges(asked) => {
                let is_installed = |file: &IgnoredChange| {
                    file.folder.as_ref().is_some_and(|folder| folder.installed)
                };
                let own = self.ignored.iter();
                let own = own.filter(|file| is_installed(file) || asked.includes(&file.path));
                Observation::IgnoredChanges(Some(own.cloned().collect()))
            }
            ObservationQuery::Committed(paths) => {
                let is_same = |path: &&String| self.head.get(*path) == self.files.get(*path);
                Observation::Committed(paths.iter().filter(is_same).cloned().collect())
            }
            ObservationQuery::Files { .. } if self.unlisted => Observation::Stopped,
            ObservationQuery::Files { pattern, count } => {
                let glob = Glob::of_paths(pattern).unwrap();
                let count = count.as_ref().map(|count| regex::Regex::new(count).unwrap());
                let own = self.files.iter().filter(|(path, _)| glob.is_match(path));
                let found = own.map(|(path, text)| MatchedFile {
                    path: path.clone(),
                    occurrences: count.as_ref().map(|count| count.find_iter(text).count() as u64),
                });
                Observation::Files(Ok(found.collect()))
            }
            ObservationQuery::Names(names) => {
                let place = |name: &String| match self.files.contains_key(name) {
                    true => NamePlace::Known,
                    false => NamePlace::Nowhere,
                };
                let places = names.iter().map(|name| (name.clone(), place(name)));
                Observation::Names(NamesSeen { places: places.collect(), ..NamesSeen::default() })
            }
            ObservationQuery::Definitions { files, names } => {
                let of_path = |path: &String| {
                    let text = self.files.get(path).filter(|_| path.ends_with(".py"))?;
                    Some((path.clone(), definitions_of_python(text, names)))
                };
                Observation::Definitions(files.iter().filter_map(of_path).collect())
            }
            ObservationQuery::Command { .. } => match self.repeated {
                Some(code) => Observation::Command(CommandRun {
                    ended: CommandEnd::Code(code),
                    last_words: String::new(),
                    lacked: String::new(),
                    duration_ms: 1,
                    process: None,
                }),
                None => Observation::Stopped,
            },
            ObservationQuery::Judge => Observation::Stopped,
        }
    }
}

/// The functions and classes at the beginning of lines, each up to the next line that is not indented.
fn definitions_of_python(text: &str, names: &[String]) -> Vec<DefinedName> {
    let lines: Vec<&str> = text.lines().collect();
    let name_of = |line: &str| {
        let rest = line.strip_prefix("def ").or_else(|| line.strip_prefix("class "))?;
        rest.split(['(', ':']).next().map(str::to_owned)
    };
    let defined = lines.iter().enumerate().filter_map(|(at, line)| {
        let name = name_of(line).filter(|name| names.contains(name))?;
        let body = lines[at + 1..].iter().take_while(|line| line.starts_with(' ')).count();
        let (first, last) = (at as u64 + 1, (at + 1 + body) as u64);
        Some(DefinedName { name, container: String::new(), first, last })
    });
    defined.collect()
}

fn state(text: &str) -> FileState {
    FileState {
        kind: FileKind::File,
        size: text.len() as u64,
        mtime_ns: 0,
        ctime_ns: 0,
        inode: 1,
        mode: 0o644,
        sha256: Some(Digest::of(text.as_bytes())),
    }
}

/// Checks that a report is neither accepted nor refuted.
fn doubted(step: &Step, report: &Json) {
    let (verdict, found) = step.verdict(report);
    assert!(!matches!(verdict, Verdict::Passed | Verdict::Failed), "{report}: {verdict} {found}");
}

/// Compares the verdicts over reports of one step; one word of each reason.
fn check(step: &Step, cases: &[(Json, Verdict, &str)]) {
    for (report, expected, reason) in cases {
        let (verdict, found) = step.verdict(report);
        assert_eq!(verdict, *expected, "{report}: {found}");
        assert!(found.contains(reason), "{report}: {found}");
    }
}
