//! Commands of the author after a specialist that could write: all of them run in the sandbox, whatever they are, or
//! wait for a person.

use crate::running::Start;
use crate::scratch::{Said, Scratch, has_kernel_sandbox, until};
use serde_json::json;

const SPECIALIST: &str = "schema: kb.specialist/1
id: worker
role: You write files that others execute.
tools: [fs:write, shell:exec]
";

/// The text that a planted file writes outside of the project.
const PLANT: &str = "echo pwned > ${HOME}/pwned";

/// A file that the specialist writes, and the step of the author that executes it.
fn attacks() -> Vec<(&'static str, String, &'static str)> {
    let target = format!("all:\n\t{PLANT}\n");
    let python =
        "import os, sys; sys.exit(os.system('echo pwned > ${HOME}/pwned') != 0)\n".to_owned();
    let mut all = vec![
        ("ci.sh", PLANT.to_owned(), "run: bash ci.sh"),
        ("ci.sh", PLANT.to_owned(), "run: [bash, ci.sh]"),
        ("ci.sh", PLANT.to_owned(), "run: '. ./ci.sh'"),
        ("ci.sh", PLANT.to_owned(), "run: 'if true; then sh ./ci.sh; fi'"),
        ("ci.sh", PLANT.to_owned(), "run: 'bash -c \"$C\"', env: {C: sh ci.sh}"),
        ("ci.sh", PLANT.to_owned(), "tool: shell:exec, input: {command: bash ci.sh}"),
        ("ci.sh", PLANT.to_owned(), "tool: shell:exec, input: {argv: [bash, ci.sh]}"),
        ("ci.sh", PLANT.to_owned(), "gate: [{command: [bash, ci.sh]}]"),
        ("ci.sh", PLANT.to_owned(), "run: 'true', verify: {checks: [{command: [bash, ci.sh]}]}"),
        ("Makefile", target.clone(), "run: make"),
        ("Makefile", target, "run: 'timeout 60 make all'"),
        ("conftest.py", python.clone(), "run: python3 conftest.py"),
        ("helper.py", python, "run: [python3, -c, import helper]"),
        ("x.sh", PLANT.to_owned(), "run: 'chmod +x x.sh; find . -name x.sh -exec {} +'"),
        ("ls", PLANT.to_owned(), "run: 'chmod +x ls; PATH=.:$PATH; ls'"),
        ("ls", PLANT.to_owned(), "run: 'chmod +x ls; tar -I ./ls -cf /dev/null .'"),
        ("ls", PLANT.to_owned(), "run: 'chmod +x ls; PATH+=:.; rm -f x; hash -p ./ls cat; cat x'"),
        ("mylint", PLANT.to_owned(), "run: 'chmod +x mylint; out=$(./mylint)'"),
        // What executes nothing of the project too: no command is read.
        ("ci.sh", PLANT.to_owned(), "run: 'touch $HOME/pwned'"),
        ("ci.sh", PLANT.to_owned(), "run: [bash, -c, 'touch $HOME/pwned']"),
        ("ci.sh", PLANT.to_owned(), "run: 'git init -q .; touch $HOME/pwned'"),
    ];
    if std::process::Command::new("npm").arg("--version").finish_if_found().is_some() {
        let scripts = json!({"name": "x", "scripts": {"test": PLANT}}).to_string();
        all.push(("package.json", scripts, "run: npm test"));
    }
    all
}

fn project(path: &str, text: &str, step: &str, more: &str) -> Scratch {
    let playbook = format!(
        "schema: kb.playbook/1\nid: p\nsteps:
  - {{id: work, agent: worker, task: Write., verify: {{claims: none}}}}
{more}  - {{id: later, dependsOn: {}, {step}}}\n",
        if more.is_empty() { "work" } else { "ok" }
    );
    let call = json!({"tool": "fs:write", "args": {"path": path, "content": text}});
    let turns = json!([{"calls": [call]}, {"output": {"summary": "done"}}]);
    let script = json!({"schema": "kb.script/1", "steps": {"work": turns}}).to_string();
    Scratch::new(&[
        (".kb/playbooks/p.yml", &playbook),
        (".kb/specialists/worker.yml", SPECIALIST),
        ("script.yml", &script),
    ])
}

