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
const WORK: &str = "  - {id: begin, run: 'for i in $(seq 400); do test -e runs && exit 0; sleep 0.05; done; exit 1'}
  - {id: work, dependsOn: begin, agent: worker, task: Write., verify: {claims: none}}\n";

#[test]
fn each_command_is_decided_about_when_it_starts() {
    if !has_kernel_sandbox() {
        return;
    }
    let wait = format!("touch runs; {WAIT}");
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

/// A command that executes while a specialist starts is not stopped, so it runs in the sandbox from its start.
#[test]
fn a_command_beside_which_a_specialist_can_start_is_confined_from_its_start() {
    if !has_kernel_sandbox() {
        return;
    }
    let wait =
        "for i in $(seq 400); do test -e ci.sh && break; sleep 0.05; done; bash ci.sh || true";
    let child = format!(
        "schema: kb.playbook/1\nid: child\nsteps: [{{id: later, workspace: shared, run: '{wait}'}}]\n"
    );
    for (later, is_free) in [
        (format!("run: '{wait}'"), false),
        (format!("sandbox: never, run: '{wait}'"), true),
        ("playbook: child".to_owned(), false),
    ] {
        let steps = format!(
            "  - {{id: later, workspace: shared, {later}}}\n  - {{id: work, workspace: shared, agent: worker, task: Write., verify: {{claims: none}}}}\n"
        );
        let scratch = project(&steps, &[(".kb/playbooks/child.yml", child.clone())]);
        let (said, escaped) = run(&scratch, &RUN);
        assert!(escaped == is_free && said.code == 0, "{later}: {said:?}");
    }
}

/// A specialist of the parent that starts while the child run runs counts for its commands.
#[test]
fn a_child_run_asks_its_parent_for_each_command() {
    if !has_kernel_sandbox() {
        return;
    }
    let child = format!(
        "schema: kb.playbook/1\nid: child\nsteps:
  - {{id: first, run: 'touch runs; {WAIT}'}}
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
        assert!(scratch.root().join("runs").exists(), "{called}: {said:?}");
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
  - {{id: first, run: 'touch runs; {WAIT}'}}
  - {{id: later, dependsOn: first, run: bash ci.sh}}\n"
    );
    let thinker = "schema: kb.specialist/1\nid: thinker\nrole: You count.\ntools: [fs:read]\n";
    let steps = "  - {id: work, agent: thinker, task: Count., verify: {claims: none}, output: {schema: {type: object, properties: {n: {type: string}}}}}
  - {id: begin, run: 'for i in $(seq 400); do test -e runs && exit 0; sleep 0.05; done; exit 1'}
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
        let turns = json!([{"output": {"summary": "done", "noChanges": true}}]);
        let script = json!({"schema": "kb.script/1", "steps": {"work": turns, "test": turns}});
        scratch.write("script.yml", &script.to_string());
        let (said, _) = run(&scratch, &RUN);
        assert_eq!(said.code, 3, "{steps}: {said:?}");
        let (shown, _) = run(&scratch, &["run", "diff", "@last"]);
        assert!(shown.out.contains("made.sh"), "{steps}: {shown:?}");
    }
}

