//! The run whose disk fails.

use crate::scratch::{Said, Scratch};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Twenty steps: processes with small and large outputs, values, the items of a list, a specialist
/// who writes a large file, a tool, and one step that must not simply run again.
const PLAYBOOK: &str = r#"schema: kb.playbook/1
id: p
params: [{name: topic, required: true}, {name: notes, type: list, required: true}]
defaults: {retrySafe: true}
limits: {maxParallel: 2}
steps:
  - {id: a, run: 'echo "$KB_STEP" >> ledger; echo {{topic}} of a'}
  - {id: b, dependsOn: [a], run: 'echo "$KB_STEP" >> ledger; seq 3000'}
  - {id: c, dependsOn: [a], run: 'echo "$KB_STEP" >> ledger; seq 3000 6000'}
  - {id: d, set: {b: "{{b.output}}", c: "{{c.output}}", topic: "{{topic}}"}}
  - {id: e, set: {length: "{{d.output.b | length}}"}}
  - {id: f, forEach: "{{notes}}", set: {note: "{{item}}", of: "{{e.output.length}}"}}
  - {id: g, forEach: [x, y, z], dependsOn: [f], env: {ITEM: "{{item}}"}, run: 'echo "$KB_STEP" >> ledger; echo "$ITEM"; seq 2000'}
  - {id: h, set: {all: "{{g.output}}"}}
  - {id: write, dependsOn: [g], specialist: writer, task: "Write about {{topic}}.", verify: {claims: none, expectChanges: false}}
  - {id: look, dependsOn: [write], run: 'echo "$KB_STEP" >> ledger; wc -c < notes.md'}
  - {id: put, tool: fs:write, input: {path: put.txt, content: "{{c.output}}"}}
  - {id: i, set: {n: "{{look.output}}"}}
  - {id: once, dependsOn: [h, put, i], retrySafe: false, run: 'echo "$KB_STEP" >> ledger; HOLD; echo once'}
  - {id: j, dependsOn: [once], run: 'echo "$KB_STEP" >> ledger; seq 7000 9000'}
  - {id: k, set: {j: "{{j.output}}", n: "{{i.output.n}}"}}
  - {id: last, dependsOn: [k, i], run: 'echo "$KB_STEP" >> ledger; echo end'}
outputs: {j: "{{k.output}}", first: "{{a.output}}", once: "{{once.output}}", d: "{{d.output}}", last: "{{last.output}}"}
"#;

const WRITER: &str = "schema: kb.specialist/1\nid: writer\nrole: You write.\ntools: [fs:read, fs:write]\n\
    output: {schema: {summary: string}}\n";

/// A project with that playbook; its journal is in a state folder that may be anywhere.
pub(super) struct Scenario {
    pub(super) scratch: Scratch,
    pub(super) state: PathBuf,
}

/// What a run comes to.
#[derive(Debug, PartialEq)]
pub(super) struct End {
    pub(super) outputs: Value,
    pub(super) files: BTreeMap<String, String>,
}

impl Scenario {
    /// With its state beside the project.
    pub(super) fn new() -> Scenario {
        let mut scenario = Scenario::with_state(Path::new(""));
        scenario.state = scenario.scratch.root().parent().unwrap().join("state");
        scenario
    }

    /// Another project, whose playbook `p` has these steps.
    pub(super) fn of(steps: &str) -> Scenario {
        let text = format!("schema: kb.playbook/1\nid: p\nsteps: {steps}\n");
        let scratch = Scratch::new(&[("playbooks/p.yml", &text)]);
        let state = scratch.root().with_file_name("state");
        Scenario { scratch, state }
    }

    /// With its state in that folder.
    pub(super) fn with_state(state: &Path) -> Scenario {
        // The words of the playbook that must be no placelease owners are put in here.
        let text = PLAYBOOK
            .replace("{{topic}} of a", "of a")
            .replace("HOLD", "test ! -e hold || sleep 300");
        let content: String =
            (0..400).map(|n| format!("line {n} of the notes of this run\\n")).collect();
        // Twice, because a call that was under way when `kb` ended is not made again for the model.
        let write = format!(
            "- calls: [{{tool: fs:write, args: {{path: notes.md, content: \"{content}\"}}}}]"
        );
        let script = format!(
            "schema: kb.script/1\nsteps:\n  write:\n    {write}\n    - calls: [{{tool: fs:read, args: {{path: notes.md}}}}]\n    {write}\n    - output: {{summary: written}}\n"
        );
        let notes: Vec<String> =
            (0..4).map(|n| format!("  - note {n} {}\n", "n".repeat(3000))).collect();
        let params = format!("topic: disks\nnotes:\n{}", notes.concat());
        let scratch = Scratch::new(&[
            ("playbooks/p.yml", &text),
            (".kb/specialists/writer.yml", WRITER),
            ("script.yml", &script),
            ("params.yml", &params),
        ]);
        Scenario { scratch, state: state.to_owned() }
    }

