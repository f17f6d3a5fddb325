//! Programs that `kb` chooses itself, the shell of scripts and `git`: no file of the project is one of them, and what
//! settings of git name is not executed outside of the sandbox.

use crate::running::Start;
use crate::scratch::{Said, Scratch, until};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

/// Notes outside of the project that it was executed, and does the work of the real program.
fn plant(scratch: &Scratch, path: &str, real: &str) {
    scratch.write(path, &format!("#!/bin/sh\necho pwned > $HOME/pwned\nexec {real} \"$@\"\n"));
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(scratch.root().join(path), mode).unwrap();
}

/// A project whose folder of programs has a shell and a `git`.
fn project(steps: &str) -> Scratch {
    let playbook = format!("schema: kb.playbook/1\nid: p\n{steps}\n");
    let scratch = Scratch::new(&[(".kb/playbooks/p.yml", &playbook)]);
    plant(&scratch, ".venv/bin/bash", &real("bash"));
    plant(&scratch, ".venv/bin/git", &real("git"));
    prepare(
        &scratch,
        "git init -q; echo /.venv > .git/info/exclude; git add .; git -c user.name=a -c user.email=a@b commit -qm one",
    );
    scratch
}

fn real(name: &str) -> String {
    let mut command = std::process::Command::new("sh");
    let found = command.args(["-c", &format!("command -v {name}")]).finish();
    String::from_utf8(found.stdout).unwrap().trim().to_owned()
}

fn prepare(scratch: &Scratch, script: &str) {
    let mut command = std::process::Command::new("sh");
    let done = command.args(["-ec", script]).current_dir(scratch.root()).finish();
    assert!(done.status.success(), "{done:?}");
}

/// Runs with the folder of programs of the project first on `PATH`. Returns whether one of them ran.
fn run(scratch: &Scratch, level: &str, rest: &str) -> (Said, bool) {
    let path = format!("{}{rest}", scratch.root().join(".venv/bin").display());
    run_with(scratch, level, &path)
}

fn run_with(scratch: &Scratch, level: &str, path: &str) -> (Said, bool) {
    let home = scratch.root().parent().unwrap().join("home");
    std::fs::create_dir_all(&home).unwrap();
    let _ = std::fs::remove_file(home.join("pwned"));
    let said = scratch.kb_with(&["playbook", "run", "p"], |kb| {
        kb.env("HOME", &home).env("PATH", path).env("KB_SANDBOX_AT_MOST", level);
    });
    (said, home.join("pwned").exists())
}

#[test]
fn kb_starts_no_shell_and_no_git_of_the_project() {
    let rest = format!(":{}", std::env::var("PATH").unwrap());
    for (steps, is_own) in [
        ("steps: [{id: a, run: 'true'}]", true),
        ("steps: [{id: a, tool: shell:exec, input: {command: 'true'}}]", true),
        ("requires: {git: clean}\nsteps: [{id: a, run: [echo]}]", true),
        // What the author names is found where the author says.
        ("steps: [{id: a, run: [bash, -c, 'true']}]", false),
        ("steps: [{id: a, run: [git, status]}]", false),
    ] {
        let (said, executed) = run(&project(steps), "kernel", &rest);
        assert_eq!((said.code, executed), (0, !is_own), "{steps}: {said:?}");
    }
}

/// What `sandbox` opens for writing counts as inside of the project.
#[test]
fn kb_starts_no_shell_of_an_opened_folder() {
    let rest = format!(":{}", std::env::var("PATH").unwrap());
    for (settings, own) in
        [("sandbox: {write: ['~/tools']}\n", ""), ("", ", sandbox: {write: [~/tools]}")]
    {
        let scratch = project(&format!("steps: [{{id: a, run: 'true'{own}}}]"));
        if !settings.is_empty() {
            scratch.write(".kb/kb.config.yml", settings);
        }
        plant(&scratch, "../home/tools/bash", &real("bash"));
        let tools = scratch.root().parent().unwrap().join("home/tools");
        let (said, executed) = run_with(&scratch, "kernel", &format!("{}{rest}", tools.display()));
        assert!(said.code == 0 && !executed, "{settings}{own}: {said:?}");
    }
}

