//! A journal that an earlier version wrote must stay usable: it opens, lists, shows, verifies and
//! resumes. `tests/fixtures/journal` was written by version 0.1.0 (journal version 2) with the
//! project that lies beside it; it is never written again.

use crate::scratch::Scratch;
use serde_json::json;
use std::path::{Path, PathBuf};

const SUCCEEDED: &str = "r719m0tf";
const FAILED: &str = "r5p8qtbh";
const INTERRUPTED: &str = "r2m94zze";
/// Its only started step has `retrySafe: false`.
const INTERRUPTED_UNSAFE: &str = "r4vbd5hj";

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/journal")
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::write(target, std::fs::read(entry.path()).unwrap()).unwrap();
        }
    }
}

/// The fixture's project in a scratch folder, with the fixture as its journal.
fn scratch() -> Scratch {
    let scratch = Scratch::bare();
    copy(&fixture().join("project"), &scratch.root());
    // The first command creates the state folder, whose name contains a digest of the root.
    scratch.kb(&["run", "list"]).code(0);
    let states = scratch.root().parent().unwrap().join("state/kb");
    let state = std::fs::read_dir(states).unwrap().next().unwrap().unwrap().path();
    std::fs::remove_dir_all(&state).unwrap();
    for part in ["journal.sqlite3", "blobs"] {
        let (from, to) = (fixture().join(part), state.join(part));
        match from.is_dir() {
            true => copy(&from, &to),
            false => {
                std::fs::create_dir_all(&state).unwrap();
                std::fs::write(to, std::fs::read(from).unwrap()).unwrap();
            }
        }
    }
    scratch
}

#[test]
fn an_old_journal_is_listed_and_shown() {
    let scratch = scratch();
    let list = scratch.kb(&["run", "list"]).code(0);
    let lines: Vec<&str> = list.out.lines().skip(1).collect();
    let row = |line: &str| line.split_whitespace().take(3).collect::<Vec<_>>().join(" ");
    let rows: Vec<String> = lines.iter().map(|line| row(line)).collect();
    assert_eq!(
        rows,
        [
            format!("{INTERRUPTED_UNSAFE} interrupted asks"),
            format!("{INTERRUPTED} interrupted slow"),
            format!("{FAILED} failed fails"),
            format!("{SUCCEEDED} succeeded p"),
        ]
    );
    let shown = scratch.json(&["run", "show", SUCCEEDED, "--json"]);
    assert_eq!((&shown["run"], &shown["status"]), (&json!(SUCCEEDED), &json!("succeeded")));
    scratch.kb(&["run", "show", SUCCEEDED]).code(0).says(&["each[1]", "write"]);
    for (run, events) in [(SUCCEEDED, 40), (FAILED, 16), (INTERRUPTED, 7), (INTERRUPTED_UNSAFE, 3)]
    {
        let said = scratch.kb(&["run", "events", run, "--json"]).code(0);
        assert_eq!(said.events().len(), events, "{run}");
    }
    let output = scratch.json(&["run", "output", SUCCEEDED]);
    assert_eq!(output, json!({"text": "hello world", "all": ["a", "b"]}));
    // An output that is large is in a blob.
    let large = scratch.kb(&["run", "output", SUCCEEDED, "large"]).code(0);
    assert_eq!(large.out.trim().trim_matches('"'), "x".repeat(40_000));
    scratch.kb(&["run", "logs", SUCCEEDED]).code(0).says(&["created note.txt"]);
    scratch.kb(&["run", "diff", SUCCEEDED]).code(0).says(&["note.txt"]);
}

#[test]
fn an_old_journal_is_verified() {
    let scratch = scratch();
    for (run, head) in [
        (SUCCEEDED, "c40c97e4341eb55c3a03b7dffeaeb4d89367f9379b2dbe3605eeaaddf3bcd92f"),
        (FAILED, "c5b2aafdc1adfa72e84173e64e8d48c3eddb12672a8557bd0388df62638c90e6"),
        (INTERRUPTED, "528239d796d7fec20a9e316addfa26438db0012a5abe8e3afe4ed28e50afb279"),
        (INTERRUPTED_UNSAFE, "7d0d8dcf4989a4452c4625043e3a8f1a28478fda2a17902e4cb271a4ee5606a6"),
    ] {
        let verified = scratch.json(&["run", "verify", run, "--json"]);
        assert_eq!((&verified["holds"], &verified["head"]), (&json!(true), &json!(head)), "{run}");
    }
}

#[test]
fn old_runs_are_resumed_and_retried() {
    let scratch = scratch();
    scratch.write("go.txt", "");
    scratch.write("ok.txt", "");
    scratch.kb(&["run", "resume", INTERRUPTED]).code(0).says(&["slow succeeded", "last: after"]);
    scratch.kb(&["run", "retry", FAILED]).code(0).says(&["fails succeeded"]);
    scratch.kb(&["run", "resume", INTERRUPTED_UNSAFE]).code(3).says(&["retrySafe: false"]);
    scratch.kb(&["run", "approve", INTERRUPTED_UNSAFE]).code(0).says(&["asks succeeded"]);
    for run in [INTERRUPTED, FAILED, INTERRUPTED_UNSAFE] {
        let verified = scratch.json(&["run", "verify", run, "--json"]);
        assert_eq!(verified["holds"], json!(true), "{run}");
    }
}
