//! `locks:` of steps and `concurrency:` of playbooks, in one run and between runs of several processes.

use crate::scratch::Scratch;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

fn project(text: &str) -> Scratch {
    let text = format!("schema: kb.playbook/1\nid: p\n{text}");
    Scratch::new(&[(".kb/playbooks/p.yml", &text)])
}

fn start(scratch: &Scratch, args: &[&str]) -> Child {
    let mut command = scratch.command();
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().expect("kb starts")
}

fn wait_for(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(30), "waited for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn said(child: Child) -> (Option<i32>, String) {
    let done = child.wait_with_output().expect("kb ends");
    (done.status.code(), String::from_utf8_lossy(&done.stderr).into_owned())
}

/// Writes its name at its begin and end.
fn marked(name: &str, more: &str) -> String {
    format!(
        "  - {{id: {name}, run: 'echo +{name} >> log; sleep 0.1; echo -{name} >> log'{more}}}\n"
    )
}

/// The log without overlaps of the named steps.
fn overlaps(log: &str, names: &[&str]) -> bool {
    let mut open = 0;
    log.lines().filter(|line| names.contains(&&line[1..])).any(|line| {
        open += if line.starts_with('+') { 1 } else { -1 };
        open > 1
    })
}

#[test]
fn steps_with_a_lock_run_one_after_the_other_and_others_beside_them() {
    let steps: String = [
        marked("a", ", locks: [db]"),
        marked("b", ", locks: [db, net]"),
        marked("c", ", locks: net"),
        marked("d", ""),
        marked("k", ", locks: [db], forEach: [1, 2]"),
    ]
    .concat();
    let scratch = project(&format!("limits: {{maxParallel: 8}}\nsteps:\n{steps}"));
    scratch.kb(&["playbook", "run", "p"]).code(0);
    let log = scratch.read("log");
    assert!(!overlaps(&log, &["a", "b", "k"]) && !overlaps(&log, &["b", "c"]), "{log}");
    assert_eq!(log.lines().count(), 12);
}

#[test]
fn a_lock_holds_between_processes_and_is_released_by_a_kill() {
    let text = "params: [{name: name}, {name: hold, default: \"0\"}]
steps:
  - id: a
    locks: [db]
    run: 'echo \"+$NAME\" >> log; sleep \"$HOLD\"; echo \"-$NAME\" >> log'
    env: {NAME: \"{{name}}\", HOLD: \"{{hold}}\"}
    verify: {checks: [{file: log}]}
";
    let scratch = project(text);
    let mut first = start(&scratch, &["playbook", "run", "p", "-p", "name=1", "-p", "hold=60"]);
    wait_for("the first run", || scratch.has("log"));
    let second = start(&scratch, &["playbook", "run", "p", "-p", "name=2"]);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(scratch.read("log"), "+1\n");
    first.kill().expect("killed");
    first.wait().expect("ended");
    let (code, err) = said(second);
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("waiting for the lock `db`"), "{err}");
    assert_eq!(scratch.read("log"), "+1\n+2\n-2\n");
}