const RUN: [&str; 5] = ["playbook", "run", "p", "--script", "script.yml"];

/// Runs with a home directory of its own. Returns the output, and whether the planted code wrote there.
fn run(scratch: &Scratch, args: &[&str], level: &str) -> (crate::scratch::Said, bool) {
    let home = scratch.root().parent().unwrap().join("home");
    std::fs::create_dir_all(&home).unwrap();
    let said = scratch.kb_with(args, |kb| {
        kb.env("HOME", &home).env("KB_SANDBOX_AT_MOST", level);
    });
    (said, home.join("pwned").exists())
}

#[test]
fn code_of_a_specialist_is_executed_in_the_sandbox() {
    if !has_kernel_sandbox() {
        return;
    }
    for (path, text, step) in attacks() {
        let scratch = project(path, &text, step, "");
        let (said, escaped) = run(&scratch, &RUN, "kernel");
        assert!(!escaped, "{step}: {said:?}");
        // The code did run, and failed to write.
        assert_ne!(said.code, 0, "{step}: {said:?}");
        let step = format!("sandbox: never, {step}");
        let (said, trusted) = run(&project(path, &text, &step, ""), &RUN, "kernel");
        assert!(trusted, "{step}: {said:?}");
    }
}

/// A project in a repository of git, whose specialist runs a command; a later step commits.
fn repository(prepare: &str, command: &str, step: &str) -> Scratch {
    let playbook = format!(
        "schema: kb.playbook/1\nid: p\nsteps:
  - {{id: work, agent: worker, task: Write., onError: continue, verify: {{claims: none}}}}
  - {{id: later, dependsOn: work, {step}}}\n"
    );
    let call = json!({"tool": "shell:exec", "args": {"command": command}});
    let turns = json!([{"calls": [call]}, {"output": {"summary": "done"}}]);
    let script = json!({"schema": "kb.script/1", "steps": {"work": turns}}).to_string();
    let scratch = Scratch::new(&[
        (".kb/playbooks/p.yml", &playbook),
        (".kb/specialists/worker.yml", SPECIALIST),
        ("script.yml", &script),
    ]);
    let prepare =
        format!("git init -q . && git config user.name a && git config user.email a@b\n{prepare}");
    let mut command = std::process::Command::new("bash");
    let done = command.args(["-euc", &prepare]).current_dir(scratch.root()).finish();
    assert!(done.status.success(), "{done:?}");
    scratch
}

/// Hooks of the author that execute files of the project, hooks that a command planted although its attempt
/// failed, and repositories without a work tree.
#[test]
fn what_git_executes_of_a_specialist_is_executed_in_the_sandbox() {
    if !has_kernel_sandbox() {
        return;
    }
    let hook = "printf '#!/bin/sh\\nsh ./tool.sh\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit";
    let tool = "echo 'echo pwned > $HOME/pwned' > tool.sh";
    let commit = "run: git commit -qm x --allow-empty";
    let planted = "mkdir hooks; printf '#!/bin/sh\\necho pwned > $HOME/pwned\\n' > hooks/pre-commit; chmod +x hooks/pre-commit";
    let bare = "mkdir -p s/objects s/refs; echo ref: refs/heads/m > s/HEAD; printf '[core]\\nbare=false\\nworktree=.\\nfsmonitor=echo pwned > $HOME/pwned;\\n' > s/config";
    for (prepare, command, step) in [
        (hook, tool, commit),
        (hook, tool, "tool: shell:exec, input: {command: git commit -qm x --allow-empty}"),
        ("git config core.hooksPath hooks", planted, commit),
        ("", bare, "run: git -C s status"),
        ("", bare, "run: cd s && git status"),
    ] {
        let scratch = repository(prepare, command, step);
        let (said, escaped) = run(&scratch, &RUN, "kernel");
        assert!(!escaped, "{command}; {step}: {said:?}");
        // As the author trusts it, so that the attack is known to work. After a change of protected paths, nothing starts
        // outside of the sandbox.
        if step == commit {
            let step = format!("{step}, sandbox: never");
            let (said, executed) = run(&repository(prepare, command, &step), &RUN, "kernel");
            assert_eq!(executed, command != planted, "{command}; {step}: {said:?}");
        }
    }
}

