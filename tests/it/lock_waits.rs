//! What steps and runs do while another run has their lock or is in their concurrency group.

use crate::locks::{project, said, start, wait_for};
use crate::running::Running;
use crate::scratch::{Scratch, until};
use rustix::process::{Pid, Signal, kill_process};
use std::io::Read;
use std::time::{Duration, Instant};

fn signal(run: &Running, signal: Signal) {
    kill_process(Pid::from_child(run), signal).unwrap();
}

/// Waits until a process has written a line with this text to stderr.
#[track_caller]
fn says(run: &mut Running, text: &str) {
    let mut pipe = run.stderr.take().expect("a pipe");
    let mut line = Vec::new();
    loop {
        let mut byte = [0];
        assert_eq!(pipe.read(&mut byte).expect("read"), 1, "no line has `{text}`");
        line.push(byte[0]);
        if byte == *b"\n" {
            if String::from_utf8_lossy(&line).contains(text) {
                break;
            }
            line.clear();
        }
    }
    run.stderr = Some(pipe);
}

fn add(scratch: &Scratch, id: &str, text: &str) {
    let text = format!("schema: kb.playbook/1\nid: {id}\n{text}");
    scratch.write(&format!(".kb/playbooks/{id}.yml"), &text);
}

fn runs(scratch: &Scratch) -> Vec<(String, String)> {
    let runs = scratch.json(&["run", "list", "--json"]);
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let all = runs.as_array().unwrap().iter();
    all.map(|run| (text(&run["definition"]), text(&run["status"]))).collect()
}

const HOLDS: &str = "until test -e go; do sleep 0.02; done";

/// The timeout is shorter than the wait, and the other step has no slot until the first one has ended.
#[test]
fn a_step_that_waits_for_a_lock_of_another_run_holds_its_slot_and_its_timeout_does_not_count() {
    let scratch =
        project(&format!("steps: [{{id: a, locks: [db], run: 'touch held; {HOLDS}'}}]\n"));
    add(
        &scratch,
        "q",
        "limits: {maxParallel: 1}\nsteps: [{id: a, locks: [db], timeout: 3s, tool: fs:write, input: {path: a.txt, content: x}}, {id: b, run: touch b}]\n",
    );
    let first = start(&scratch, &["playbook", "run", "p"]);
    wait_for("the first run", || scratch.has("held"));
    let mut second = start(&scratch, &["playbook", "run", "q"]);
    says(&mut second, "waiting for the lock `db`");
    let begun = Instant::now();
    until("the end of the timeout", || begun.elapsed() > Duration::from_millis(3500));
    assert!(!scratch.has("a.txt") && !scratch.has("b"), "the step that waits has the only slot");
    scratch.write("go", "");
    assert_eq!(said(first).0, Some(0));
    let (code, err) = said(second);
    assert_eq!(code, Some(0), "{err}");
    assert!(scratch.has("a.txt") && scratch.has("b"));
}

#[test]
fn a_run_in_the_queue_is_not_created_and_an_interrupt_takes_it_out() {
    let scratch = project(&format!(
        "params: [{{name: name}}]\nconcurrency: g\nsteps: [{{id: a, run: 'echo \"$NAME\" >> log; {HOLDS}', env: {{NAME: \"{{{{name}}}}\"}}}}]\n"
    ));
    let run = |name: &str| start(&scratch, &["playbook", "run", "p", "-p", name]);
    let first = run("name=1");
    wait_for("the first run", || scratch.has("log"));
    let queued = || {
        let mut queued = run("name=2");
        says(&mut queued, "waiting for run");
        queued
    };
    let (second, third) = (queued(), queued());
    assert_eq!(runs(&scratch).len(), 1, "runs in the queue are not listed");
    signal(&second, Signal::INT);
    assert_ne!(said(second).0, Some(0));
    scratch.write("go", "");
    for run in [first, third] {
        assert_eq!(said(run).0, Some(0));
    }
    assert_eq!(scratch.read("log"), "1\n2\n");
    assert_eq!(runs(&scratch).len(), 2);
}