/// A test of a playbook executes in a folder of its own; the project that it belongs to is not trusted there either.
#[test]
fn a_test_starts_no_shell_and_no_git_of_the_project() {
    let scratch = project("steps: [{id: a, run: 'true', workspace: worktree}]");
    let test = "schema: kb.test/1\nplaybook: p\ntests: [{name: n, git: true, expect: {status: succeeded}}]\n";
    scratch.write(".kb/tests/p.test.yml", test);
    let home = scratch.root().parent().unwrap().join("home");
    std::fs::create_dir_all(&home).unwrap();
    let own = scratch.root().join(".venv/bin");
    let path = format!("{}:{}", own.display(), std::env::var("PATH").unwrap());
    let said = scratch.kb_with(&["playbook", "test"], |kb| {
        kb.env("HOME", &home).env("PATH", path);
    });
    assert!(!home.join("pwned").exists(), "{said:?}");
    said.code(0).says(&["1 passed"]);
}

/// A step in a worktree makes `kb` ask git for its settings.
#[test]
fn kb_starts_no_git_of_an_opened_folder() {
    let rest = format!(":{}", std::env::var("PATH").unwrap());
    for (settings, own) in
        [("sandbox: {write: ['~/tools']}\n", ""), ("", ", sandbox: {write: [~/tools]}")]
    {
        let scratch = project(&format!(
            "steps: [{{id: a, run: 'true'{own}}}, {{id: b, workspace: worktree, run: [echo]}}]"
        ));
        if !settings.is_empty() {
            scratch.write(".kb/kb.config.yml", settings);
        }
        plant(&scratch, "../home/tools/git", &real("git"));
        let tools = scratch.root().parent().unwrap().join("home/tools");
        let (said, executed) = run_with(&scratch, "kernel", &format!("{}{rest}", tools.display()));
        assert!(said.code == 0 && !executed, "{settings}{own}: {said:?}");
    }
}

/// The daemon knows what each project that it serves opens, also by a step, when it starts the browser.
#[test]
fn kb_starts_no_browser_of_an_opened_folder() {
    for (settings, own) in
        [("sandbox: {write: ['~/tools']}\n", ""), ("", ", sandbox: {write: [~/tools]}")]
    {
        let scratch = project(&format!("steps: [{{id: a, run: 'true'{own}}}]"));
        scratch.write(".kb/kb.config.yml", settings);
        scratch.write("../other/.kb/playbooks/q.yml", "schema: kb.playbook/1\nid: q\nsteps: []\n");
        let base = scratch.root().parent().unwrap().to_owned();
        let note = |name: &str| {
            let program = format!("../home/{name}/xdg-open");
            scratch.write(&program, &format!("#!/bin/sh\necho {name} >> $HOME/started\n"));
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(scratch.root().join(program), mode).unwrap();
            base.join("home").join(name).display().to_string()
        };
        let path = format!("{}:{}:/usr/bin:/bin", note("tools"), note("programs"));
        let mut daemon = scratch.command();
        daemon.args(["serve", "--open", "--port", "0", "--project", "../other", "--project", "."]);
        daemon.env("HOME", base.join("home")).env("PATH", path).env("BROWSER", "x");
        let mut daemon = daemon.env("DISPLAY", ":0").stderr(Stdio::null()).start();
        let started = || std::fs::read_to_string(base.join("home/started")).unwrap_or_default();
        until("a browser was started", || !started().is_empty());
        daemon.kill().unwrap();
        daemon.wait().unwrap();
        assert_eq!(started(), "programs\n", "{settings}{own}");
    }
}

/// The caches of package managers, where `poetry run`, `uvx` and `npx` keep programs, are writable in the sandbox.
#[test]
fn kb_starts_no_shell_and_no_git_of_a_package_cache() {
    let rest = format!(":{}", std::env::var("PATH").unwrap());
    for steps in
        ["steps: [{id: a, run: 'true'}]", "requires: {git: clean}\nsteps: [{id: a, run: [echo]}]"]
    {
        let scratch = project(steps);
        for name in ["bash", "git"] {
            plant(&scratch, &format!("../home/.cache/uv/x/bin/{name}"), &real(name));
        }
        let bin = scratch.root().parent().unwrap().join("home/.cache/uv/x/bin");
        let (said, executed) = run_with(&scratch, "kernel", &format!("{}{rest}", bin.display()));
        assert!(said.code == 0 && !executed, "{steps}: {said:?}");
    }
}

/// A folder of `PATH` that a command replaces by a link to its own temporary folder is one that it can write, too.
#[test]
fn kb_starts_no_git_behind_a_link_of_a_command() {
    let make = "mkdir -p $TMPDIR/e; mv .venv/bin/git $TMPDIR/e; rm -r .venv/bin; ln -s $TMPDIR/e .venv/bin; echo x > new";
    let steps = serde_json::json!([
        {"id": "a", "sandbox": "always", "run": make},
        {"id": "b", "dependsOn": ["a"], "tool": "git:commit", "input": {"message": "x", "paths": ["new"]}},
    ]);
    let scratch = project(&format!("steps: {steps}"));
    let (said, executed) = run(&scratch, "kernel", &format!(":{}", std::env::var("PATH").unwrap()));
    assert!(!executed && said.err.contains("git:commit"), "{said:?}");
}

