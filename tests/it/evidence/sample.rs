//! A recorded run to change and to audit.

use crate::scratch::Scratch;
use kb::journal::Chain;
use kb::value::{Digest, RunId, Timestamp};
use rusqlite::Connection;
use std::path::PathBuf;

const PLAYBOOK: &str = r#"schema: kb.playbook/1
id: p
steps:
  - id: list
    run: 'printf "[\"one\", \"two\"]"'
    parse: json
    output: {schema: {type: array}}
    verify: {checks: [{expr: "{{list.output}}"}, {schema: {type: array}}]}
  - id: each
    forEach: {in: "{{list.output}}", key: "{{item}}"}
    run: [sh, -c, 'echo "$1" > "made-$1.txt"; seq 1 4000', sh, "{{item}}"]
    verify:
      checks:
        - {file: {path: "made-{{item}}.txt", changed: true, count: {pattern: "one|two", min: 1}}}
        - {command: [test, -s, "made-{{item}}.txt"], inputs: ["tests/**"]}
  - id: work
    specialist: writer
    task: Write.
    dependsOn: [each]
    verify:
      checks: [{file: notes.md}]
      onFailed: rework
  - id: many
    run: 'mkdir many; for i in $(seq 200); do echo $i > many/$i; done'
    evidence: full
    dependsOn: [each]
  - id: last
    gate: [{file: {path: "made-*.txt", minCount: 2}}, {file: {path: nothing.txt, absent: true}}]
    dependsOn: [work, many]
"#;

const WRITER: &str = r#"schema: kb.specialist/1
id: writer
role: You write.
tools: [fs:write, fs:edit, fs:read]
output: {schema: {summary: string, created: "string[]"}}
"#;

/// The first attempt claims what it did not write; the rework does it.
const SCRIPT: &str = r#"schema: kb.script/1
steps:
  work:
    - output: {summary: done, created: [notes.md]}
  "work#2":
    - calls: [{tool: fs:write, args: {path: notes.md, content: "first\nsecond\n"}}]
    - calls: [{tool: fs:edit, args: {path: notes.md, old: second, new: third}}]
    - output: {summary: done, created: [notes.md]}
"#;

/// A finished run with every kind of step that leaves evidence, large outputs and a refuted gate.
pub(super) struct Sample {
    pub(super) scratch: Scratch,
    pub(super) run: String,
    pub(super) events: Vec<serde_json::Value>,
}

pub(super) fn sample() -> Sample {
    let scratch = Scratch::new(&[
        ("playbooks/p.yml", PLAYBOOK),
        (".kb/specialists/writer.yml", WRITER),
        ("script.yml", SCRIPT),
    ]);
    let said = scratch.kb(&["playbook", "run", "p", "--script", "script.yml", "--json"]).code(0);
    let events = said.events();
    let run = events[0]["run"].as_str().unwrap().to_owned();
    Sample { scratch, run, events }
}

/// The folder of the only project's journal.
pub(super) fn state(scratch: &Scratch) -> PathBuf {
    let projects = scratch.root().parent().unwrap().join("state/kb");
    std::fs::read_dir(projects).unwrap().next().unwrap().unwrap().path()
}

pub(super) fn database(scratch: &Scratch) -> Connection {
    Connection::open(state(scratch).join("journal.sqlite3")).unwrap()
}

impl Sample {
    /// The head that `run:end` told.
    pub(super) fn head(&self) -> String {
        self.events.last().unwrap()["traceHead"].as_str().unwrap().to_owned()
    }

    /// Runs these statements and has the binary check the run.
    pub(super) fn change(&self, statements: &str) {
        database(&self.scratch).execute_batch(statements).unwrap();
    }

    /// What somebody does who knows everything: computes the whole chain anew.
    pub(super) fn chain_anew(&self) {
        let database = database(&self.scratch);
        let mut begun = database
            .prepare("SELECT number, definition, started_at, kb_version, body FROM runs JOIN frozen USING (number)")
            .unwrap();
        let run = RunId::new(&self.run).unwrap();
        let mut chain = begun
            .query_row([], |row| {
                let (definition, version): (String, String) = (row.get(1)?, row.get(3)?);
                let (at, frozen): (i64, String) = (row.get(2)?, row.get(4)?);
                Ok(Chain::begin(&run, &definition, Timestamp(at), &version, &frozen))
            })
            .unwrap();
        let mut rows =
            database.prepare("SELECT position, at, epoch, body FROM events ORDER BY 1").unwrap();
        let rows: Vec<(i64, i64, i64, String)> = rows
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        for (position, at, epoch, body) in rows {
            let digest = chain.add(Timestamp(at), epoch as u64, body.as_bytes());
            store(&database, "UPDATE events SET digest = ?1 WHERE position = ?2", digest, position);
        }
        store(&database, "UPDATE runs SET head = ?1 WHERE 1 = ?2", chain.head(), 1);
    }
}

fn store(database: &Connection, statement: &str, digest: Digest, key: i64) {
    let bytes = digest.as_bytes().as_slice();
    assert_eq!(database.execute(statement, rusqlite::params![bytes, key]).unwrap(), 1);
}
