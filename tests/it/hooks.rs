//! `hooks:` of runs and steps, and `requires:`.

use crate::running::Start;
use crate::scratch::{Scratch, until};
use serde_json::Value;
use std::process::Stdio;

fn project(text: &str) -> Scratch {
    let text = format!("schema: kb.playbook/1\nid: p\n{text}");
    Scratch::new(&[(".kb/playbooks/p.yml", &text)])
}

fn status(scratch: &Scratch, step: &str) -> Value {
    let shown = scratch.json(&["run", "show", "@last", "--json"]);
    let steps = shown["steps"].as_array().expect("steps");
    let found = steps.iter().find(|found| found["step"] == step || found["id"] == step);
    found.unwrap_or_else(|| panic!("{step}: {shown}"))["status"].clone()
}

const HOOKS: &str = "hooks:
  onStart: [{id: began, run: echo began >> log}]
  onSuccess: [{id: well, run: echo well >> log}]
  onFailure: [{id: badly, run: 'echo \"badly $ERROR\" >> log', env: {ERROR: \"{{run.failed[0].step}}\"}}]
  onCancel: [{id: stopped, run: echo stopped >> log}]
";

#[test]
fn hooks_of_a_run_follow_how_it_ended_and_leave_its_status_alone() {
    let scratch = project(&format!("{HOOKS}steps: [{{id: a, run: sleep 0.2}}]\n"));
    scratch.kb(&["playbook", "run", "p"]).code(0);
    assert_eq!(scratch.read("log"), "began\nwell\n");
    assert_eq!(
        (status(&scratch, "well"), status(&scratch, "badly")),
        ("succeeded".into(), "skipped".into())
    );
    let scratch = project(&format!("{HOOKS}steps: [{{id: a, run: sleep 0.2 && false}}]\n"));
    scratch.kb(&["playbook", "run", "p"]).code(1);
    assert_eq!(scratch.read("log"), "began\nbadly a\n");
    let scratch = project(&format!("{HOOKS}steps: [{{id: a, approve: \"Go on?\"}}]\n"));
    scratch.kb(&["playbook", "run", "p"]).code(3);
    scratch.kb(&["run", "cancel", "@last"]);
    assert_eq!(scratch.read("log"), "began\nstopped\n");
    let text = "hooks: {onSuccess: [{id: fails, run: exit 3}]}\nsteps: [{id: a, run: echo}]\n";
    project(text).kb(&["playbook", "run", "p"]).code(0).says(&["fails", "exit code 3"]);
}

#[test]
fn hooks_of_a_step_run_beside_the_other_steps_and_read_its_result() {
    let text = "limits: {failFast: true}
steps:
  - id: bad
    run: sleep 0.1; exit 7
    hooks:
      on_start: [{id: begins, run: 'test ! -e log; echo begins >> log'}]
      onSuccess: [{id: never, run: echo never >> log}]
      onFailure: [{id: tells, run: 'echo \"code $CODE\" >> log', env: {CODE: \"{{bad.exitCode}}\"}}]
  - id: slow
    run: sleep 5
    hooks: {onCancel: [{id: undoes, run: echo undoes >> log}]}
  - {id: later, dependsOn: [slow], run: echo, hooks: {onCancel: [{id: unstarted, run: echo no >> log}]}}
";
    let scratch = project(text);
    scratch.kb(&["playbook", "run", "p", "--max-parallel", "4"]).code(1);
    let mut lines: Vec<String> = scratch.read("log").lines().map(str::to_owned).collect();
    assert_eq!(lines.remove(0), "begins");
    lines.sort();
    assert_eq!(lines, ["code 7", "undoes"]);
    assert_eq!(status(&scratch, "never"), "skipped");
    assert_eq!(status(&scratch, "unstarted"), "skipped");
    scratch.kb(&["playbook", "graph", "p"]).code(0).says(&["hook bad.onFailure"]);
}

/// The first cancellation lets hooks and `finally` run, and the second one ends what has no end of its own.
#[test]
fn a_second_cancellation_stops_the_hooks() {
    let endless = |name: &str| format!("run: 'touch {name}; while true; do sleep 0.1; done'");
    let text = format!(
        "hooks: {{onCancel: [{{id: run_hook, {}}}]}}
steps:
  - {{id: slow, {}, hooks: {{onCancel: [{{id: step_hook, {}}}]}}}}
finally: [{{id: last, run: touch last}}]
",
        endless("run_hook"),
        endless("slow"),
        endless("step_hook"),
    );
    let scratch = project(&text);
    let mut command = scratch.command();
    command.args(["playbook", "run", "p", "--max-parallel", "4"]);
    let run = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).start();
    until("the step", || scratch.has("slow"));
    scratch.kb(&["run", "cancel", "@last"]).code(0);
    until("the hooks", || scratch.has("run_hook") && scratch.has("step_hook"));
    until("`finally`", || status(&scratch, "last") == "succeeded");
    scratch.kb(&["run", "cancel", "@last"]).code(0);
    assert_eq!(run.finish().status.code(), Some(1));
    for hook in ["step_hook", "run_hook"] {
        assert_eq!(status(&scratch, hook), "cancelled");
    }
}

#[test]
fn a_retry_runs_the_hooks_of_the_steps_that_start_again() {
    let text = "steps:
  - {id: good, run: echo, hooks: {onSuccess: [{id: once, run: echo once >> log}]}}
  - {id: bad, run: test -e fixed, hooks: {onSuccess: [{id: fine, run: echo fine >> log}], onFailure: [{id: poor, run: echo poor >> log}]}}
";
    let scratch = project(text);
    scratch.kb(&["playbook", "run", "p"]).code(1);
    scratch.write("fixed", "");
    scratch.kb(&["run", "retry", "@last"]).code(0);
    let mut lines: Vec<String> = scratch.read("log").lines().map(str::to_owned).collect();
    assert_eq!(lines.pop().as_deref(), Some("fine"));
    lines.sort();
    assert_eq!(lines, ["once", "poor"]);
}

#[test]
fn mistakes_in_hooks_are_found_when_the_playbook_is_loaded() {
    let text = "defaults: {hooks: {onStart: [{id: x, run: echo}]}}
hooks: {onSucces: [], onFailure: {id: y, run: echo}}
steps:
  - {id: a, run: echo, hooks: {onStart: [{id: a, run: echo}]}}
  - {id: b, run: echo, hooks: {onStart: [{id: c, run: echo, hooks: {onStart: [{id: d, run: echo}]}}]}}
  - {id: e, run: echo, hooks: {onStart: [{run: echo}]}}
";
    project(text).kb(&["playbook", "validate", "p"]).code(2).says(&[
        "cannot have `hooks`, and neither can `defaults`",
        "unknown key `onSucces`",
        "did you mean `onSuccess`?",
        "`onFailure` takes a list of steps",
        "a step has no `id`",
    ]);
    let text =
        "steps: [{id: a, run: echo, dependsOn: [h], hooks: {onSuccess: [{id: h, run: echo}]}}]\n";
    project(text).kb(&["playbook", "validate", "p"]).code(2).says(&["`h` is a step of `finally`"]);
}

#[test]
fn all_missing_requirements_are_reported_before_anything_starts() {
    let text = "requires:
  tools: [bash, no-such-program-1]
  files: [\"*.toml\", present.txt]
  env: [KB_TEST_UNSET_VARIABLE]
  git: clean
steps: [{id: a, run: touch started}]
";
    let scratch = project(text);
    scratch.write("present.txt", "");
    let said = scratch.kb(&["playbook", "run", "p"]).code(2).says(&[
        "KB0415",
        "the program `no-such-program-1` is not in PATH",
        "p.yml:4:17",
        "no file matches `*.toml`",
        "the variable `KB_TEST_UNSET_VARIABLE` is not set",
        "`git status` failed",
        "4 errors",
    ]);
    assert!(!said.err.contains("present.txt`") && !scratch.has("started"));
    assert_eq!(scratch.json(&["run", "list", "--json"]).as_array().map(Vec::len), Some(0));
}

#[test]
fn a_clean_work_tree_is_required_also_by_a_child_run() {
    let child =
        "schema: kb.playbook/1\nid: child\nrequires: {git: clean}\nsteps: [{id: c, run: echo}]\n";
    let scratch = project("steps: [{id: a, playbook: child}]\n");
    scratch.write(".kb/playbooks/child.yml", child);
    let git = |args: &[&str]| {
        let done =
            std::process::Command::new("git").args(args).current_dir(scratch.root()).finish();
        assert!(done.status.success(), "{args:?}");
    };
    git(&["init", "-q"]);
    git(&["add", "-A"]);
    git(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first"]);
    scratch.kb(&["playbook", "run", "p"]).code(0);
    scratch.write("new.txt", "");
    scratch
        .kb(&["playbook", "run", "p"])
        .code(2)
        .says(&["the work tree has changes: `new.txt`", "git stash"]);
    scratch.kb(&["playbook", "validate", "p"]).code(0);
}
