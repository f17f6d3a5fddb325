//! `locks:` of steps and `concurrency:` of playbooks, in one run and between runs of several processes.

use crate::running::{Running, Start};
use crate::scratch::Scratch;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use std::time::{Duration, Instant};

pub(crate) fn project(text: &str) -> Scratch {
    let text = format!("schema: kb.playbook/1\nid: p\n{text}");
    Scratch::new(&[(".kb/playbooks/p.yml", &text)])
}

pub(crate) fn start(scratch: &Scratch, args: &[&str]) -> Running {
    let mut command = scratch.command();
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command.start()
}

pub(crate) fn wait_for(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(60), "waited for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub(crate) fn said(child: Running) -> (Option<i32>, String) {
    let done = child.finish();
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
    let behind = |name: &str| {
        let mut run = start(&scratch, &["playbook", "run", "p", "-p", name]);
        let mut pipe = BufReader::new(run.stderr.take().expect("a pipe"));
        let waits = |line: String| line.contains("waiting for the lock `db`");
        assert!(pipe.by_ref().lines().map_while(Result::ok).any(waits), "it waits");
        run.stderr = Some(pipe.into_inner());
        run
    };
    let waiting = ["name=2", "name=3", "name=4"].map(behind);
    assert_eq!(scratch.read("log"), "+1\n");
    first.kill().expect("killed");
    first.wait().expect("ended");
    for run in waiting {
        let (code, err) = said(run);
        assert_eq!(code, Some(0), "{err}");
    }
    // In the order of their requests.
    assert_eq!(scratch.read("log"), "+1\n+2\n-2\n+3\n-3\n+4\n-4\n");
}

/// A step that waits for two locks keeps its place for both: a later step does not pass it on the free one.
#[test]
fn locks_are_granted_in_the_order_in_which_steps_became_ready() {
    let steps = "limits: {maxParallel: 8}
steps:
  - {id: holds, locks: [a], run: 'until test -e go; do sleep 0.02; done; echo holds >> log'}
  - {id: both, locks: [a, b], run: echo both >> log}
  - {id: tick, set: {a: 1}}
  - {id: behind, dependsOn: [tick], locks: [b], run: echo behind >> log}
  - {id: free, dependsOn: [tick], locks: [c], run: 'sleep 0.2; touch go'}
";
    let scratch = project(steps);
    scratch.kb(&["playbook", "run", "p"]).code(0);
    assert_eq!(scratch.read("log"), "holds\nboth\nbehind\n");
}

const SINGLETON: &str = "schema: kb.specialist/1\nid: writer\nrole: You write.\nsingleton: true\n";

/// Turns of the steps of a playbook that asks the specialist, each after this many milliseconds.
fn answers(delay: u32) -> String {
    let turn =
        |step: &str| format!("  {step}: [{{delayMs: {delay}, output: {{summary: done}}}}]\n");
    format!("schema: kb.script/1\nsteps:\n{}{}", turn("a"), turn("b"))
}

#[test]
fn a_singleton_has_one_attempt_at_a_time_in_a_run_and_between_processes() {
    let playbook = "schema: kb.playbook/1\nid: p\nsteps:\n  - {id: a, specialist: writer, task: A}\n  \
                    - {id: b, specialist: writer, task: B}\n";
    let scratch = Scratch::new(&[
        (".kb/playbooks/p.yml", playbook),
        (".kb/specialists/writer.yml", SINGLETON),
        ("short.yml", &answers(100)),
        ("long.yml", &answers(60_000)),
    ]);
    scratch.kb(&["playbook", "run", "p", "--script", "short.yml"]).code(0);
    let shown: serde_json::Value =
        serde_json::from_str(&scratch.kb(&["run", "show", "@last", "--json"]).out).unwrap();
    let time = |step: usize, key: &str| shown["steps"][step][key].as_str().unwrap().to_owned();
    let (first, second) = if time(0, "startedAt") < time(1, "startedAt") { (0, 1) } else { (1, 0) };
    assert!(time(second, "startedAt") >= time(first, "endedAt"), "{shown:#}");

    let mut other = start(&scratch, &["playbook", "run", "p", "--script", "long.yml"]);
    let is_running = || {
        let list = scratch.kb(&["run", "list", "--json"]).out;
        let runs: serde_json::Value = serde_json::from_str(&list).unwrap();
        runs[0]["counts"]["running"] == 1
    };
    wait_for("the other run", is_running);
    let mut waiting = start(&scratch, &["playbook", "run", "p", "--script", "short.yml"]);
    let mut pipe = BufReader::new(waiting.stderr.take().expect("a pipe"));
    let waits = |line: String| line.contains("waiting for the lock `singleton:writer`");
    assert!(pipe.by_ref().lines().map_while(Result::ok).any(waits), "it waits");
    waiting.stderr = Some(pipe.into_inner());
    other.kill().expect("killed");
    other.wait().expect("ended");
    let (code, err) = said(waiting);
    assert_eq!(code, Some(0), "{err}");
}