#[test]
fn the_failure_of_a_confined_step_names_the_reason_and_the_ways_out() {
    if !has_kernel_sandbox() {
        return;
    }
    let scratch = project("ci.sh", PLANT, "run: bash ci.sh", "");
    let (said, _) = run(&scratch, &RUN, "kernel");
    said.says(&["step `work` changed `ci.sh`", "`approve` step", "sandbox: never"]);
}

/// Without the sandbox, the run stops for a person.
#[test]
fn without_a_sandbox_such_a_step_needs_an_approval() {
    for step in ["run: bash ci.sh", "tool: shell:exec, input: {command: bash ci.sh}"] {
        let scratch = project("ci.sh", PLANT, step, "");
        let (said, escaped) = run(&scratch, &RUN, "process");
        assert!(!escaped && said.code == 1, "{said:?}");
        said.says(&["KB0604", "step `work` changed `ci.sh`", "kb run diff"]);
        let retry = ["run", "retry", "@last", "--from", "later", "--yes"];
        let (said, executed) = run(&scratch, &retry, "process");
        assert!(executed, "{said:?}");
    }
}

/// The command of a gate is not started then, and the gate proves nothing.
#[test]
fn without_a_sandbox_the_command_of_a_gate_proves_nothing() {
    for step in [
        "gate: [{command: [bash, ci.sh]}]",
        "tool: fs:exists, input: {path: ci.sh}, verify: {checks: [{command: [bash, ci.sh]}]}",
    ] {
        let scratch = project("ci.sh", PLANT, step, "");
        let (said, escaped) = run(&scratch, &RUN, "process");
        assert!(!escaped, "{said:?}");
        said.says(&["1 unproven", "step `work` changed `ci.sh`", "`--yes` approves it"]);
        scratch.kb(&["run", "verify", "@last"]).code(0);
        let (said, escaped) = run(&scratch, &[&RUN[..], &["--strict"]].concat(), "process");
        assert!(!escaped && said.code != 0, "{said:?}");
        let (said, executed) = run(&scratch, &[&RUN[..], &["--yes"]].concat(), "process");
        assert!(executed && said.code == 0, "{said:?}");
    }
}

/// What ran before, and what follows the decision of a person who was shown the changes, is free. The end of a timeout
/// decides nothing.
#[test]
fn only_a_person_who_was_shown_the_changes_releases_the_later_commands() {
    if !has_kernel_sandbox() {
        return;
    }
    let step = "run: bash ci.sh";
    let approve = "  - {id: ok, dependsOn: work, approve: 'Execute it?'}\n";
    let scratch = project("ci.sh", PLANT, step, approve);
    assert_eq!(run(&scratch, &RUN, "kernel").0.code, 3);
    let (said, escaped) = run(&scratch, &["run", "approve", "@last", "ok"], "kernel");
    assert!(!escaped && said.code == 1 && said.err.contains("kb run diff @last"), "{said:?}");
    // An event before the question, that of what was shown, and one that does not exist.
    for (at, is_current) in [(0, false), (1, true), (2, false)] {
        let scratch = project("ci.sh", PLANT, step, approve);
        assert_eq!(run(&scratch, &RUN, "kernel").0.code, 3);
        let shown = scratch.kb(&["run", "diff", "@last"]).code(0);
        assert!(shown.out.contains("ci.sh"), "{shown:?}");
        let (_, seen) = shown.err.split_once("--seen ").unwrap();
        let (event, files) = seen.split('`').next().unwrap().split_once('-').unwrap();
        let seen = format!("{}-{files}", ["2", event, "999999"][at]);
        let approve = ["run", "approve", "@last", "ok", "--seen", &seen];
        let (said, executed) = run(&scratch, &approve, "kernel");
        assert_eq!((executed, said.code == 0), (is_current, is_current), "{said:?}");
    }
    let timed = "  - {id: ok, dependsOn: work, approve: {message: 'Execute it?', timeout: 1s, onTimeout: approve}}\n";
    let (said, escaped) = run(&project("ci.sh", PLANT, step, timed), &RUN, "kernel");
    assert!(!escaped && said.code == 1, "{said:?}");
    let scratch = project("ci.sh", "true", step, "");
    scratch.write(
        ".kb/playbooks/p.yml",
        "schema: kb.playbook/1\nid: p\nsteps:
  - {id: first, run: 'touch $HOME/pwned'}
  - {id: work, dependsOn: first, agent: worker, task: Write., verify: {claims: none}}\n",
    );
    let (said, free) = run(&scratch, &RUN, "kernel");
    assert!(free && said.code == 0, "{said:?}");
}

