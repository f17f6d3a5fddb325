//! Runs that succeed with a gate that did not pass: every summary says so, and `--strict` fails them.

use crate::scratch::Scratch;
use serde_json::json;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

/// Two steps whose checks cannot be decided or do not hold, and a step whose check passes.
const PLAYBOOK: &str = "schema: kb.playbook/1
id: p
steps:
  - id: unclear
    run: 'true'
    verify: {checks: [{command: [sleep, '30'], timeout: 100ms}], onInconclusive: warn}
  - id: wrong
    run: 'true'
    verify: {checks: [{file: missing.txt}], onFailed: warn}
  - id: fine
    run: touch made.txt
    verify: {checks: [{file: made.txt}]}
";

fn project(settings: &str) -> Scratch {
    Scratch::new(&[("playbooks/p.yml", PLAYBOOK), (".kb/kb.config.yml", settings)])
}

#[test]
fn the_summary_and_the_events_count_what_is_unproven() {
    let scratch = project("{}");
    let said = scratch.kb(&["playbook", "run", "p"]).code(0);
    assert!(said.out.starts_with("p succeeded, 2 unproven in "), "{}", said.out);
    assert!(said.err.contains("run succeeded, 2 unproven in "), "{}", said.err);
    let events = scratch.kb(&["playbook", "run", "p", "--json"]).code(0).events();
    let end = events.last().unwrap();
    assert_eq!((&end["type"], &end["unproven"]), (&json!("run:end"), &json!(2)), "{end:#}");
    scratch.kb(&["run", "show", "@last"]).code(0).says(&["succeeded, 2 unproven"]);
    assert_eq!(scratch.json(&["run", "show", "@last", "--json"])["unproven"], json!(2));
}

#[test]
fn strict_fails_a_run_with_something_unproven() {
    let scratch = project("{}");
    for args in [["playbook", "run", "p", "--strict"], ["run", "retry", "@last", "--strict"]] {
        let retry = ["--from", "unclear"];
        let all = args.iter().chain(retry.iter().filter(|_| args[1] == "retry")).copied();
        let said = scratch.kb(&all.collect::<Vec<_>>()).code(1);
        said.says(&["2 unproven: the gate of `unclear`, `wrong` did not pass"]);
    }
    let said = scratch.kb(&["playbook", "run", "p", "--strict", "--json"]).code(1);
    assert_eq!(said.events().last().unwrap()["status"], "succeeded");
    project("verifier: {strict: true}\n").kb(&["playbook", "run", "p"]).code(1);
}

#[test]
fn strict_accepts_a_run_whose_gates_pass() {
    let scratch = project("verifier: {strict: true}\n");
    scratch.write("missing.txt", "now it exists\n");
    scratch
        .write("playbooks/p.yml", &PLAYBOOK.replace("[sleep, '30'], timeout: 100ms", "['true']"));
    let said = scratch.kb(&["playbook", "run", "p", "--strict"]).code(0);
    assert!(said.out.starts_with("p succeeded in "), "{}", said.out);
}

#[test]
fn a_program_that_the_sandbox_hides_fails_the_gate_and_the_message_names_the_setting() {
    let outside = Scratch::new(&[("check.sh", "#!/bin/sh\nexit 0\n")]);
    let program = outside.root().join("check.sh");
    std::fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    let program = program.display();
    let text = format!(
        "schema: kb.playbook/1\nid: p\nsteps:\n  - {{id: a, run: 'true', sandbox: always, verify: {{checks: [{{command: [{program}]}}], onInconclusive: warn}}}}\n"
    );
    let scratch = Scratch::new(&[("playbooks/p.yml", &text)]);
    if !scratch.kb(&["doctor"]).out.contains("Landlock") {
        eprintln!("skipped: this machine has no sandbox");
        return;
    }
    let hidden = format!(
        "the command could not be started: the sandbox hides `{program}` or its interpreter \
         `/bin/sh`; add its folder to `sandbox.read` in the settings"
    );
    scratch.kb(&["playbook", "run", "p"]).code(1).says(&["KB0552", &hidden]);
    // The folder of a link is open already.
    std::os::unix::fs::symlink(outside.root().join("check.sh"), scratch.root().join("link"))
        .unwrap();
    scratch.write("playbooks/p.yml", &text.replace(&program.to_string(), "./link"));
    let hidden = format!("the sandbox hides `{program}`, to which");
    scratch.kb(&["playbook", "run", "p"]).code(1).says(&["KB0552", &hidden]);
    let settings = format!("sandbox: {{read: ['{}']}}\n", outside.root().display());
    scratch.write(".kb/kb.config.yml", &settings);
    scratch.kb(&["playbook", "run", "p"]).code(0);
}
