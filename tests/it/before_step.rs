//! Claims and checks compare with the state before the step: also after `kill -9`, retries and new runs that
//! continue an earlier one.

use crate::disk::{Deed, Fault};
use crate::running::Start;
use crate::scratch::{Scratch, until};
use serde_json::Value;
use std::process::Stdio;
use std::time::Duration;

/// Creates one file and changes another one, then fails or waits as long as there is no file `go`.
const WORK: &str = "[ -e made ] || echo x > made; echo new > old.txt; ";
/// What the gate demands of the step.
const GATE: &str = "    verify: {checks: [{file: {path: made, changed: true}}, \
                    {file: {path: old.txt, changed: true}}, {diff: {only: [made, old.txt]}}]}\n";

fn project(last: &str, more: &str) -> Scratch {
    let playbook = format!(
        "schema: kb.playbook/1\nid: p\nsteps:\n  - id: work\n    run: '{WORK}{last}'\n{GATE}{more}"
    );
    Scratch::new(&[
        ("playbooks/p.yml", &playbook),
        ("old.txt", "old\n"),
        (".gitignore", "go\nworking\n"),
    ])
}

/// Starts the run and kills `kb` in the middle of the step.
fn killed(scratch: &Scratch, args: &[&str]) {
    let mut command = scratch.command();
    command.args(args).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.start();
    until("the step", || scratch.has("working"));
    child.kill().unwrap();
    child.wait().unwrap();
    std::fs::remove_file(scratch.root().join("working")).unwrap();
}

fn stored_states(scratch: &Scratch) -> usize {
    let state = scratch.root().parent().unwrap().join("state/kb");
    let folders = std::fs::read_dir(state).unwrap().flatten();
    let before = folders.map(|folder| folder.path().join("before"));
    let files = before.filter_map(|folder| std::fs::read_dir(folder).ok()).flatten();
    files.flatten().filter(|file| file.file_name().to_string_lossy().ends_with(".before")).count()
}

#[test]
fn what_a_killed_attempt_left_is_work_of_the_step() {
    let scratch = project("touch working; [ -e go ] || sleep 600", "");
    killed(&scratch, &["playbook", "run", "p"]);
    assert_eq!(stored_states(&scratch), 1);
    scratch.write("go", "");
    // What a person does after the death of the process is no change of the step.
    std::thread::sleep(Duration::from_millis(3_000));
    scratch.write("notes.md", "mine\n");
    scratch.kb(&["run", "resume", "@last"]).code(0);
    let diff = scratch.kb(&["run", "diff", "@last"]).out;
    assert!(diff.contains("made") && diff.contains("old.txt") && !diff.contains("notes"), "{diff}");
    assert_eq!(stored_states(&scratch), 0);
    scratch.kb(&["run", "verify", "@last"]).code(0);
}

/// Several kills, with what the first one left seen only by the last.
#[test]
fn what_several_killed_attempts_left_is_work_of_the_step() {
    let scratch = project("touch working; [ -e go ] || sleep 600", "");
    killed(&scratch, &["playbook", "run", "p"]);
    killed(&scratch, &["run", "resume", "@last"]);
    scratch.write("go", "");
    scratch.kb(&["run", "resume", "@last"]).code(0);
}

#[test]
fn a_retry_compares_with_the_state_before_the_step() {
    let fails = "[ -e go ]";
    for retry in [&["run", "retry", "@last"][..], &["run", "retry", "@last", "--with-current"]] {
        let scratch = project(fails, "");
        scratch.kb(&["playbook", "run", "p"]).code(1);
        scratch.kb(retry).code(1);
        scratch.write("go", "");
        scratch.kb(retry).code(0);
        scratch.kb(&["run", "verify", "@last"]).code(0);
        // Also of a step that had succeeded, from the run that continued an earlier one.
        scratch.kb(&["run", "retry", "@last", "--from", "work"]).code(0);
        scratch.kb(&["run", "retry", "@last", "--with-current", "--from", "work"]).code(0);
        // A run of its own starts with the files that are there.
        scratch.kb(&["playbook", "run", "p"]).code(1);
    }
}

