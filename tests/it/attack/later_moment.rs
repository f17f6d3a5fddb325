//! Where a command of the author runs is decided when it starts: what a specialist writes after the start of an
//! attempt or of a gate counts.

use crate::running::Start;
use crate::scratch::{Said, Scratch, has_kernel_sandbox};
use serde_json::json;
use std::path::PathBuf;

const SPECIALIST: &str = "schema: kb.specialist/1\nid: worker\nrole: You write files that others execute.\ntools: [fs:write, shell:exec]\n";
const PLANT: &str = "echo pwned > ${HOME}/pwned";
/// Waits until the specialist beside it has written, for at most 20 seconds.
const WAIT: &str = "for i in $(seq 400); do test -e ci.sh && exit 0; sleep 0.05; done; exit 1";

/// A project whose specialist writes `ci.sh` beside the other steps.
fn project(steps: &str, more: &[(&str, String)]) -> Scratch {
    let playbook = format!("schema: kb.playbook/1\nid: p\nsteps:\n{steps}");
    let call = json!({"tool": "fs:write", "args": {"path": "ci.sh", "content": PLANT}});
    let turns = json!([{"calls": [call]}, {"output": {"summary": "done"}}]);
    let script = json!({"schema": "kb.script/1", "steps": {"work": turns, "call/work": turns}});
    let scratch = Scratch::new(&[
        (".kb/playbooks/p.yml", &playbook),
        (".kb/specialists/worker.yml", SPECIALIST),
        ("script.yml", &script.to_string()),
    ]);
    more.iter().for_each(|(path, text)| scratch.write(path, text));
    std::fs::create_dir_all(home(&scratch)).unwrap();
    scratch
}

fn home(scratch: &Scratch) -> PathBuf {
    scratch.root().parent().unwrap().join("home")
}

fn run(scratch: &Scratch, args: &[&str]) -> (Said, bool) {
    let said = scratch.kb_with(args, |kb| {
        kb.env("HOME", home(scratch));
    });
    (said, home(scratch).join("pwned").exists())
}

const RUN: [&str; 5] = ["playbook", "run", "p", "--script", "script.yml"];
/// The specialist starts once the command of the other step runs.
const WORK: &str = "  - {id: begin, run: 'for i in $(seq 400); do test -e ../home/runs && exit 0; sleep 0.05; done; exit 1'}
  - {id: work, dependsOn: begin, agent: worker, task: Write., verify: {claims: none}}\n";

#[test]
fn each_command_is_decided_about_when_it_starts() {
    if !has_kernel_sandbox() {
        return;
    }
    let wait = format!("touch ../home/runs; {WAIT}");
    for (step, fails) in [
        // The second command of a gate.
        (format!("gate: [{{command: [bash, -c, '{wait}']}}, {{command: [bash, ci.sh]}}]"), true),
        // The second command of a check.
        (
            format!(
                "run: 'true', verify: {{checks: [{{command: [bash, -c, '{wait}']}}, {{command: [bash, ci.sh]}}]}}"
            ),
            true,
        ),
        // The work after a command that ran before it.
        (
            format!(
                "run: 'bash ci.sh', verify: {{checks: [{{command: [bash, -c, 'test -e done || {{ {wait}; exit 1; }}'], mustFailBefore: true}}]}}"
            ),
            true,
        ),
        (
            format!(
                "tool: shell:exec, input: {{command: bash ci.sh}}, verify: {{checks: [{{command: [bash, -c, 'test -e done || {{ {wait}; exit 1; }}'], mustFailBefore: true}}]}}"
            ),
            true,
        ),
    ] {
        let scratch = project(&format!("{WORK}  - {{id: later, {step}}}\n"), &[]);
        let (said, escaped) = run(&scratch, &RUN);
        assert!(!escaped, "{step}: {said:?}");
        assert_eq!(said.code != 0, fails, "{step}: {said:?}");
        let trusted = format!("{WORK}  - {{id: later, sandbox: never, {step}}}\n");
        let (said, executed) = run(&project(&trusted, &[]), &RUN);
        assert!(executed, "{step}: {said:?}");
    }
}

/// A specialist of the parent that starts while the child run runs counts for its next command, and no earlier.
#[test]
fn a_child_run_asks_its_parent_for_each_command() {
    if !has_kernel_sandbox() {
        return;
    }
    let child = format!(
        "schema: kb.playbook/1\nid: child\nsteps:
  - {{id: first, run: 'touch ../home/runs; {WAIT}'}}
  - {{id: later, dependsOn: first, run: bash ci.sh}}\n"
    );
    let grandchild =
        "schema: kb.playbook/1\nid: middle\nsteps:\n  - {id: inner, playbook: child}\n";
    for called in ["child", "middle"] {
        let more = [
            (".kb/playbooks/child.yml", child.clone()),
            (".kb/playbooks/middle.yml", grandchild.into()),
        ];
        let scratch = project(&format!("{WORK}  - {{id: call, playbook: {called}}}\n"), &more);
        let (said, escaped) = run(&scratch, &RUN);
        // The first command wrote to the home folder, so it was free.
        assert!(home(&scratch).join("runs").exists(), "{called}: {said:?}");
        assert!(!escaped && said.code == 1, "{called}: {said:?}");
        // A child run that is continued alone asks as well.
        let (before, _) = said.out.split_once("` of `child`").unwrap_or_else(|| panic!("{said:?}"));
        let id = before.rsplit('`').next().unwrap().to_owned();
        let (said, escaped) = run(&scratch, &["run", "retry", &id, "--from", "later"]);
        assert!(!escaped && said.code == 1, "{called}: {said:?}");
    }
}

