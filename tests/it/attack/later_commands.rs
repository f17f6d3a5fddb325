//! Later commands that execute what their operands and variables name, and repositories that exist for a moment.

use crate::running::Start;
use crate::scratch::{Said, Scratch, has_kernel_sandbox};
use serde_json::json;

const SPECIALIST: &str =
    "schema: kb.specialist/1\nid: worker\nrole: You write.\ntools: [fs:write, shell:exec]\n";

/// A repository with three commits, whose specialist runs a command before or beside another step.
fn project(command: &str, step: &str) -> Scratch {
    let playbook = format!(
        "schema: kb.playbook/1\nid: p\nsteps:
  - {{id: work, agent: worker, task: Write., verify: {{claims: none}}}}
  - {{id: later, {step}}}\n"
    );
    let call = json!({"tool": "shell:exec", "args": {"command": command}});
    let turns = json!([{"calls": [call]}, {"output": {"summary": "done"}}]);
    let script = json!({"schema": "kb.script/1", "steps": {"work": turns}}).to_string();
    let scratch = Scratch::new(&[
        (".kb/playbooks/p.yml", &playbook),
        (".kb/specialists/worker.yml", SPECIALIST),
        ("script.yml", &script),
        ("ci.sh", "#!/bin/sh\ntrue\n"),
    ]);
    let commits = "git init -q; git config user.name a; git config user.email a@b; chmod +x ci.sh
        for i in 1 2 3; do echo $i > a; git add -A; git commit -qm $i; done";
    let mut shell = std::process::Command::new("bash");
    let done = shell.args(["-euc", commits]).current_dir(scratch.root()).finish();
    assert!(done.status.success(), "{done:?}");
    std::fs::create_dir_all(scratch.root().parent().unwrap().join("home")).unwrap();
    scratch
}

fn run(scratch: &Scratch) -> (Said, bool) {
    let home = scratch.root().parent().unwrap().join("home");
    let said = scratch.kb_with(&["playbook", "run", "p", "--script", "script.yml"], |kb| {
        kb.env("HOME", &home);
    });
    (said, home.join("pwned").exists())
}

/// In the sandbox, and executed where the author says so, so that the attack is known to work.
fn holds(command: &str, step: &str) {
    let later = |sandbox: &str| format!("dependsOn: work, {sandbox}{step}");
    let (said, escaped) = run(&project(command, &later("")));
    assert!(!escaped, "{step}: {said:?}");
    let (said, executed) = run(&project(command, &later("sandbox: never, ")));
    assert!(executed, "{step}: {said:?}");
}

const PLANT: &str = "printf '#!/bin/sh\\necho pwned > $HOME/pwned\\n' > ci.sh";

#[test]
fn git_that_executes_a_command_does_it_in_the_sandbox() {
    if !has_kernel_sandbox() {
        return;
    }
    for script in [
        "git bisect start HEAD HEAD~2; git bisect run sh $PWD/ci.sh",
        "git commit -qam x; git rebase -q --exec \"sh ci.sh\" HEAD~1",
        "git difftool -y -x \"sh ci.sh\" HEAD~1 -- a",
    ] {
        holds(PLANT, &format!("run: '{script} || true'"));
    }
}

/// The command of a filter that lies in the project, in a step that may write the data of the repository.
#[test]
fn a_filter_of_git_is_executed_in_the_sandbox() {
    if !has_kernel_sandbox() {
        return;
    }
    for (sandbox, is_free) in [("{write: [.git]}", false), ("never", true)] {
        let step =
            format!("dependsOn: work, sandbox: {sandbox}, run: 'echo a > a.txt; git add a.txt'");
        // The file that the setting names is protected, and reads another one.
        let scratch = project(&PLANT.replace("ci.sh", "lib.sh"), &step);
        let mut shell = std::process::Command::new("sh");
        let set = "echo '. ./lib.sh; cat' > tool.sh; git config filter.x.clean 'sh tool.sh'; echo '*.txt filter=x' > .git/info/attributes";
        assert!(shell.args(["-ec", set]).current_dir(scratch.root()).finish().status.success());
        let (said, executed) = run(&scratch);
        assert_eq!(executed, is_free, "{sandbox}: {said:?}");
    }
}

#[test]
fn a_variable_that_names_code_executes_it_in_the_sandbox() {
    if !has_kernel_sandbox() {
        return;
    }
    holds(PLANT, "run: [git, diff, HEAD~1], env: {GIT_EXTERNAL_DIFF: ./ci.sh}");
    holds(
        PLANT,
        "run: [git, status], env: {GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: core.fsmonitor, GIT_CONFIG_VALUE_0: ./ci.sh}",
    );
    let library = "printf '#include <stdlib.h>\\n__attribute__((constructor)) void f(void) { unsetenv(\"LD_PRELOAD\"); system(\"echo pwned > $HOME/pwned\"); }' > x.c; cc -shared -fPIC -o x.so x.c";
    if std::process::Command::new("cc").arg("--version").finish_if_found().is_some() {
        holds(library, "run: [ls], env: {LD_PRELOAD: ./x.so}");
    }
}

/// A repository that exists only while `git status` runs beside it is noticed by no comparison; that git runs in the
/// sandbox.
#[test]
fn a_repository_that_exists_for_a_moment_executes_nothing_outside() {
    if !has_kernel_sandbox() {
        return;
    }
    let wait =
        |file: &str| format!("for i in $(seq 400); do test -e {file} && break; sleep 0.05; done");
    let gone = "for i in $(seq 400); do test -e sub || break; sleep 0.05; done";
    let moment = format!(
        "touch begun; {}; git init -q sub; git -C sub config core.fsmonitor \"echo pwned > \\$HOME/pwned;\"; touch there; {}; rm -rf sub",
        wait("ready"),
        wait("seen")
    );
    let beside = format!("touch ready; {}; git -C sub status; touch seen; {gone}", wait("there"));
    for (sandbox, is_free) in [("", false), ("sandbox: never, ", true)] {
        let step = format!(
            "{sandbox}dependsOn: begin, run: '{beside}'}}\n  - {{id: begin, run: '{}'",
            wait("begun")
        );
        let (said, executed) = run(&project(&moment, &step));
        assert_eq!((said.code, executed), (0, is_free), "{said:?}");
    }
}