#[test]
fn runs_of_a_group_queue_in_their_order() {
    let text = "params: [{name: name}, {name: target, default: x}]
concurrency: \"deploy-{{target}}\"
steps: [{id: a, run: 'echo \"+$NAME\" >> log; sleep 0.3; echo \"-$NAME\" >> log', env: {NAME: \"{{name}}\"}}]
";
    let scratch = project(text);
    let mut runs = Vec::new();
    for name in ["1", "2", "3"] {
        let name = format!("name={name}");
        let mut run = start(&scratch, &["playbook", "run", "p", "-p", &name]);
        match runs.is_empty() {
            true => wait_for("the first run", || scratch.has("log")),
            false => {
                // It says that it waits, so the next one is behind it.
                let mut line = Vec::new();
                let mut pipe = run.stderr.take().expect("a pipe");
                while !line.ends_with(b"\n") {
                    let mut byte = [0];
                    assert_eq!(std::io::Read::read(&mut pipe, &mut byte).expect("read"), 1);
                    line.push(byte[0]);
                }
                let line = String::from_utf8_lossy(&line).into_owned();
                assert!(line.contains("of the concurrency group `deploy-x`"), "{line}");
                run.stderr = Some(pipe);
            }
        }
        runs.push(run);
    }
    let other = scratch.kb(&["playbook", "run", "p", "-p", "name=4", "-p", "target=y"]).code(0);
    assert!(!other.err.contains("waiting for run"));
    for run in runs {
        assert_eq!(said(run).0, Some(0));
    }
    let log = scratch.read("log");
    let own: Vec<&str> = log.lines().filter(|line| !line.ends_with('4')).collect();
    assert_eq!(own, ["+1", "-1", "+2", "-2", "+3", "-3"]);
}

#[test]
fn a_run_of_a_busy_group_is_skipped_or_takes_the_place_of_the_other() {
    let text = "params: [{name: name}, {name: hold, default: \"0\"}]
concurrency: {group: g, onConflict: POLICY}
steps: [{id: a, run: 'echo \"$NAME\" >> log; sleep \"$HOLD\"', env: {NAME: \"{{name}}\", HOLD: \"{{hold}}\"}}]
";
    let scratch = project(&text.replace("POLICY", "skip"));
    scratch.write(
        ".kb/playbooks/q.yml",
        &format!("schema: kb.playbook/1\nid: q\n{}", text.replace("POLICY", "cancelRunning")),
    );
    let first = start(&scratch, &["playbook", "run", "p", "-p", "name=1", "-p", "hold=60"]);
    wait_for("the first run", || scratch.has("log"));
    scratch
        .kb(&["playbook", "run", "p", "-p", "name=2"])
        .code(2)
        .says(&["KB0587", "onConflict: skip"]);
    scratch.kb(&["playbook", "run", "q", "-p", "name=3"]).code(0).says(&["cancelling run"]);
    assert_eq!(said(first).0, Some(1));
    assert_eq!(scratch.read("log"), "1\n3\n");
    let runs = scratch.json(&["run", "list", "--json"]);
    let statuses: Vec<&str> =
        runs.as_array().unwrap().iter().map(|run| run["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["succeeded", "cancelled"]);
    // A run that is resumed or retried enters its group again.
    scratch.kb(&["playbook", "run", "p", "-p", "name=5"]).code(0);
}

#[test]
fn mistakes_are_found_when_the_playbook_is_loaded() {
    let text = "concurrency: {group: \"{{run.id}}\", onConflict: wait}
steps:
  - {id: a, run: echo, locks: [workspace, \"a b\"]}
  - {id: b, wait: 1s, locks: [x]}
";
    project(text).kb(&["playbook", "validate", "p"]).code(2).says(&[
        "the name of a concurrency group can read parameters only",
        "`wait` is not a value of `onConflict`",
        "write `workspace: exclusive`",
        "this cannot be the name of a lock",
        "`locks` has no effect in this `wait` step",
    ]);
    let child = "schema: kb.playbook/1\nid: child\nsteps: [{id: c, run: echo, locks: [db]}]\n";
    let scratch = project("steps: [{id: a, playbook: child, locks: [db]}]\n");
    scratch.write(".kb/playbooks/child.yml", child);
    scratch.kb(&["playbook", "validate", "p"]).code(2).says(&["KB0416", "holds the lock `db`"]);
}

#[test]
fn the_concurrency_group_of_a_child_run_holds_between_runs_and_within_one() {
    let child = "schema: kb.playbook/1\nid: child\nconcurrency: {group: g, onConflict: POLICY}\nsteps:\n  - {id: s, run: 'echo +s >> log; sleep 0.1; echo -s >> log'}\n";
    let scratch = |policy: &str, own: &str, each: &str| {
        let parent = format!(
            "{own}\nlimits: {{maxParallel: 4}}\nsteps:\n  - {{id: call, playbook: child{each}}}\n"
        );
        let scratch = project(&parent);
        scratch.write(".kb/playbooks/child.yml", &child.replace("POLICY", policy));
        scratch
    };
    let queued = scratch("queue", "", ", forEach: [1, 2, 3]");
    let said = queued.kb(&["playbook", "run", "p"]).code(0);
    said.says(&["waiting for run", "of the concurrency group `g`"]);
    assert!(!overlaps(&queued.read("log"), &["s"]), "{}", queued.read("log"));
    assert_eq!(queued.read("log").lines().count(), 6);
    // `skip` fails the step; a group of a run above would never become free.
    scratch("skip", "", ", forEach: [1, 2]")
        .kb(&["playbook", "run", "p"])
        .code(1)
        .says(&["KB0587"]);
    let held = scratch("queue", "concurrency: g", "");
    held.kb(&["playbook", "run", "p"]).code(1).says(&["KB0587", "above it"]);
}