/// The step of the parent that executes the child run is no reason to confine its first steps.
#[test]
fn steps_of_a_child_run_before_its_specialist_are_free() {
    if !has_kernel_sandbox() {
        return;
    }
    let child = "schema: kb.playbook/1\nid: child\nsteps:
  - {id: first, run: 'touch $HOME/first'}
  - {id: work, dependsOn: first, agent: worker, task: Write., verify: {claims: none}}
  - {id: later, dependsOn: work, run: bash ci.sh}\n";
    let more = [(".kb/playbooks/child.yml", child.to_owned())];
    let scratch = project("  - {id: call, playbook: child}\n", &more);
    let (said, escaped) = run(&scratch, &RUN);
    assert!(home(&scratch).join("first").exists(), "{said:?}");
    assert!(!escaped && said.code == 1, "{said:?}");
}

/// A value that a command beside the child run executes counts like a specialist.
#[test]
fn a_command_that_reads_a_foreign_value_counts_for_a_child_run_beside_it() {
    if !has_kernel_sandbox() {
        return;
    }
    let child = format!(
        "schema: kb.playbook/1\nid: child\nsteps:
  - {{id: first, run: 'touch ../home/runs; {WAIT}'}}
  - {{id: later, dependsOn: first, run: bash ci.sh}}\n"
    );
    let thinker = "schema: kb.specialist/1\nid: thinker\nrole: You count.\ntools: [fs:read]\n";
    let steps = "  - {id: work, agent: thinker, task: Count., verify: {claims: none}, output: {schema: {type: object, properties: {n: {type: string}}}}}
  - {id: begin, run: 'for i in $(seq 400); do test -e ../home/runs && exit 0; sleep 0.05; done; exit 1'}
  - {id: beside, dependsOn: [begin, work], run: '(( V > 3 )) || true', env: {V: '{{work.output.n}}'}}
  - {id: call, dependsOn: work, playbook: child}\n";
    let more =
        [(".kb/playbooks/child.yml", child), (".kb/specialists/thinker.yml", thinker.to_owned())];
    let scratch = project(steps, &more);
    let n = format!("PATH[$(echo '{PLANT}' > ci.sh)]");
    let turns = json!([{"output": {"summary": "done", "n": n}}]);
    let script = json!({"schema": "kb.script/1", "steps": {"work": turns}});
    scratch.write("script.yml", &script.to_string());
    let (said, escaped) = run(&scratch, &RUN);
    assert!(scratch.root().join("ci.sh").exists(), "{said:?}");
    assert!(!escaped && said.code == 1, "{said:?}");
}

/// A command in the sandbox creates no protected path without being noticed, whatever starts it.
#[test]
fn a_confined_command_of_the_author_creates_no_protected_path() {
    if !has_kernel_sandbox() {
        return;
    }
    for path in ["sub/.git/hooks/pre-commit", ".envrc", "sub/.kb/playbooks/x.yml"] {
        let write = format!("mkdir -p $(dirname {path}); echo x > {path}");
        for step in [
            format!("run: '{write}'"),
            format!("tool: shell:exec, input: {{command: '{write}'}}"),
            format!("gate: [{{command: [bash, -c, '{write}']}}]"),
            format!("run: 'true', verify: {{checks: [{{command: [bash, -c, '{write}']}}]}}"),
        ] {
            let alone = |sandbox: &str| format!("  - {{id: later, sandbox: {sandbox}, {step}}}\n");
            let scratch = project(&alone("always"), &[]);
            run(&scratch, &RUN).0.says(&["KB0606", path]);
            let (said, _) = run(&project(&alone("auto"), &[]), &RUN);
            assert_eq!(said.code, 0, "{step}: {said:?}");
        }
    }
    // That of a specialist's gate.
    let steps = "  - {id: work, agent: worker, task: Write., verify: {claims: none, checks: [{command: [bash, -c, 'echo x > .envrc']}]}, onError: fail}\n";
    let scratch = project(steps, &[]);
    run(&scratch, &RUN).0.says(&["KB0606", ".envrc"]);
}