/// Without another one, the message names the file and the way out.
#[test]
fn a_path_with_only_the_shell_of_the_project_is_an_error() {
    for (steps, name) in [
        ("steps: [{id: a, run: 'true'}]", "bash"),
        ("requires: {git: clean}\nsteps: [{id: a, run: [echo]}]", "git"),
    ] {
        let scratch = project(steps);
        let (said, executed) = run(&scratch, "kernel", "");
        assert!(said.code != 0 && !executed, "{said:?}");
        let file = scratch.root().join(".venv/bin").join(name).display().to_string();
        said.says(&[&format!("the only `{name}` in PATH is a file of the project, or of a folder that `sandbox` opens"), &file]);
    }
}

/// `requires: {git: clean}` starts filters only in the sandbox, and no hooks, monitors or pagers.
#[test]
fn the_requirement_of_a_clean_work_tree_executes_nothing_of_the_project() {
    let steps = "requires: {git: clean}\nsteps: [{id: a, run: [echo]}]";
    let planted = "sh -c \"echo pwned > $HOME/pwned; cat\"";
    let settings = format!(
        "git config filter.x.clean '{planted}'; git config filter.x.smudge '{planted}'
        git config core.fsmonitor 'echo pwned > $HOME/pwned;'; git config core.pager '{planted}'
        git config diff.external '{planted}'; git config core.editor '{planted}'; git config alias.status '!{planted}'
        printf '#!/bin/sh\\n{planted}\\n' > .git/hooks/post-index-change; chmod +x .git/hooks/post-index-change
        echo '*.txt filter=x' > .gitattributes; echo same > a.txt
        git -c core.fsmonitor=false -c filter.x.clean=cat add .; git -c core.fsmonitor=false -c filter.x.clean=cat -c user.name=a -c user.email=a@b commit -qm two
        sleep 0.01; touch a.txt"
    );
    let rest = format!(":{}", std::env::var("PATH").unwrap());
    for level in ["kernel", "process"] {
        let scratch = project(steps);
        prepare(&scratch, &settings);
        let (said, executed) = run(&scratch, level, &rest);
        assert!(said.code == 0 && !executed, "{level}: {said:?}");
    }
    // As the author's own git executes them.
    let scratch = project("steps: [{id: a, run: [git, status]}]");
    prepare(&scratch, &settings);
    std::fs::remove_file(scratch.root().join(".venv/bin/git")).unwrap();
    let (said, executed) = run(&scratch, "kernel", &rest);
    assert!(executed, "{said:?}");
}

/// A repository that lacks an object and names a program that would bring it.
#[test]
fn git_of_kb_fetches_no_missing_objects() {
    let commit = "steps: [{id: a, tool: 'git:commit', input: {paths: [new.txt], message: x}}]";
    let scratch = project(commit);
    prepare(
        &scratch,
        "echo 1 > new.txt; git config core.repositoryFormatVersion 1; git config extensions.partialClone o; \
         git config remote.o.promisor true; git config remote.o.url 'ext::sh -c echo% pwned% >$HOME/pwned'; \
         git config protocol.ext.allow always; tree=$(git rev-parse 'HEAD^{tree}'); \
         rm -f .git/objects/$(echo $tree | cut -c1-2)/$(echo $tree | cut -c3-)",
    );
    let (said, executed) = run_with(&scratch, "kernel", &std::env::var("PATH").unwrap());
    assert!(!executed && said.code == 1, "{said:?}");
}

/// Variables that the settings pass to steps do not reach it: one of them can name a folder of code in the project.
#[test]
fn kbs_own_git_gets_no_variable_of_the_settings() {
    let scratch = project(
        "steps: [{id: a, tool: 'git:commit', input: {message: x, paths: [new]}}, {id: b, run: 'test \"$GIT_EXEC_PATH\" = /missing'}]",
    );
    scratch.write("new", "x\n");
    scratch.write(".kb/kb.config.yml", "env: {pass: [GIT_EXEC_PATH, GIT_TRACE]}\n");
    let trace = scratch.root().join("trace");
    let said = scratch.kb_with(&["playbook", "run", "p"], |kb| {
        kb.env("GIT_EXEC_PATH", "/missing").env("GIT_TRACE", &trace);
    });
    assert!(said.code == 0 && !trace.exists(), "{said:?}");
}