/// The group is free while a run is left with its question, and while its process is gone.
#[test]
fn a_run_that_is_left_leaves_its_group_and_enters_it_again() {
    let scratch = project(
        "concurrency: {group: g, onConflict: skip}\nsteps: [{id: q, ask: \"Go?\"}, {id: after, dependsOn: [q], run: test -e ready}]\n",
    );
    add(
        &scratch,
        "holder",
        &format!(
            "concurrency: {{group: g, onConflict: skip}}\nsteps: [{{id: a, run: 'touch held; {HOLDS}'}}]\n"
        ),
    );
    scratch.kb(&["playbook", "run", "p"]).code(3);
    let left = scratch.last_run();
    let mut holder = start(&scratch, &["playbook", "run", "holder"]);
    wait_for("the other run", || scratch.has("held"));
    let refused = |args: &[&str]| {
        scratch.kb(args).code(2).says(&["KB0587", "onConflict: skip"]);
    };
    refused(&["run", "resume", &left]);
    refused(&["playbook", "run", "p"]);
    // Its process ends.
    holder.kill().unwrap();
    holder.wait().unwrap();
    scratch.kb(&["run", "resume", &left]).code(3);
    scratch.kb(&["run", "answer", &left, "q", "yes"]).code(1);
    std::fs::remove_file(scratch.root().join("held")).unwrap();
    let holder = start(&scratch, &["playbook", "run", "holder"]);
    wait_for("the other run", || scratch.has("held"));
    scratch.write("ready", "");
    refused(&["run", "retry", &left]);
    scratch.write("go", "");
    assert_eq!(said(holder).0, Some(0));
    // It has ended.
    scratch.kb(&["run", "retry", &left]).code(0);
}

/// The first run cannot end while it is stopped, so the second one still cancels it when the third one arrives.
#[test]
fn a_run_that_cancels_another_one_does_not_start_if_a_newer_one_arrives() {
    let scratch = project(
        "params: [{name: name}]\nconcurrency: {group: g, onConflict: cancelRunning}\nsteps: [{id: a, run: 'echo \"$NAME\" >> log; test \"$NAME\" != 1 || sleep 300', env: {NAME: \"{{name}}\"}}]\n",
    );
    let run = |name: &str| start(&scratch, &["playbook", "run", "p", "-p", name]);
    let first = run("name=1");
    wait_for("the first run", || scratch.has("log"));
    signal(&first, Signal::STOP);
    let mut second = run("name=2");
    says(&mut second, "cancelling run");
    let mut third = run("name=3");
    let (code, err) = said(second);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("KB0587") && err.contains("a newer run"), "{err}");
    says(&mut third, "cancelling run");
    signal(&first, Signal::CONT);
    assert_eq!((said(first).0, said(third).0), (Some(1), Some(0)));
    assert_eq!(scratch.read("log"), "1\n3\n");
}

/// The step that waits for the group of its child run has the only slot, and its timeout passes.
#[test]
fn a_step_whose_child_run_waits_for_its_group_holds_its_slot_and_its_timeout_counts() {
    let scratch =
        project(&format!("concurrency: g\nsteps: [{{id: a, run: 'touch held; {HOLDS}'}}]\n"));
    add(&scratch, "child", "concurrency: g\nsteps: [{id: s, run: touch child}]\n");
    for (id, timeout) in [("patient", ""), ("hasty", ", timeout: 3s")] {
        let steps = format!(
            "limits: {{maxParallel: 1}}\nsteps: [{{id: call, playbook: child{timeout}}}, {{id: b, run: touch {id}}}]\n"
        );
        add(&scratch, id, &steps);
    }
    let first = start(&scratch, &["playbook", "run", "p"]);
    wait_for("the first run", || scratch.has("held"));
    let mut patient = start(&scratch, &["playbook", "run", "patient"]);
    says(&mut patient, "of the concurrency group `g`");
    scratch
        .kb(&["playbook", "run", "hasty"])
        .code(1)
        .says(&["of the concurrency group `g`", "KB0556"]);
    assert!(scratch.has("hasty") && !scratch.has("patient"), "a step that waits holds its slot");
    scratch.write("go", "");
    assert_eq!((said(first).0, said(patient).0), (Some(0), Some(0)));
    assert!(scratch.has("child") && scratch.has("patient"));
}
