//! A run that continues ends in `succeeded` only with the changes that were verified: work that was undone is done again or the
//! run does not continue, and a gate before which a person edited judges again.

use crate::running::Start;
use crate::scratch::{Scratch, until};
use std::process::Stdio;
use std::time::Duration;

/// Longer than a process of a run can have changed files after its last sign of life.
const LATER: Duration = Duration::from_millis(2_500);

fn project(steps: &[&str]) -> Scratch {
    let lines: String = steps.iter().map(|step| format!("  - {{{step}}}\n")).collect();
    let text = format!("schema: kb.playbook/1\nid: p\nsteps:\n{lines}");
    Scratch::new(&[("playbooks/p.yml", &text), ("a.txt", "base\n")])
}

/// A step without a gate of its own is part of what a later gate verifies: another step's `verify`, or a `gate` step.
#[test]
fn undone_work_of_a_step_before_a_gate_is_done_again() {
    let file = "id: g, dependsOn: [u], run: 'echo g >> a.txt', verify: {checks: [{file: {path: a.txt, changed: true}}]}";
    let gate = "id: g, dependsOn: [u], gate: [{command: [grep, -q, u, a.txt]}]";
    for (step, whole) in [(file, "base\nu\ng\n"), (gate, "base\nu\n")] {
        for args in [&[][..], &["--with-current"]] {
            let last = "id: z, dependsOn: [g], run: 'test -e ok'";
            let scratch = project(&["id: u, run: 'echo u >> a.txt'", step, last]);
            scratch.kb(&["playbook", "run", "p"]).code(1);
            assert_eq!(scratch.read("a.txt"), whole);
            scratch.write("a.txt", "base\n");
            scratch.write("ok", "");
            scratch.kb(&[&["run", "retry", "@last"], args].concat()).code(0);
            assert_eq!(scratch.read("a.txt"), whole, "{step} {args:?}");
        }
    }
}

/// A run that was killed, or that waits for a person, is not continued without the work; a retry does it again.
#[test]
fn a_run_is_not_resumed_without_its_work() {
    let work = "id: w, run: 'echo w >> a.txt', verify: {checks: [{command: [grep, -q, w, a.txt]}]}";
    let ask = "id: z, dependsOn: [w], approve: {message: 'Go on?'}";
    let kill = "id: z, dependsOn: [w], run: 'touch working; test -e ok || sleep 600'";
    for (last, goes_on) in [(kill, ["run", "resume", "@last"]), (ask, ["run", "approve", "@last"])]
    {
        let scratch = project(&[work, last]);
        if last == ask {
            scratch.kb(&["playbook", "run", "p"]).code(3);
        } else {
            let mut command = scratch.command();
            command.args(["playbook", "run", "p"]).stdout(Stdio::null()).stderr(Stdio::null());
            let mut child = command.start();
            until("the step", || scratch.has("working"));
            child.kill().unwrap();
            child.wait().unwrap();
        }
        std::thread::sleep(LATER);
        scratch.write("a.txt", "base\n");
        scratch.write("ok", "");
        let said = scratch.kb(&goes_on);
        assert_ne!(said.code, 0, "{said:?}");
        said.says(&["KB0562", "the change of `a.txt` by step `w` was undone", "run cancel"]);
        // What the help says.
        scratch.kb(&["run", "cancel", "@last"]);
        if last == kill {
            scratch.kb(&["run", "retry", "@last"]).code(0);
            assert_eq!(scratch.read("a.txt"), "base\nw\n");
        }
        // With the work, the run goes on.
        let scratch = project(&[work, ask]);
        scratch.kb(&["playbook", "run", "p"]).code(3);
        scratch.kb(&["run", "approve", "@last"]).code(0);
    }
}

/// A step that is repeated alone does not end the run without the work of the others.
#[test]
fn one_step_is_not_repeated_alone_without_the_work_of_others() {
    let scratch = project(&[
        "id: w, run: 'echo w >> a.txt', verify: {checks: [{command: [grep, -q, w, a.txt]}]}",
        "id: z, dependsOn: [w], run: 'test -e ok'",
    ]);
    scratch.kb(&["playbook", "run", "p"]).code(1);
    scratch.write("a.txt", "base\n");
    scratch.write("ok", "");
    let said = scratch.kb(&["run", "retry", "@last", "--only", "z"]);
    assert_ne!(said.code, 0, "{said:?}");
    said.says(&["KB0562", "by step `w` was undone"]);
    scratch.kb(&["run", "retry", "@last"]).code(0);
    assert_eq!(scratch.read("a.txt"), "base\nw\n");
}

/// What a killed process did itself, such as a step that uses up a file, is no undone work.
#[test]
fn what_a_killed_step_did_itself_is_no_undone_work() {
    let work =
        "id: w, run: 'echo w > b.txt', verify: {checks: [{file: {path: b.txt, changed: true}}]}";
    let uses = "id: z, dependsOn: [w], run: 'mv b.txt c.txt || true; touch working; test -e ok || sleep 600'";
    let scratch = project(&[work, uses]);
    let mut command = scratch.command();
    command.args(["playbook", "run", "p"]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.start();
    until("the step", || scratch.has("working"));
    child.kill().unwrap();
    child.wait().unwrap();
    scratch.write("ok", "");
    scratch.kb(&["run", "resume", "@last"]).code(0);
}

#[test]
fn a_gate_judges_again_what_was_edited_after_it() {
    let steps = [
        "id: w, run: 'echo w >> a.txt'",
        "id: g, dependsOn: [w], gate: [{command: [grep, -q, w, a.txt]}]",
        "id: z, dependsOn: [g], run: 'test -e ok'",
    ];
    for args in [&[][..], &["--with-current"]] {
        for (edit, code) in [("another text\n", 1), ("w and more\n", 0)] {
            let scratch = project(&steps);
            scratch.kb(&["playbook", "run", "p"]).code(1);
            std::thread::sleep(LATER);
            scratch.write("a.txt", edit);
            scratch.write("ok", "");
            let said = scratch.kb(&[&["run", "retry", "@last"], args].concat()).code(code);
            said.says(&["`a.txt`"]);
            assert_eq!(scratch.read("a.txt"), edit);
        }
    }
    // The edit of a file of a step with a gate of its own is named, also where no step reads from it.
    let own = "id: w, run: 'echo w >> a.txt', verify: {checks: [{command: [grep, -q, w, a.txt]}]}";
    let scratch = project(&[own, "id: z, run: 'test -e ok'"]);
    scratch.kb(&["playbook", "run", "p"]).code(1);
    std::thread::sleep(LATER);
    scratch.write("a.txt", "edited\n");
    scratch.write("ok", "");
    let said = scratch.kb(&["run", "retry", "@last"]).code(0);
    said.says(&["`a.txt` was edited after the gate of `w`, and its verdict is older"]);
}