#[test]
fn runs_of_a_group_queue_in_their_order() {
    let text = "params: [{name: name}, {name: target, default: x}]
concurrency: \"deploy-{{target}}\"
steps:
  - id: a
    run: 'echo \"+$NAME\" >> log; until test -e go -o \"$TARGET\" = y; do sleep 0.05; done; echo \"-$NAME\" >> log'
    env: {NAME: \"{{name}}\", TARGET: \"{{target}}\"}
";
    let scratch = project(text);
    let mut runs = Vec::new();
    for name in ["1", "2", "3"] {
        let name = format!("name={name}");
        let mut run = start(&scratch, &["playbook", "run", "p", "-p", &name]);
        if runs.is_empty() {
            wait_for("the first run", || scratch.has("log"))
        } else {
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
        runs.push(run);
    }
    let other = scratch.kb(&["playbook", "run", "p", "-p", "name=4", "-p", "target=y"]).code(0);
    assert!(!other.err.contains("waiting for run"));
    scratch.write("go", "");
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

/// Two runs hold what the other one needs: one of them is told and gives up, and the other one continues.
#[test]
fn runs_that_wait_for_each_other_are_found() {
    let both = |first: [&str; 2], children: [&str; 2]| {
        let scratch = project(first[0]);
        let file = |name: &str, text: &str| {
            let text = format!("schema: kb.playbook/1\nid: {name}\n{text}");
            scratch.write(&format!(".kb/playbooks/{name}.yml"), &text);
        };
        file("q", first[1]);
        file("cp", children[0]);
        file("cq", children[1]);
        let runs = [
            start(&scratch, &["playbook", "run", "p"]),
            start(&scratch, &["playbook", "run", "q"]),
        ];
        let mut ended = runs.map(said);
        ended.sort();
        let [(succeeded, _), (failed, err)] = &ended;
        assert_eq!((*succeeded, *failed), (Some(0), Some(1)), "{ended:?}");
        assert!(err.contains("KB0591") && err.contains("these wait for each other: "), "{err}");
        scratch.kb(&["run", "list"]).code(0);
        err.clone()
    };
    let meet = |own: &str, other: &str| {
        format!("touch {own}; while ! test -e {other}; do sleep 0.05; done")
    };
    // Concurrency groups: each run keeps its own and calls a child run of the other one's.
    let run = |own: &str, other: &str, group: &str, child: &str| {
        let meet = meet(own, other);
        format!(
            "concurrency: {group}\nsteps: [{{id: meet, run: '{meet}'}}, {{id: call, dependsOn: [meet], playbook: {child}}}]\n"
        )
    };
    let child = |group: &str| format!("concurrency: {group}\nsteps: [{{id: s, run: 'true'}}]\n");
    let err =
        both([&run("p", "q", "a", "cp"), &run("q", "p", "b", "cq")], [&child("b"), &child("a")]);
    assert!(
        err.contains("concurrency group `a`") && err.contains("concurrency group `b`"),
        "{err}"
    );
    // Locks: a `playbook` step keeps one while its child run needs the other.
    let run = |lock: &str, child: &str| {
        format!("steps: [{{id: call, playbook: {child}, locks: [{lock}]}}]\n")
    };
    let child = |own: &str, other: &str, lock: &str| {
        let meet = meet(own, other);
        format!(
            "steps: [{{id: meet, run: '{meet}'}}, {{id: s, dependsOn: [meet], locks: [{lock}], run: 'true'}}]\n"
        )
    };
    let err =
        both([&run("x", "cp"), &run("y", "cq")], [&child("p", "q", "y"), &child("q", "p", "x")]);
    assert!(err.contains("the lock `x`") && err.contains("the lock `y`"), "{err}");
}

#[test]
fn a_child_run_takes_the_place_of_a_run_of_its_group() {
    let scratch = project("concurrency: g\nsteps: [{id: a, run: 'touch started; sleep 60'}]\n");
    scratch.write(
        ".kb/playbooks/parent.yml",
        "schema: kb.playbook/1\nid: parent\nsteps: [{id: call, playbook: child}]\n",
    );
    scratch.write(
        ".kb/playbooks/child.yml",
        "schema: kb.playbook/1\nid: child\nconcurrency: {group: g, onConflict: cancelRunning}\nsteps: [{id: s, run: touch done}]\n",
    );
    let other = start(&scratch, &["playbook", "run", "p"]);
    wait_for("the other run", || scratch.has("started"));
    scratch.kb(&["playbook", "run", "parent"]).code(0).says(&["cancelling run"]);
    assert_eq!(said(other).0, Some(1));
    assert!(scratch.has("done"));
    let runs = scratch.json(&["run", "list", "--json"]);
    let status = |definition: &str| {
        let found = runs.as_array().unwrap().iter().find(|run| run["definition"] == definition);
        found.unwrap()["status"].clone()
    };
    assert_eq!(status("p"), "cancelled");
    assert_eq!((status("parent"), status("child")), ("succeeded".into(), "succeeded".into()));
}