    pub(super) const RUN: [&str; 8] =
        ["playbook", "run", "p", "--json", "--params", "params.yml", "--script", "script.yml"];

    pub(super) fn command(&self, args: &[&str]) -> std::process::Command {
        let mut command = self.scratch.command();
        command.args(args).env("XDG_STATE_HOME", &self.state);
        command
    }

    pub(super) fn kb(&self, args: &[&str]) -> Said {
        self.kb_with(args, |_| {})
    }

    pub(super) fn kb_with(
        &self,
        args: &[&str],
        change: impl FnOnce(&mut std::process::Command),
    ) -> Said {
        let said = self.scratch.kb_with(args, |command| {
            command.env("XDG_STATE_HOME", &self.state);
            change(command);
        });
        assert!(!said.err.contains("panicked"), "{}", said.err);
        said
    }

    /// The folder of the project's journal.
    pub(super) fn journal(&self) -> PathBuf {
        journal_below(&self.state).expect("the journal is there")
    }

    /// Goes on with the last run, or begins one where there is none, until it has ended.
    #[track_caller]
    pub(super) fn finish(&self) -> End {
        for _ in 0..5 {
            let shown = self.kb(&["run", "show", "@last", "--json"]);
            if shown.code == 4 {
                self.kb(&Self::RUN).code(0);
                continue;
            }
            let shown: Value =
                serde_json::from_str(&shown.out).unwrap_or_else(|_| panic!("{shown:?}"));
            let said = match shown["status"].as_str().unwrap() {
                "succeeded" => return self.end(),
                "waiting" => self.kb(&["run", "approve", "@last"]),
                "interrupted" => self.kb(&["run", "resume", "@last"]),
                other => panic!("the run is {other}: {shown}"),
            };
            match said.code {
                0 => return self.end(),
                3 => {}
                _ => panic!("{said:?}"),
            }
        }
        panic!("the run does not come to its end");
    }

    /// What the ended run has come to.
    pub(super) fn end(&self) -> End {
        let outputs = self.kb(&["run", "output", "@last", "--json"]).code(0).out;
        let files = ["notes.md", "put.txt"];
        End {
            outputs: serde_json::from_str(&outputs).unwrap(),
            files: files.map(|name| (name.to_owned(), self.scratch.read(name))).into(),
        }
    }

    /// How often each step of the ledger began.
    pub(super) fn ledger(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        if self.scratch.has("ledger") {
            for step in self.scratch.read("ledger").lines() {
                *counts.entry(step.to_owned()).or_default() += 1;
            }
        }
        counts
    }

    /// As before the first run.
    pub(super) fn forget(&self) {
        for name in ["ledger", "notes.md", "put.txt", "hold"] {
            let _ = std::fs::remove_file(self.scratch.root().join(name));
        }
        if let Ok(entries) = std::fs::read_dir(&self.state) {
            for entry in entries {
                let path = entry.unwrap().path();
                let _ = if path.is_dir() {
                    std::fs::remove_dir_all(path)
                } else {
                    std::fs::remove_file(path)
                };
            }
        }
    }
}

/// The journal's folder in a state folder that holds one project's.
pub(super) fn journal_below(state: &Path) -> Option<PathBuf> {
    let mut entries = std::fs::read_dir(state.join("kb")).ok()?;
    entries.next().map(|entry| entry.unwrap().path())
}

/// SQLite's own word on a journal.
pub(super) fn integrity(journal: &Path) -> String {
    let connection = rusqlite::Connection::open(journal.join("journal.sqlite3")).unwrap();
    connection
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap_or_else(|e| e.to_string())
}

/// The steps and items that these lines of events say have ended well.
pub(super) fn succeeded(lines: &str) -> Vec<String> {
    let events = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    events
        .filter(|event| event["type"] == "step:end" && event["status"] == "succeeded")
        .map(|event| event["instance"].as_str().unwrap().to_owned())
        .collect()
}
