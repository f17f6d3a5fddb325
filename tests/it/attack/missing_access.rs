//! A command that fails in the sandbox says what it lacked, and the line that opens it.

use crate::running::Start;
use crate::scratch::{Said, Scratch, has_kernel_sandbox};
use serde_json::json;

const SPECIALIST: &str = "schema: kb.specialist/1
id: worker
role: You write files.
tools: [fs:write, shell:exec]
";

const RUN: [&str; 5] = ["playbook", "run", "p", "--script", "script.yml"];

/// A repository with a specialist that could write, and a step after it.
fn project(step: &str) -> Scratch {
    let playbook = format!(
        "schema: kb.playbook/1\nid: p\nsteps:
  - {{id: work, agent: worker, task: Write., verify: {{claims: none}}}}
  - {{id: later, dependsOn: work, {step}}}\n"
    );
    let script =
        json!({"schema": "kb.script/1", "steps": {"work": [{"output": {"summary": "x"}}]}});
    let scratch = Scratch::new(&[
        (".kb/playbooks/p.yml", &playbook),
        (".kb/specialists/worker.yml", SPECIALIST),
        ("script.yml", &script.to_string()),
        ("Makefile", "all:\n\techo made > $(HOME)/made.txt\n"),
    ]);
    let prepare = "git init -q . && git config user.name a && git config user.email a@b && git add . && git commit -qm one";
    let mut command = std::process::Command::new("bash");
    let done = command.args(["-euc", prepare]).current_dir(scratch.root()).finish();
    assert!(done.status.success(), "{done:?}");
    scratch
}

/// Runs with a home directory of its own, in which `notes.txt` is.
fn run(scratch: &Scratch, args: &[&str]) -> Said {
    let home = scratch.root().parent().unwrap().join("home");
    std::fs::create_dir_all(home.join("data")).unwrap();
    std::fs::write(home.join("notes.txt"), "notes").unwrap();
    std::fs::write(home.join(".gitconfig"), "").unwrap();
    scratch.kb_with(args, |kb| {
        kb.env("HOME", &home);
    })
}

fn has(program: &str) -> bool {
    std::process::Command::new(program).arg("--version").finish_if_found().is_some()
}