/// The changes that a person reads before an approval include those of every command that ran in the sandbox.
#[test]
fn an_approval_shows_what_confined_commands_changed() {
    if !has_kernel_sandbox() {
        return;
    }
    let write = "echo evil > made.sh";
    let work = "  - {id: work, agent: worker, task: Write., verify: {claims: none}}\n";
    let check = format!("{{checks: [{{command: [bash, -c, '{write}']}}]}}");
    let before =
        format!("{{checks: [{{command: [bash, -c, '{write}; exit 1'], mustFailBefore: true}}]}}");
    let call = "playbook: child".to_owned();
    for steps in [
        format!(
            "{work}  - {{id: test, dependsOn: work, gate: [{{command: [bash, -c, '{write}']}}]}}\n"
        ),
        format!("{work}  - {{id: test, dependsOn: work, run: '{write}'}}\n"),
        format!("{work}  - {{id: test, dependsOn: work, evidence: none, run: '{write}'}}\n"),
        format!(
            "{work}  - {{id: test, dependsOn: work, tool: shell:exec, input: {{command: '{write}'}}}}\n"
        ),
        format!("{work}  - {{id: test, dependsOn: work, run: 'true', verify: {check}}}\n"),
        format!(
            "{work}  - {{id: test, dependsOn: work, run: 'true', onError: continue, verify: {before}}}\n"
        ),
        format!("{work}  - {{id: test, dependsOn: work, {call}}}\n"),
        work.replace("{claims: none}", &check).replace("work,", "test,"),
    ] {
        let child = format!(
            "schema: kb.playbook/1\nid: child\nsteps:\n  - {{id: inner, gate: [{{command: [bash, -c, '{write}']}}]}}\n"
        );
        let steps = format!("{steps}  - {{id: ok, dependsOn: test, approve: 'Go on?'}}\n");
        let scratch = project(&steps, &[(".kb/playbooks/child.yml", child)]);
        let turns = json!([{"output": {"summary": "done"}}]);
        let script = json!({"schema": "kb.script/1", "steps": {"work": turns, "test": turns}});
        scratch.write("script.yml", &script.to_string());
        let (said, _) = run(&scratch, &RUN);
        assert_eq!(said.code, 3, "{steps}: {said:?}");
        let (shown, _) = run(&scratch, &["run", "diff", "@last"]);
        assert!(shown.out.contains("made.sh"), "{steps}: {shown:?}");
    }
}

/// What `sandbox` opens leaves out the state of `kb`, and what decides which code git runs.
#[test]
fn an_opened_path_leaves_out_the_state_of_kb_and_the_code_of_git() {
    if !has_kernel_sandbox() {
        return;
    }
    for opening in ["{write: [~/]}", "{read: [~/]}", "{write: [~/state]}", "{write: [~/state/kb]}"]
    {
        let script = "find $HOME/state -type f | grep -q . && exit 7; touch $HOME/state/kb/x 2>/dev/null && exit 8; exit 0";
        let steps = format!("  - {{id: a, sandbox: {opening}, run: '{script}'}}\n");
        let scratch = project(&steps, &[]);
        let said = scratch.kb_with(&["playbook", "run", "p"], |kb| {
            kb.env("HOME", home(&scratch)).env("XDG_STATE_HOME", home(&scratch).join("state"));
        });
        assert_eq!(said.code, 0, "{opening}: {said:?}");
        assert!(!home(&scratch).join("state/kb/x").exists(), "{opening}: {said:?}");
    }
    let repository = "git init -q DIR && mkdir -p DIR/.git/modules/m/hooks DIR/.git/worktrees/w && touch DIR/.git/modules/m/config DIR/.git/worktrees/w/commondir";
    for (git, opening) in [
        (".git", ".git"),
        ("../home/outer/.git", "~/outer/.git"),
        ("../home/outer/.git", "~/outer"),
        ("../home/outer/.git", "~/outer/.git/hooks"),
    ] {
        for path in [
            "hooks/x",
            "config",
            "info/attributes",
            "modules/m/hooks/x",
            "modules/m/config",
            "worktrees/w/commondir",
        ] {
            let steps = format!(
                "  - {{id: a, sandbox: {{write: ['{opening}']}}, run: 'echo x >> {git}/{path}'}}\n"
            );
            let scratch = project(&steps, &[]);
            let dir = scratch.root().join(git.trim_end_matches("/.git").trim_end_matches(".git"));
            std::fs::create_dir_all(&dir).unwrap();
            let prepare = repository.replace("DIR", &dir.display().to_string());
            let mut command = std::process::Command::new("bash");
            assert!(command.args(["-euc", &prepare]).finish().status.success());
            let (said, _) = run(&scratch, &["playbook", "run", "p"]);
            assert_eq!(said.code, 1, "{opening} {path}: {said:?}");
            let closed = ["Read-only", "denied", "No such file"];
            assert!(closed.iter().any(|why| said.out.contains(why)), "{opening} {path}: {said:?}");
        }
    }
}