/// The change is found in the journal when another process continues the run, and a step that a retry
/// keeps counts as one that changed files.
#[test]
fn a_resumed_or_retried_run_knows_the_change() {
    if !has_kernel_sandbox() {
        return;
    }
    let wait = "  - {id: ok, dependsOn: work, ask: {question: Which?, options: [a, b]}}\n";
    let scratch = project("ci.sh", PLANT, "run: bash ci.sh", wait);
    assert_eq!(run(&scratch, &RUN, "kernel").0.code, 3);
    let (said, escaped) = run(&scratch, &["run", "answer", "@last", "ok", "a"], "kernel");
    assert!(!escaped && said.code == 1, "{said:?}");
    let retry = ["run", "retry", "@last", "--from", "later"];
    let (said, escaped) = run(&scratch, &retry, "kernel");
    assert!(!escaped && said.code == 1, "{said:?}");
}

/// What a specialist could write counts, not what it was seen to write: documents whose text is executed, ignored files
/// and folders, compiled files, programs in a folder of `PATH`, a mode alone, and a specialist that changed nothing.
#[test]
fn a_specialist_that_may_write_counts_from_its_start() {
    if !has_kernel_sandbox() {
        return;
    }
    let author = "printf 'echo pwned > $HOME/pwned' > old.sh; printf '#!/bin/sh\\necho pwned > $HOME/pwned\\n' > mode.sh; printf '%s\\n' dist node_modules .venv target .env __pycache__ >> .git/info/exclude; touch mod.py";
    let compiled = "echo 'import os; os.system(\"echo pwned > $HOME/pwned\")' > evil.py; mkdir -p __pycache__
        python3 -c 'import py_compile as p, importlib.util as u; p.compile(\"evil.py\", u.cache_from_source(\"mod.py\"), invalidation_mode=p.PycInvalidationMode.UNCHECKED_HASH)'";
    let tool = |path: &str| {
        format!(
            "mkdir -p $(dirname {path}); printf '#!/bin/sh\\necho pwned > $HOME/pwned\\n' > {path}; chmod +x {path}"
        )
    };
    let cases = [
        ("echo 'echo pwned > $HOME/pwned' > notes.md".to_owned(), "run: sh notes.md"),
        (
            "printf '>>> import os\\n>>> os.system(\"echo pwned > $HOME/pwned\")\\n0\\n' > README.md".to_owned(),
            "run: python3 -m doctest README.md",
        ),
        (
            "mkdir requirements; echo 'echo pwned > $HOME/pwned' > requirements/dev.txt".to_owned(),
            "run: sh requirements/dev.txt",
        ),
        (compiled.to_owned(), "run: [python3, -c, 'import sys; sys.path.insert(0, \"\"); import mod; sys.exit(1)']"),
        ("echo 'echo pwned > $HOME/pwned' > .env".to_owned(), "run: . ./.env"),
        (tool("dist/x.sh"), "run: sh dist/x.sh"),
        (tool("node_modules/.bin/lint"), "run: node_modules/.bin/lint"),
        (tool(".venv/bin/lint"), "run: .venv/bin/lint"),
        (tool("target/debug/x"), "run: [target/debug/x]"),
        (tool("bin/ls"), "run: ls, env: {PATH: 'bin:/usr/bin:/bin'}"),
        ("chmod +x mode.sh".to_owned(), "run: ./mode.sh"),
        ("true".to_owned(), "run: sh old.sh"),
    ];
    for (command, step) in &cases {
        let scratch = repository(author, command, step);
        let (said, escaped) = run(&scratch, &RUN, "kernel");
        assert!(!escaped, "{command}; {step}: {said:?}");
        assert_ne!(said.code, 0, "{command}; {step}: {said:?}");
        let step = format!("{step}, sandbox: never");
        let (said, executed) = run(&repository(author, command, &step), &RUN, "kernel");
        assert!(executed, "{command}; {step}: {said:?}");
    }
}