#[test]
fn a_failed_command_names_what_it_lacked_and_the_line_that_opens_it() {
    if !has_kernel_sandbox() {
        return;
    }
    let network = "network: open";
    let mut cases = vec![
        ("run: 'cat ~/notes.txt'", vec!["hides `~/notes.txt`", "read: [~/notes.txt]"]),
        ("run: [cat, ../home/notes.txt]", vec!["hides `~/notes.txt`", "read: [~/notes.txt]"]),
        ("run: 'echo x > ~/data/new.txt'", vec!["hides `~/data`", "write: [~/data]"]),
        ("run: 'echo x > ~/new.txt'", vec!["cannot create `~/new.txt`"]),
        ("run: 'echo x > ~/data/sub/new.txt'", vec!["hides `~/data`", "{write: [~/data]}"]),
        ("run: 'touch ~/data/new.txt'", vec!["hides `~/data`", "{write: [~/data]}"]),
        ("run: 'echo x >> ~/notes.txt'", vec!["hides `~/notes.txt`", "{write: [~/notes.txt]}"]),
        ("run: 'cat ~/data/absent.txt'", vec!["hides `~/data`", "{read: [~/data]}"]),
        ("run: 'cat ~/data/sub/absent.txt'", vec!["hides `~/data`", "{read: [~/data]}"]),
        (
            "run: 'cp ~/notes.txt ~/data/copy.txt'",
            vec!["read: [~/data, ~/notes.txt]", "`write` in place of `read` if it creates"],
        ),
        (
            "run: 'git commit -qm x --allow-empty'",
            vec!["only read `.git`", "`tool: git:commit`", "`sandbox: {write: [.git]}`"],
        ),
        ("run: 'git tag v1'", vec!["`sandbox: {write: [.git]}`"]),
        (
            "run: git fetch https://example.org/a.git",
            vec!["only read `.git`", "`sandbox: {network: open, write: [.git]}`"],
        ),
        ("run: 'mkdir ~/.rustup'", vec!["cannot create `~/.rustup`"]),
        ("run: git config --global a.b c", vec!["cannot change `~/.gitconfig`"]),
        ("run: 'echo x > /tmp/kb-out.txt'", vec!["belong in `$TMPDIR`"]),
        (
            "sandbox: {read: [~/none]}, run: 'cat ~/none/x'",
            vec!["opens `~/none`, which did not exist", "in the step or in the settings says so"],
        ),
        ("run: make", vec!["cannot create `~/made.txt`", "`sandbox: {write: [~/made.txt]}`"]),
        ("run: 'touch .kb/playbooks/q.yml'", vec!["cannot change `.kb/playbooks/q.yml`"]),
        (
            "run: 'git push -q https://example.org/a.git HEAD'",
            vec![network, "`example.org`", "has no network"],
        ),
        (
            "run: 'exec 3<>/dev/tcp/127.0.0.1/9'",
            vec![network, "servers that run outside of the sandbox"],
        ),
        (
            "tool: shell:exec, input: {command: 'cat ~/notes.txt'}",
            vec!["hides `~/notes.txt`", "read: [~/notes.txt]"],
        ),
        ("gate: [{command: [cat, ../home/notes.txt]}]", vec!["hides `~/notes.txt`"]),
        (
            "run: 'echo dial unix /run/podman/podman.sock; exit 1'",
            vec!["servers that run outside of the sandbox", "`sandbox: never`"],
        ),
    ];
    for (program, step, host) in [
        ("curl", "run: 'curl -s https://example.org/'", "`example.org`"),
        ("npm", "run: 'npm install --no-audit --fetch-retries 0 left-pad'", "registry"),
        ("pip3", "run: 'pip3 install --retries 0 --break-system-packages colorama2'", ""),
    ] {
        if has(program) {
            cases.push((step, vec![network, host, "has no network"]));
        }
    }
    for (step, said) in cases {
        let scratch = project(step);
        let failed = run(&scratch, &RUN);
        assert_ne!(failed.code, 0, "{step}: {failed:?}");
        failed.says(&said);
        // The same words in the other displays.
        let shown = run(&scratch, &["run", "show", "@last"]);
        let json = run(&scratch, &["run", "show", "@last", "--json"]);
        for one in &said {
            assert!(shown.out.contains(one), "{step}: {one}: {shown:?}");
            let escaped = one.replace('"', "\\\"");
            assert!(json.out.contains(&escaped), "{step}: {one}: {json:?}");
        }
    }
}

/// A failure that has nothing to do with the sandbox names no path and no host.
#[test]
fn a_failure_for_other_reasons_names_nothing() {
    if !has_kernel_sandbox() {
        return;
    }
    for step in [
        "run: 'echo see https://example.org/docs; exit 3'",
        "run: 'cat missing.txt'",
        "run: 'ls /usr/bin/missing'",
        "run: 'cat ~/missing.txt'",
        "run: 'echo wrong > /dev/stderr; exit 3'",
        "run: 'echo ${HOME}; exit 1'",
        "run: 'echo see unix:///var/run/docker.sock, https://example.org/ and home + /notes.txt; exit 1'",
    ] {
        let said = run(&project(step), &RUN);
        assert_ne!(said.code, 0, "{step}: {said:?}");
        let text = format!("{}{}", said.out, said.err);
        for word in ["hides `", "only read `", "cannot create", "has no network", "in the step"] {
            assert!(!text.contains(word), "{step}: {word}: {said:?}");
        }
    }
}

/// What a step of a child run lacked stands in the failure of the step that started it.
#[test]
fn a_failed_child_run_names_what_it_lacked_and_the_line_that_opens_it() {
    if !has_kernel_sandbox() {
        return;
    }
    let scratch = project("playbook: c");
    let child =
        "schema: kb.playbook/1\nid: c\nsteps: [{id: read, run: cat ~/notes.txt}]\n".to_owned();
    scratch.write(".kb/playbooks/c.yml", &child);
    let failed = run(&scratch, &RUN);
    assert_eq!(failed.code, 1, "{failed:?}");
    failed.says(&[
        "step `read`: the sandbox hides `~/notes.txt`",
        "`sandbox: {read: [~/notes.txt]}`",
    ]);
}