#[test]
fn a_retry_of_a_killed_run_compares_with_the_state_before_the_step() {
    let scratch = project("touch working; [ -e go ] || sleep 600", "");
    killed(&scratch, &["playbook", "run", "p"]);
    scratch.write("go", "");
    scratch.kb(&["run", "retry", "@last", "--with-current"]).code(0);
}

/// Changes that are not there any more prove nothing: a person took them back, or they were made in files
/// of the step's own that a retry does not have.
#[test]
fn changes_that_were_undone_are_no_work() {
    let idle = "[ -e go ] && exit 0; echo x > made; echo new > old.txt; exit 1";
    for (more, undo) in [("", true), ("    workspace: copy\n", false)] {
        for retry in [&["run", "retry", "@last"][..], &["run", "retry", "@last", "--with-current"]]
        {
            let scratch = project("exit 0", more);
            let text = scratch.read("playbooks/p.yml").replace(&format!("{WORK}exit 0"), idle);
            scratch.write("playbooks/p.yml", &text);
            scratch.kb(&["playbook", "run", "p"]).code(1);
            if undo {
                std::fs::remove_file(scratch.root().join("made")).unwrap();
                scratch.write("old.txt", "old\n");
            }
            scratch.write("go", "");
            let said = scratch.kb(retry).code(1);
            said.says(&["matches no file"]);
        }
    }
}

/// A specialist that is told that the outcome of its call is unknown writes the file again, with the same
/// content, and says that it created it.
#[test]
fn a_file_that_a_killed_call_wrote_counts_as_created() {
    for (tool, call) in [
        ("fs:write", "{tool: fs:write, args: {path: made.txt, content: x}}"),
        (
            "shell:exec",
            "{tool: shell:exec, args: {command: \"printf x > made.txt; cat hold || true\"}}",
        ),
    ] {
        let playbook =
            "schema: kb.playbook/1\nid: p\nsteps:\n  - {id: w, specialist: writer, task: write}\n";
        let specialist =
            format!("schema: kb.specialist/1\nid: writer\nrole: You write.\ntools: [{tool}]\n");
        let script = format!(
            "schema: kb.script/1\nsteps:\n  w:\n    - calls: [{call}]\n    - calls: [{call}]\n    \
             - output: {{created: [made.txt], summary: done}}\n"
        );
        let scratch = Scratch::new(&[
            ("playbooks/p.yml", playbook),
            (".kb/specialists/writer.yml", &specialist),
            ("script.yml", &script),
        ]);
        let run = ["playbook", "run", "p", "--script", "script.yml", "--yes"];
        let mut command = scratch.command();
        command.args(run);
        if tool == "fs:write" {
            // The stored state goes away when the next call begins: the second call has not ended.
            let fault =
                Fault::below(scratch.root().parent().unwrap()).file(".before$").ops("unlink");
            fault.at(2, Deed::KillBefore).on(&mut command);
            assert!(!command.finish().status.success());
        } else {
            let fifo = scratch.root().join("hold");
            assert!(std::process::Command::new("mkfifo").arg(&fifo).finish().status.success());
            let mut child = command.start();
            until("the call", || scratch.has("made.txt"));
            child.kill().unwrap();
            child.wait().unwrap();
            std::fs::remove_file(&fifo).unwrap();
        }
        assert!(scratch.has("made.txt"), "{tool}");
        let said = scratch.kb(&["run", "resume", "@last"]).code(0);
        let view: Value =
            serde_json::from_str(&scratch.kb(&["run", "show", "@last", "--json"]).out).unwrap();
        assert_eq!(view["steps"][0]["verdict"], "passed", "{tool}: {said:?} {view}");
    }
}