/// The changes of a child run count for its parent.
#[test]
fn the_specialist_of_a_child_run_counts() {
    if !has_kernel_sandbox() {
        return;
    }
    let scratch = project("ci.sh", PLANT, "run: 'true'", "");
    scratch.write(
        ".kb/playbooks/parent.yml",
        "schema: kb.playbook/1\nid: parent\nsteps:\n  - {id: child, playbook: p}\n  - {id: after, dependsOn: child, run: bash ci.sh}\n",
    );
    let (said, escaped) =
        run(&scratch, &["playbook", "run", "parent", "--script", "script.yml"], "kernel");
    assert!(!escaped && said.code == 1, "{said:?}");
    said.says(&["step `child` changed `ci.sh`"]);
}

/// Files of a parent count in its child runs, also if the specialist starts while the child run runs, and in runs
/// that keep results.
#[test]
fn the_specialist_of_a_parent_counts_in_its_child_runs() {
    if !has_kernel_sandbox() {
        return;
    }
    let child = "schema: kb.playbook/1\nid: child\nsteps:\n  - {id: later, run: bash ci.sh}\n";
    let slow = "schema: kb.playbook/1\nid: child\nsteps:\n  - {id: wait, run: 'until test -e ci.sh; do sleep 0.05; done'}\n  - {id: later, dependsOn: wait, run: bash ci.sh}\n";
    for (child, after) in [(child, "dependsOn: work, "), (slow, "")] {
        let scratch = project("ci.sh", PLANT, "run: 'true'", "");
        scratch.write(".kb/playbooks/child.yml", child);
        scratch.write(
            ".kb/playbooks/p.yml",
            &format!(
                "schema: kb.playbook/1\nid: p\nsteps:
  - {{id: work, agent: worker, task: Write., verify: {{claims: none}}}}
  - {{id: later, {after}playbook: child}}\n"
            ),
        );
        let (said, escaped) = run(&scratch, &RUN, "kernel");
        assert!(!escaped && said.code == 1, "{after}: {said:?}");
        let (said, escaped) = run(&scratch, &["run", "retry", "@last"], "kernel");
        assert!(!escaped && said.code == 1, "{after}: {said:?}");
    }
}

/// A new run that keeps nothing of the specialist's step knows that it could write.
#[test]
fn a_run_that_continues_another_knows_its_specialists() {
    if !has_kernel_sandbox() {
        return;
    }
    let scratch = project("ci.sh", PLANT, "run: bash ci.sh", "");
    assert_eq!(run(&scratch, &RUN, "kernel").0.code, 1);
    scratch.write(
        ".kb/playbooks/p.yml",
        "schema: kb.playbook/1\nid: p\nsteps:\n  - {id: later, run: bash ci.sh}\n",
    );
    let (said, escaped) = run(&scratch, &["run", "retry", "@last", "--with-current"], "kernel");
    assert!(!escaped && said.code == 1, "{said:?}");
}

/// `git:commit` commits what it is given, and executes nothing of the repository, of its settings or of a folder
/// of the project that is on `PATH`.
#[test]
fn a_step_commits_without_executing_anything_of_the_project() {
    let prepare = "printf '#!/bin/sh\\necho pwned > $HOME/pwned\\n' > .git/hooks/pre-commit
        chmod +x .git/hooks/pre-commit; cp .git/hooks/pre-commit .git/hooks/post-commit
        git config filter.x.clean 'sh -c \"echo pwned > $HOME/pwned; cat\"'; echo '*.txt filter=x' > .gitattributes
        git config core.fsmonitor 'echo pwned > $HOME/pwned;'
        mkdir bin; cp .git/hooks/pre-commit bin/git; echo old > gone.txt; echo old > other.txt
        git -c core.fsmonitor=false add gone.txt other.txt .gitattributes; git -c core.fsmonitor=false commit -nqm one; rm gone.txt; echo new > other.txt";
    let step = "tool: 'git:commit', input: {paths: [a.txt, gone.txt], message: \"two\\n# kept\"}";
    for level in ["kernel", "process"] {
        let scratch = repository(prepare, "echo new > a.txt", step);
        let home = scratch.root().parent().unwrap().join("home");
        let _ = std::fs::remove_file(home.join("pwned"));
        std::fs::create_dir_all(&home).unwrap();
        let path =
            format!("{}:{}", scratch.root().join("bin").display(), std::env::var("PATH").unwrap());
        let args = [&RUN[..], &["--yes"]].concat();
        let said = scratch.kb_with(&args, |kb| {
            kb.env("HOME", &home).env("PATH", &path).env("KB_SANDBOX_AT_MOST", level);
        });
        assert!(said.code == 0 && !home.join("pwned").exists(), "{said:?}");
        let show = "git -c core.fsmonitor=false -c core.pager=cat log -1 --format=%B --name-status; git -c core.fsmonitor=false status --short other.txt";
        let mut command = std::process::Command::new("bash");
        let shown = command.args(["-ec", show]).current_dir(scratch.root()).finish();
        let text = String::from_utf8_lossy(&shown.stdout).into_owned();
        assert!(text.starts_with("two\n# kept\n"), "{text}");
        for line in ["A\ta.txt", "D\tgone.txt", " M other.txt"] {
            assert!(text.contains(line), "{line}: {text}");
        }
    }
}