/// Where no approval can follow, the changes of a later command are not recorded. One that is added afterwards names the
/// file, which is found on disk.
#[test]
fn what_was_not_recorded_is_named_before_an_approval_that_was_added_later() {
    if !has_kernel_sandbox() {
        return;
    }
    let work = "  - {id: work, agent: worker, task: Write., verify: {claims: none}}
  - {id: test, dependsOn: work, run: echo evil > made.sh}\n";
    let last = "  - {id: last, dependsOn: test, run: test -e go}\n";
    let scratch = project(&format!("{work}{last}"), &[]);
    let turns = json!([{"output": {"summary": "done", "noChanges": true}}]);
    let script = json!({"schema": "kb.script/1", "steps": {"work": turns}});
    scratch.write("script.yml", &script.to_string());
    let (said, _) = run(&scratch, &RUN);
    assert_eq!(said.code, 1, "{said:?}");
    let (recorded, _) = run(&scratch, &["run", "diff", "@last"]);
    assert!(!recorded.out.contains("+evil"), "{recorded:?}");
    let text = scratch.read(".kb/playbooks/p.yml");
    let asks = "  - {id: ok, dependsOn: test, approve: 'Go on?'}\n";
    let edited =
        text.replace(last, &format!("{asks}{}", last.replace("dependsOn: test", "dependsOn: ok")));
    scratch.write(".kb/playbooks/p.yml", &edited);
    let (said, _) = run(&scratch, &["run", "retry", "@last", "--with-current"]);
    assert_eq!(said.code, 3, "{said:?}");
    let (shown, _) = run(&scratch, &["run", "diff", "@last"]);
    let (_, others) = shown.out.split_once("changed without a record").unwrap();
    assert!(others.contains("made.sh"), "{shown:?}");
}

/// The cache keeps apart what the files of the author made and what those of others made, also for a step that is always
/// in the sandbox.
#[test]
fn a_result_that_others_could_write_is_not_restored_for_the_author() {
    if !has_kernel_sandbox() {
        return;
    }
    let build = "sandbox: always, run: 'mkdir -p dist; sh ci.sh', cache: {inputs: [src.txt], outputs: ['dist/**']}";
    let after = "  - {id: work, agent: worker, task: Write., verify: {claims: none}}\n";
    let steps = format!("{after}  - {{id: build, dependsOn: work, {build}}}\n");
    let own = format!(
        "schema: kb.playbook/1\nid: own\nsteps:\n  - {{id: build, {build}}}\n  - {{id: use, dependsOn: build, run: 'bash dist/tool'}}\n"
    );
    let scratch = project(&steps, &[(".kb/playbooks/own.yml", own), ("src.txt", "1".to_owned())]);
    let content = format!("echo '{PLANT}' > dist/tool\n");
    let call = json!({"tool": "fs:write", "args": {"path": "ci.sh", "content": content}});
    let turns = json!([{"calls": [call]}, {"output": {"summary": "done"}}]);
    let script = json!({"schema": "kb.script/1", "steps": {"work": turns}});
    scratch.write("script.yml", &script.to_string());
    let (said, _) = run(&scratch, &RUN);
    assert_eq!(said.code, 0, "{said:?}");
    scratch.write("ci.sh", "echo true > dist/tool\n");
    std::fs::remove_dir_all(scratch.root().join("dist")).unwrap();
    let (said, escaped) = run(&scratch, &["playbook", "run", "own"]);
    assert!(said.code == 0 && !escaped, "{said:?}");
}

/// The rule holds for the whole run: for a specialist with files of its own, whose changes are merged, and for a later
/// step with files of its own.
#[test]
fn files_of_their_own_change_nothing_about_later_commands() {
    if !has_kernel_sandbox() {
        return;
    }
    for (of_work, of_later) in
        [("workspace: copy, ", ""), ("", "workspace: copy, "), ("", "workspace: worktree, ")]
    {
        let steps = |sandbox: &str| {
            format!(
                "  - {{id: work, agent: worker, {of_work}task: Write., verify: {{claims: none}}}}
  - {{id: later, dependsOn: work, {of_later}{sandbox}run: 'touch $HOME/pwned'}}\n"
            )
        };
        let prepared = |sandbox: &str| {
            let scratch = project(&steps(sandbox), &[]);
            let mut git = std::process::Command::new("bash");
            let commit =
                "git init -q && git add -A && git -c user.name=a -c user.email=a@b commit -qm one";
            git.args(["-euc", commit]).current_dir(scratch.root());
            assert!(git.finish().status.success());
            scratch
        };
        let (said, escaped) = run(&prepared(""), &RUN);
        assert!(!escaped, "{of_work}{of_later}: {said:?}");
        let (said, trusted) = run(&prepared("sandbox: never, "), &RUN);
        assert!(trusted, "{of_work}{of_later}: {said:?}");
    }
}
