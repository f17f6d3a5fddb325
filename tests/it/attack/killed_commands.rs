//! Processes of `kb` that end while a command in the sandbox runs: what it left is known when the run is resumed.

use crate::running::Start;
use crate::scratch::{Said, Scratch, has_kernel_sandbox, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

const SPECIALIST: &str =
    "schema: kb.specialist/1\nid: worker\nrole: You write.\ntools: [fs:write, shell:exec]\n";
const WORK: &str = "  - {id: work, agent: worker, task: Write., verify: {claims: none}}\n";
const LATER: &str = "  - {id: later, dependsOn: work, run: bash ci.sh}\n";

/// A project whose command, of the specialist and in `t.sh`, does something once and then waits.
fn project(steps: &str, command: &str) -> Scratch {
    let command = format!("test -e mark && exit 0; {command}; touch mark; sleep 60");
    let call = json!({"tool": "shell:exec", "args": {"command": command}});
    let turns = json!([{"calls": [call]}, {"output": {"summary": "done"}}]);
    let script = json!({"schema": "kb.script/1", "steps": {"work": turns}});
    let scratch = Scratch::new(&[
        (".kb/playbooks/p.yml", &format!("schema: kb.playbook/1\nid: p\nsteps:\n{steps}")),
        (".kb/specialists/worker.yml", SPECIALIST),
        ("script.yml", &script.to_string()),
        ("ci.sh", "true\n"),
        ("t.sh", &command),
    ]);
    std::fs::create_dir_all(scratch.root().parent().unwrap().join("home")).unwrap();
    scratch
}

/// Ends the process that drives the run while its command waits, and resumes the run.
fn interrupt(scratch: &Scratch, signals: &[Signal]) -> (Said, bool) {
    kill(scratch, signals);
    let home = scratch.root().parent().unwrap().join("home");
    let said = scratch.kb_with(&["run", "resume", "@last"], |kb| {
        kb.env("HOME", &home);
    });
    (said, home.join("pwned").exists())
}

/// Ends the process that drives the run while its command waits.
fn kill(scratch: &Scratch, signals: &[Signal]) {
    let home = scratch.root().parent().unwrap().join("home");
    let mut kb = scratch.command();
    kb.args(["playbook", "run", "p", "--script", "script.yml"]).env("HOME", &home);
    let mut running = kb.stdout(Stdio::null()).stderr(Stdio::piped()).start();
    let mut lines = BufReader::new(running.stderr.take().unwrap()).lines().map_while(Result::ok);
    until("the command does not start", || scratch.has("mark"));
    for signal in signals {
        kill_process(Pid::from_child(&running), *signal).unwrap();
        // The first interrupt is taken in before the next one comes.
        lines.find(|line| line.contains("press again to kill"));
    }
    running.wait().unwrap();
}

#[test]
fn a_later_command_is_in_the_sandbox_after_an_interruption() {
    if !has_kernel_sandbox() {
        return;
    }
    let plant = "echo 'echo pwned > $HOME/pwned' > ci.sh";
    for signals in [&[Signal::KILL][..], &[Signal::INT, Signal::INT]] {
        let scratch = project(&format!("{WORK}{LATER}"), plant);
        let (said, escaped) = interrupt(&scratch, signals);
        assert!(!escaped && said.code == 1, "{signals:?}: {said:?}");
        said.says(&["the command ran in the sandbox, because step `work`"]);
    }
}

#[test]
fn a_protected_path_that_a_killed_command_made_is_noticed() {
    if !has_kernel_sandbox() {
        return;
    }
    let always = "  - {id: a, sandbox: always, run: sh t.sh}\n";
    let gate = "  - {id: a, sandbox: always, gate: [{command: [sh, t.sh]}]}\n";
    for (steps, command) in [
        (WORK, "echo evil > .envrc"),
        (always, "mkdir -p sub/.git; echo evil > sub/.git/config"),
        (gate, "echo evil > .envrc"),
    ] {
        let (said, _) = interrupt(&project(steps, command), &[Signal::KILL]);
        said.code(1).says(&["the command changed protected paths"]);
    }
}

/// Whatever follows the kill, nothing starts in the project until the change is undone.
#[test]
fn a_protected_path_that_a_killed_command_made_is_noticed_by_whatever_follows() {
    if !has_kernel_sandbox() {
        return;
    }
    const CHANGED: &str = "a command that changed protected paths: `.envrc`";
    let always = "  - {id: a, sandbox: always, run: sh t.sh}\n";
    let gate = "  - {id: a, sandbox: always, gate: [{command: [sh, t.sh]}]}\n";
    let other = ["playbook", "run", "other"];
    for (steps, signals) in [
        (WORK, &[Signal::KILL][..]),
        (always, &[Signal::INT, Signal::INT]),
        (gate, &[Signal::KILL]),
    ] {
        let scratch = project(steps, "echo evil > .envrc");
        write_other(&scratch);
        kill(&scratch, signals);
        scratch.kb(&other).says(&["KB0606", CHANGED]);
        // The run ends, and the next processes still know it.
        scratch.kb(&["run", "cancel", "@last"]).says(&["cancelled", "KB0606", CHANGED]);
        let (tests, plugin) = (["playbook", "test"], ["plugin", "test", "w"]);
        for args in [&other[..], &["run", "retry", "@last"], &tests, &plugin] {
            scratch.kb(args).says(&["KB0606", CHANGED]);
        }
        assert!(!scratch.has("ran"), "{steps}");
        std::fs::remove_file(scratch.root().join(".envrc")).unwrap();
        scratch.kb(&["run", "retry", "@last"]).code(0);
        scratch.kb(&other).code(0);
    }
}

/// The digest with which changes are accepted that were shown.
fn digest_in(shown: &Said) -> String {
    shown.err.split("--accept ").nth(1).unwrap()[..16].to_owned()
}

/// A person accepts exactly what was shown: without a terminal, by its digest.
#[test]
fn a_change_of_a_command_is_accepted_by_a_person() {
    if !has_kernel_sandbox() {
        return;
    }
    let steps = "  - {id: a, sandbox: always, run: sh t.sh}\n";
    let scratch = project(steps, "true");
    scratch.write("t.sh", "git init -q sub && touch .envrc\n");
    write_other(&scratch);
    scratch.kb(&["doctor", "--accept"]).says(&["no command changed protected paths"]);
    scratch.kb(&["playbook", "run", "p"]).code(1).says(&["KB0606", "kb doctor --accept"]);
    scratch.kb(&["doctor"]).code(5).says(&["changed protected paths: `.envrc`"]);
    let shown = scratch.kb(&["doctor", "--accept"]).code(2);
    let digest = digest_in(&shown);
    shown.says(&[
        "step `a` of run",
        ".envrc  created: file of 0 bytes",
        "sub/.git/config  created: file",
    ]);
    scratch.write("sub/.git/config", "[core]\n\tbare = false\n");
    scratch.kb(&["doctor", "--accept", &digest]).code(2).says(&["not accepted"]);
    scratch.kb(&["playbook", "run", "other"]).code(2).says(&["KB0606"]);
    let digest = digest_in(&scratch.kb(&["doctor", "--accept"]));
    scratch.kb(&["doctor", "--accept", &digest]).says(&["accepted"]);
    scratch.kb(&["playbook", "run", "other"]).code(0);
}

/// While a run executes, its commands could accept what they changed.
#[test]
fn nothing_is_accepted_while_a_run_executes() {
    if !has_kernel_sandbox() {
        return;
    }
    let steps = "  - {id: a, sandbox: always, run: sh t.sh}\n  \
        - {id: b, sandbox: always, run: 'while test ! -e go; do sleep 0.02; done'}\n";
    let scratch = project(steps, "true");
    scratch.write("t.sh", "echo evil > .envrc\n");
    let mut kb = scratch.command();
    kb.args(["playbook", "run", "p"]);
    let mut running = kb.stdout(Stdio::null()).stderr(Stdio::null()).start();
    let shown = || scratch.kb(&["doctor", "--accept"]);
    until("the change is not found", || shown().err.contains(".envrc  created"));
    let digest = digest_in(&shown());
    scratch.kb(&["doctor", "--accept", &digest]).code(2).says(&["KB0606", "executes"]);
    scratch.write("go", "");
    running.wait().unwrap();
    scratch.kb(&["playbook", "run", "p"]).code(2).says(&["KB0606"]);
}

/// In the run itself, commands outside of the sandbox wait for that too.
#[test]
fn no_command_starts_outside_of_the_sandbox_after_a_change() {
    if !has_kernel_sandbox() {
        return;
    }
    let steps = "  - {id: a, sandbox: always, run: sh t.sh, onError: continue}\n  \
        - {id: free, dependsOn: a, run: touch ran, onError: continue}\n  \
        - {id: last, dependsOn: free, sandbox: always, run: touch last}\n";
    let scratch = project(steps, "true");
    scratch.write("t.sh", "echo evil > .envrc\n");
    scratch.kb(&["playbook", "run", "p"]).says(&["free", "changed protected paths: `.envrc`"]);
    assert!(!scratch.has("ran") && scratch.has("last"));
}

/// What else a project can execute.
fn write_other(scratch: &Scratch) {
    for (path, text) in [
        (
            ".kb/playbooks/other.yml",
            "schema: kb.playbook/1\nid: other\nsteps: [{id: b, run: touch ran}]\n",
        ),
        (
            ".kb/tests/other.test.yml",
            "schema: kb.test/1\nplaybook: other\ntests: [{name: t, expect: {status: succeeded}}]\n",
        ),
        (
            ".kb/plugins/w.yml",
            "schema: kb.plugin/1\nid: w\ndescription: d\nargv: [touch, ran]\nlevel: restricted\noutput: {schema: {n: integer}}\n",
        ),
    ] {
        scratch.write(path, text);
    }
}

/// The failure of the step does not end that: nothing starts until the change is undone.
#[test]
fn a_change_that_failed_a_step_is_undone_before_anything_starts() {
    if !has_kernel_sandbox() {
        return;
    }
    let always = "  - {id: a, sandbox: always, run: sh t.sh}\n";
    let scratch = project(always, "echo evil > .envrc");
    scratch.write("t.sh", "echo evil > .envrc\n");
    write_other(&scratch);
    scratch.kb(&["playbook", "run", "p"]).code(1).says(&["KB0606"]);
    for args in [&["run", "retry", "@last"][..], &["playbook", "run", "other"]] {
        scratch.kb(args).says(&["KB0606", "step `a` of run", "changed protected paths: `.envrc`"]);
    }
    assert!(!scratch.has("ran"));
    scratch.write("t.sh", "true\n");
    std::fs::remove_file(scratch.root().join(".envrc")).unwrap();
    scratch.kb(&["run", "retry", "@last"]).code(0);
    scratch.kb(&["playbook", "run", "other"]).code(0);
}

#[test]
fn a_rejection_notices_the_protected_path_of_a_killed_command() {
    if !has_kernel_sandbox() {
        return;
    }
    let steps = "  - {id: ok, approve: 'Go?'}\n  - {id: a, sandbox: always, run: sh t.sh}\n";
    let scratch = project(steps, "echo evil > .envrc");
    kill(&scratch, &[Signal::KILL]);
    scratch
        .kb(&["run", "reject", "@last", "ok"])
        .says(&["KB0606", "changed protected paths: `.envrc`"]);
}