/// A required filter, such as one that encrypts, is neither executed nor left out: the tool stores nothing and names it, and
/// git of a step executes it in the sandbox.
#[test]
fn a_step_commits_no_file_without_its_required_filter() {
    let prepare = "git config filter.x.clean 'sh -c \"echo pwned > $HOME/pwned; tr a-z A-Z\"'
        git config filter.x.required true; echo '*.key filter=x' > .gitattributes";
    let tool = |file: &str| format!("tool: 'git:commit', input: {{paths: [{file}], message: two}}");
    let confined = "sandbox: {write: [.git]}, run: 'git add a.key; git commit -qm two; git cat-file -p HEAD:a.key | grep NEW'";
    for (file, step, code) in [
        ("a.key", tool("a.key"), 1),
        ("a.txt", tool("a.txt"), 0),
        ("a.key", confined.to_owned(), 0),
    ] {
        let scratch = repository(prepare, &format!("echo new > {file}"), &step);
        let (said, escaped) = run(&scratch, &[&RUN[..], &["--yes"]].concat(), "kernel");
        assert!(!escaped && said.code == code, "{file}: {said:?}");
        if code == 1 {
            assert!(!format!("{said:?}").contains("no output from"), "{said:?}");
            said.says(&[
                "clean filter 'x' failed",
                "executes no filter",
                "`sandbox: {write: [.git]}`",
            ]);
        }
    }
}

/// A filter whose name is not UTF-8 cannot be switched off by its name: git is not started.
#[test]
fn a_filter_whose_name_is_not_utf_8_is_not_executed() {
    let prepare = "printf '[filter \"\\377\"]\\n\\tclean = sh -c \\\"echo pwned > $HOME/pwned; cat\\\"\\n' >> .git/config
        printf '*.txt filter=\\377\\n' > .gitattributes; git add .gitattributes; git commit -qm one";
    let step = "tool: 'git:commit', input: {paths: [a.txt], message: two}";
    let scratch = repository(prepare, "echo new > a.txt", step);
    let (said, escaped) = run(&scratch, &[&RUN[..], &["--yes"]].concat(), "kernel");
    assert!(!escaped && said.code == 1, "{said:?}");
    said.says(&["is not UTF-8"]);
    // Git of the author executes it, so that the attack is known to work.
    let home = scratch.root().parent().unwrap().join("home");
    let mut command = std::process::Command::new("git");
    command.args(["add", "a.txt"]).current_dir(scratch.root()).env("HOME", &home).finish();
    assert!(home.join("pwned").exists());
}