/// `validate` and `graph` name the steps of child runs that will be confined, and what these will lack.
#[test]
fn validate_names_the_confined_steps_of_child_runs() {
    let scratch = project("playbook: c, with: {text: '{{work.output.summary}}'}");
    let child = "schema: kb.playbook/1
id: c
params: [{name: text, default: x}]
steps:
  - {id: push, run: git push}
  - {id: ok, dependsOn: push, approve: Go on?}
  - {id: released, dependsOn: ok, run: git push}
  - {id: below, dependsOn: push, playbook: d}
  - {id: reads, dependsOn: [released, below], run: [echo, '{{text}}']}
";
    scratch.write(".kb/playbooks/c.yml", child);
    let below = "schema: kb.playbook/1
id: d
steps:
  - {id: tag, run: git tag v1}
  - {id: trusted, sandbox: never, run: git push}
";
    scratch.write(".kb/playbooks/d.yml", below);
    let found = run(&scratch, &["playbook", "validate", "p"]).code(0);
    for said in [
        "`later/push` needs what the sandbox lacks: `git push` (once work has started)",
        "`sandbox: {network: open}`",
        ".kb/playbooks/c.yml:5",
        "`later/below/tag` needs what the sandbox lacks: `git tag` (once work has started)",
        ".kb/playbooks/d.yml:4",
    ] {
        assert!(found.err.contains(said), "{said}: {found:?}");
    }
    let graph = run(&scratch, &["playbook", "graph", "p"]).code(0).out;
    for text in [&found.out, &graph] {
        let lines: Vec<&str> = text.lines().filter(|line| line.contains("later/")).collect();
        let steps: Vec<&str> =
            lines.iter().filter_map(|line| line.split_whitespace().next()).collect();
        assert_eq!(steps, ["later/push", "later/below/tag", "later/reads"], "{text}");
        assert!(lines[2].contains("it reads the foreign value of text"), "{text}");
    }
    // What the child alone says.
    let alone = run(&scratch, &["playbook", "validate", "c"]).code(0);
    assert!(!alone.err.contains("KB0421"), "{alone:?}");
}

/// What the settings open for all steps has the form of a step, and is opened.
#[test]
fn the_settings_open_for_all_steps_what_a_step_can_open() {
    for settings in ["{read: [~/notes.txt]}", "never"] {
        let scratch = project("run: cat ~/notes.txt");
        scratch.write(".kb/kb.config.yml", &format!("sandbox: {{steps: {settings}}}\n"));
        let found = run(&scratch, &["playbook", "validate", "p"]).code(0);
        assert!(!found.err.contains("KB0421"), "{settings}: {found:?}");
        assert_eq!(found.out.contains("always"), settings != "never", "{settings}: {found:?}");
        if has_kernel_sandbox() {
            run(&scratch, &RUN).code(0);
        }
    }
}

/// `validate` names the steps that will need what the sandbox lacks, with the line to write.
#[test]
fn validate_names_what_a_confined_step_will_lack() {
    for (step, said) in [
        ("run: 'git add . && git commit -m x'", "`tool: git:commit`"),
        ("run: git tag v1", "`sandbox: {write: [.git]}`"),
        ("run: [git, push]", "`sandbox: {network: open}`"),
        ("run: git fetch", "`git fetch` ("),
        ("run: git pull -q", "`sandbox: {write: [.git], network: open}`"),
        ("gate: [{command: [npm, ci]}]", "`sandbox: {network: open}`"),
        ("run: docker build .", "`sandbox: never`"),
        ("run: sudo make", "`sandbox: never`"),
        ("run: git -C sub commit -m x", "`tool: git:commit`"),
        ("run: npx vite", "`sandbox: {network: open}`"),
        ("tool: shell:exec, input: {command: git push}", "`sandbox: {network: open}`"),
        ("tool: shell:exec, input: {argv: [git, tag, v1]}", "`sandbox: {write: [.git]}`"),
        ("run: cat ~/notes.txt", "`sandbox: {read: [~/notes.txt]}`"),
        ("run: ls ../home/data", "`sandbox: {read: [~/data]}`"),
        ("sandbox: {read: [~/notes.txt]}, run: cat ~/notes.txt", ""),
        ("sandbox: {read: [~/missing]}, run: 'true'", "opens `~/missing`, which does not exist"),
        ("run: git status", ""),
        ("sandbox: never, run: git push", ""),
        ("sandbox: {network: open}, run: git push", ""),
    ] {
        if (step.contains("home") || step.contains('~')) && !has_kernel_sandbox() {
            continue;
        }
        let found = run(&project(step), &["playbook", "validate", "p"]).code(0);
        let is_named = found.err.contains("KB0421") && found.err.contains(said);
        assert_eq!(is_named, !said.is_empty(), "{step}: {found:?}");
    }
}
