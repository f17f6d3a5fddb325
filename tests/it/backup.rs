//! `kb backup`: a consistent copy while runs go on, and what is restored from it.

use crate::running::Start;
use crate::scratch::Scratch;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

const LOOP: &str = "schema: kb.playbook/1\nid: p\non: {schedule: \"0 0 1 1 *\"}\nsteps:\n  - {id: big, run: \"head -c 300000 /dev/zero | tr '\\\\0' x\"}\n  - {id: ask, dependsOn: [big], ask: {question: \"Go on?\"}}\n";

#[test]
fn a_backup_is_restored_with_runs_blobs_and_triggers() {
    let scratch = Scratch::new(&[("playbooks/p.yml", LOOP)]);
    scratch.kb(&["playbook", "run", "p"]).code(3);
    let run = scratch.last_run();
    scratch.kb(&["trigger", "enable", "p"]).code(0);
    // Other runs go on meanwhile.
    let others: Vec<_> = (0..4)
        .map(|_| {
            scratch
                .command()
                .args(["playbook", "run", "p", "--quiet"])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .start()
        })
        .collect();
    let saved = scratch.json(&["backup", "copy.kb", "--json"]);
    for mut other in others {
        other.wait().unwrap();
    }
    assert!(
        saved["runs"].as_u64().unwrap() >= 1 && saved["blobs"].as_u64().unwrap() >= 1,
        "{saved}"
    );
    let mode = std::fs::metadata(scratch.root().join("copy.kb")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    scratch.kb(&["backup", "copy.kb"]).code(5).says(&["exists already"]);
    scratch.kb(&["backup", "copy.kb", "--restore"]).code(5).says(&["has a journal already"]);
    // The state folder is lost.
    let output = scratch.kb(&["run", "output", &run, "big"]).code(0).out;
    assert_eq!(output.trim().len(), 300_000);
    std::fs::remove_dir_all(scratch.root().parent().unwrap().join("state")).unwrap();
    scratch.kb(&["run", "show", &run]).code(4);
    std::fs::remove_dir_all(scratch.root().parent().unwrap().join("state")).unwrap();
    scratch.kb(&["backup", "copy.kb", "--restore"]).code(0).says(&[
        "restored",
        "paused 1 trigger",
        "kb trigger resume --all",
    ]);
    assert_eq!(scratch.kb(&["run", "output", &run, "big"]).code(0).out, output);
    scratch.kb(&["run", "verify", &run]).code(0);
    // The project of the backup may be served elsewhere: nothing starts until a person says so.
    let shown = scratch.json(&["trigger", "show", "p", "--json"]);
    assert_eq!(
        (&shown["state"], &shown["paused"]),
        (&"paused".into(), &"restored from a backup".into())
    );
    scratch.kb(&["trigger", "resume", "--all"]).code(0);
    assert_eq!(scratch.json(&["trigger", "show", "p", "--json"])["state"], "enabled");
    scratch.kb(&["run", "answer", &run, "ask", "yes"]).code(0);
    assert_eq!(scratch.json(&["run", "show", &run, "--json"])["status"], "succeeded");
}

#[test]
fn what_is_no_backup_is_refused() {
    let scratch = Scratch::new(&[("text", "hello"), ("empty", "")]);
    for file in ["text", "empty", "missing"] {
        scratch.kb(&["backup", file, "--restore"]).code(5).says(&["is not a backup"]);
    }
    assert!(!scratch.root().parent().unwrap().join("state/kb").join("journal.sqlite3").exists());
    scratch.kb(&["run", "list"]).code(0);
    scratch.kb(&["backup", "copy.kb"]).code(0).says(&["saved 0 runs"]);
    // A damaged blob is noticed.
    let bytes = std::fs::read(scratch.root().join("copy.kb")).unwrap();
    std::fs::write(scratch.root().join("half.kb"), &bytes[..bytes.len() / 2]).unwrap();
    std::fs::remove_dir_all(scratch.root().parent().unwrap().join("state")).unwrap();
    scratch.kb(&["backup", "half.kb", "--restore"]).code(5);
}