/// A map opens what it names and nothing else, after a specialist and without one.
#[test]
fn a_step_opens_what_its_sandbox_needs_and_stays_confined() {
    if !has_kernel_sandbox() {
        return;
    }
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let connect = format!("exec 3<>/dev/tcp/127.0.0.1/{port}");
    for (opening, script, works) in [
        ("{write: [~/open]}", "echo x > $HOME/open/x", true),
        ("{write: [~/open]}", "cat $HOME/open/seen", true),
        ("{write: ~/open}", "touch $HOME/pwned", false),
        ("{read: [~/open]}", "cat $HOME/open/seen", true),
        ("{read: [~/open]}", "echo x > $HOME/open/x", false),
        ("{network: open}", connect.as_str(), true),
        ("{network: open}", "touch $HOME/pwned", false),
        ("{}", connect.as_str(), false),
        ("{}", "cat $HOME/open/seen", false),
    ] {
        for step in [
            format!("sandbox: {opening}, run: '{script}'"),
            format!("sandbox: {opening}, tool: shell:exec, input: {{command: '{script}'}}"),
            format!("sandbox: {opening}, gate: [{{command: [bash, -c, '{script}']}}]"),
        ] {
            let scratch = project("ci.sh", PLANT, &step, "");
            let open = scratch.root().parent().unwrap().join("home/open");
            std::fs::create_dir_all(&open).unwrap();
            std::fs::write(open.join("seen"), "").unwrap();
            let (said, escaped) = run(&scratch, &RUN, "kernel");
            assert_eq!(said.code == 0, works, "{step}: {said:?}");
            assert!(!escaped, "{step}: {said:?}");
            let alone = format!("schema: kb.playbook/1\nid: p\nsteps: [{{id: a, {step}}}]\n");
            scratch.write(".kb/playbooks/p.yml", &alone);
            let (said, escaped) = run(&scratch, &["playbook", "run", "p"], "kernel");
            assert_eq!((said.code == 0, escaped), (works, false), "{step}: {said:?}");
        }
    }
}

/// The settings say what holds for steps without `sandbox`.
#[test]
fn the_settings_have_a_default_for_all_steps() {
    if !has_kernel_sandbox() {
        return;
    }
    for (default, own, after, free) in [
        ("always", "", "", false),
        ("always", "sandbox: never, ", "", true),
        ("never", "", "work", true),
        ("auto", "", "", true),
        ("auto", "", "work", false),
    ] {
        let step = format!("{own}run: 'touch $HOME/pwned'");
        let scratch = project("ci.sh", PLANT, &step, "");
        scratch.write(".kb/kb.config.yml", &format!("sandbox: {{steps: {default}}}\n"));
        if after.is_empty() {
            let alone = format!("schema: kb.playbook/1\nid: p\nsteps: [{{id: a, {step}}}]\n");
            scratch.write(".kb/playbooks/p.yml", &alone);
        }
        let (said, wrote) = run(&scratch, &RUN, "kernel");
        assert_eq!(wrote, free, "{default} {own} {after}: {said:?}");
    }
}

/// What a step opens in the project is not what a link of a specialist leads to.
#[test]
fn an_opened_path_follows_no_link_of_a_specialist_out_of_the_project() {
    if !has_kernel_sandbox() {
        return;
    }
    let plant = "ln -s \"$HOME\" out; mkdir -p below; ln -s \"$HOME\" below/link";
    for opened in ["write: [out]", "read: [out], write: [below/link]", "write: [below/../out]"] {
        let step = format!("sandbox: {{{opened}}}, run: 'echo x > $HOME/pwned'");
        let scratch = repository("true", plant, &step);
        let (said, escaped) = run(&scratch, &RUN, "kernel");
        assert!(!escaped && said.code == 1, "{opened}: {said:?}");
    }
}

/// A command in the sandbox may execute what a specialist wrote: what changes while it executes was not shown.
#[test]
fn a_confined_command_that_executes_beside_an_approval_keeps_the_later_ones_confined() {
    if !has_kernel_sandbox() {
        return;
    }
    let beside = "  - {id: beside, dependsOn: work, run: 'until test -e go; do sleep 0.05; done'}
  - {id: ok, dependsOn: work, approve: 'Execute it?'}\n";
    let scratch = project("ci.sh", PLANT, "run: bash ci.sh", beside);
    let mut kb = scratch.command();
    kb.args(RUN).env("HOME", scratch.root().parent().unwrap().join("home"));
    let child = kb.start();
    until("it waits", || {
        scratch.kb(&["run", "show", "@last", "--json"]).out.contains("Execute it?")
    });
    let shown = scratch.kb(&["run", "diff", "@last"]).code(0);
    let (_, seen) = shown.err.split_once("--seen ").unwrap();
    let seen = seen.split('`').next().unwrap().to_owned();
    scratch.kb(&["run", "approve", "@last", "ok", "--seen", &seen]).code(0);
    std::thread::sleep(std::time::Duration::from_millis(500));
    scratch.write("go", "");
    let ended = child.finish();
    assert!(!scratch.root().parent().unwrap().join("home/pwned").exists(), "{ended:?}");
}

/// A difference from which something is missing shows nobody all: an approval of it releases nothing.
#[test]
fn an_approval_of_changes_that_were_not_recorded_releases_nothing() {
    if !has_kernel_sandbox() {
        return;
    }
    let approve = "  - {id: ok, dependsOn: work, approve: 'Execute it?'}\n";
    let playbook = format!(
        "schema: kb.playbook/1\nid: p\nsteps:\n  - {{id: work, agent: worker, evidence: none, task: Write., verify: {{claims: none}}}}\n{approve}  - {{id: later, dependsOn: ok, run: bash ci.sh}}\n"
    );
    let plant = format!("echo '{PLANT}' > ci.sh");
    let scratch = repository("true", &plant, "run: 'true'");
    scratch.write(".kb/playbooks/p.yml", &playbook);
    assert_eq!(run(&scratch, &RUN, "kernel").0.code, 3);
    let shown = scratch.kb(&["run", "diff", "@last"]).code(0);
    assert!(shown.err.contains("an approval releases nothing"), "{shown:?}");
    assert!(!shown.err.contains("--seen"), "{shown:?}");
    let last = ["run", "approve", "@last", "ok", "--seen", "999"];
    let (said, escaped) = run(&scratch, &last, "kernel");
    assert!(!escaped && said.code != 0, "{said:?}");
    assert!(said.err.contains("not all changes of specialists were recorded"), "{said:?}");
    let (said, escaped) = run(&scratch, &["run", "approve", "@last", "ok"], "kernel");
    assert!(!escaped && said.code == 1, "{said:?}");
}

/// Another run, or program, changes a file after it was shown: also one that the run itself changed before.
#[test]
fn an_approval_of_what_was_shown_releases_no_later_change() {
    if !has_kernel_sandbox() {
        return;
    }
    let approve = "  - {id: ok, dependsOn: work, approve: 'Execute it?'}\n";
    for file in ["ci.sh", "other.sh"] {
        let scratch = project(file, "true", "run: bash ci.sh", approve);
        assert_eq!(run(&scratch, &RUN, "kernel").0.code, 3);
        let named = |shown: &Said| {
            let (_, seen) = shown.err.split_once("--seen ").unwrap();
            seen.split('`').next().unwrap().to_owned()
        };
        let seen = named(&scratch.kb(&["run", "diff", "@last"]).code(0));
        scratch.write("ci.sh", PLANT);
        for more in [&[][..], &["--no-run"]] {
            let approve = [&["run", "approve", "@last", "ok", "--seen", &seen], more].concat();
            let (said, escaped) = run(&scratch, &approve, "kernel");
            assert!(!escaped && said.err.contains("changed after"), "{file}: {said:?}");
        }
        // It is shown, whoever changed it last.
        let shown = scratch.kb(&["run", "diff", "@last"]).code(0);
        assert!(shown.out.contains("changed without a record"), "{file}: {shown:?}");
        let approve = ["run", "approve", "@last", "ok", "--seen", &named(&shown)];
        assert!(run(&scratch, &approve, "kernel").1, "{file}");
    }
}

/// An approval in a child run decides about what its parent changed, too.
#[test]
fn the_difference_of_a_child_run_has_the_changes_of_its_parent() {
    if !has_kernel_sandbox() {
        return;
    }
    let scratch = project("ci.sh", PLANT, "playbook: child", "");
    scratch.write(
        ".kb/playbooks/child.yml",
        "schema: kb.playbook/1\nid: child\nsteps:\n  - {id: ok, approve: 'Execute it?'}\n  - {id: later, dependsOn: ok, run: bash ci.sh}\n",
    );
    assert_eq!(run(&scratch, &RUN, "kernel").0.code, 3);
    let view = scratch.json(&["run", "show", "@last", "--json"]);
    let steps = view["steps"].as_array().unwrap();
    let child = steps.iter().find_map(|step| step["childRun"].as_str()).unwrap().to_owned();
    let shown = scratch.kb(&["run", "diff", &child]).code(0);
    assert!(shown.out.contains("ci.sh") && shown.out.contains("pwned"), "{shown:?}");
    assert!(shown.err.contains("--seen"), "{shown:?}");
}
