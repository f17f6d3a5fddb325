//! Approvals of runs whose sandbox opened what no difference shows: data of the repository, and files outside of the
//! project.

use crate::running::Start;
use crate::scratch::{Said, Scratch, has_kernel_sandbox};
use serde_json::json;
use std::path::PathBuf;

const SPECIALIST: &str =
    "schema: kb.specialist/1\nid: worker\nrole: You write.\ntools: [fs:write, shell:exec]\n";
const RUN: [&str; 5] = ["playbook", "run", "p", "--script", "script.yml"];
const WORK: &str = "  - {id: work, agent: worker, task: Write., verify: {claims: none}}\n";

fn home(scratch: &Scratch) -> PathBuf {
    scratch.root().parent().unwrap().join("home")
}

/// A repository with a tool outside, steps, and a command of the specialist.
fn project(settings: &str, steps: &str, command: &str) -> Scratch {
    let playbook = format!("schema: kb.playbook/1\nid: p\nsteps:\n{steps}");
    let turns = json!([
        {"calls": [{"tool": "shell:exec", "args": {"command": command}}]},
        {"output": {"summary": "done"}}
    ]);
    let script = json!({"schema": "kb.script/1", "steps": {"work": turns}});
    let scratch = Scratch::new(&[
        (".kb/playbooks/p.yml", &playbook),
        (".kb/specialists/worker.yml", SPECIALIST),
        ("script.yml", &script.to_string()),
        ("ci.sh", "true\n"),
        ("build/x", "1\n"),
        ("../home/tools/t", "true\n"),
    ]);
    if !settings.is_empty() {
        scratch.write(".kb/kb.config.yml", settings);
    }
    let mut git = std::process::Command::new("bash");
    let commit = "git init -q && git add -A && git -c user.name=a -c user.email=a@b commit -qm one";
    assert!(git.args(["-euc", commit]).current_dir(scratch.root()).finish().status.success());
    scratch
}

fn run(scratch: &Scratch, args: &[&str]) -> (Said, bool) {
    let said = scratch.kb_with(args, |kb| {
        kb.env("HOME", home(scratch));
    });
    (said, home(scratch).join("pwned").exists())
}

/// Approves after having read the difference, if it names an approval. Returns what it said.
fn approve(scratch: &Scratch) -> (Said, bool) {
    assert_eq!(run(scratch, &RUN).0.code, 3);
    let (shown, _) = run(scratch, &["run", "diff", "@last"]);
    let seen = shown.err.split_once("--seen ").map(|(_, seen)| seen.split('`').next().unwrap());
    // A number that no difference named is refused.
    let (said, _) = run(scratch, &["run", "approve", "@last", "ok", "--seen", seen.unwrap_or("9")]);
    assert_eq!(said.err.contains("`sandbox.write` opened"), seen.is_none(), "{said:?}");
    if seen.is_none() {
        run(scratch, &["run", "approve", "@last", "ok"]);
    }
    let escaped = home(scratch).join("pwned").exists();
    (shown, escaped)
}

#[test]
fn an_approval_releases_nothing_that_it_could_not_show() {
    if !has_kernel_sandbox() {
        return;
    }
    let plant = "echo 'echo pwned > $HOME/pwned'";
    let commit = format!(
        "cp ci.sh o; {plant} > ci.sh; git add ci.sh; git -c user.name=a -c user.email=a@b commit -qm fix; mv o ci.sh"
    );
    let tool = format!("{plant} > $HOME/tools/t");
    let (checkout, execute) = ("git checkout -q HEAD -- ci.sh; bash ci.sh", "sh $HOME/tools/t");
    let settings = |path: &str| format!("sandbox: {{write: ['{path}']}}\n");
    let of_step = |path: &str, command: &str| {
        format!(
            "{WORK}  - {{id: c, dependsOn: work, sandbox: {{write: ['{path}']}}, run: \"{command}\"}}\n"
        )
    };
    let ok = |after: &str, command: &str| {
        format!(
            "  - {{id: ok, dependsOn: {after}, approve: 'Go?'}}\n  - {{id: later, dependsOn: ok, run: '{command}'}}\n"
        )
    };
    for (settings, steps, command, later) in [
        (settings(".git"), WORK.to_owned(), &*commit, checkout),
        (settings("~/tools"), WORK.to_owned(), &tool, execute),
        (String::new(), of_step("./.git", &commit), "true", checkout),
        (String::new(), of_step("~/tools", &tool), "true", execute),
    ] {
        let after = if settings.is_empty() { "c" } else { "work" };
        let scratch = project(&settings, &(steps + &ok(after, later)), command);
        let (shown, escaped) = approve(&scratch);
        assert!(!escaped && shown.err.contains("`sandbox.write` opened"), "{settings}: {shown:?}");
    }
    // A folder of the project is shown, and so is what the author did before.
    let write = format!("{plant} > ci.sh");
    let before = format!(
        "  - {{id: first, sandbox: {{write: ['~/tools']}}, run: 'true'}}\n{}",
        WORK.replace("agent", "dependsOn: first, agent")
    );
    for (settings, steps) in [(settings("build"), WORK.to_owned()), (String::new(), before)] {
        let scratch = project(&settings, &(steps + &ok("work", "bash ci.sh")), &write);
        let (shown, executed) = approve(&scratch);
        assert!(executed && shown.out.contains("ci.sh"), "{settings}: {shown:?}");
    }
}

/// Git shows such a change, and so does the difference before an approval.
#[test]
fn a_changed_file_that_git_tracks_and_ignores_is_shown() {
    let steps = format!("{WORK}  - {{id: ok, dependsOn: work, approve: 'Go?'}}\n");
    let scratch = project("", &steps, "echo evil > build/x; echo new > build/y");
    scratch.write(".gitignore", "build/\n");
    assert_eq!(run(&scratch, &RUN).0.code, 3);
    let (shown, _) = run(&scratch, &["run", "diff", "@last"]);
    assert!(shown.out.contains("build/x") && shown.out.contains("+evil"), "{shown:?}");
    let (recorded, others) = shown.out.split_once("changed without a record").unwrap();
    assert!(!recorded.contains("build/y") && others.contains("build/y"), "{shown:?}");
}

/// Ignore rules, equal names in another form and names that are no text hide no file that an approval releases.
#[test]
fn files_without_a_record_are_named_before_an_approval() {
    let steps = format!("{WORK}  - {{id: ok, dependsOn: work, approve: 'Go?'}}\n");
    let command = "printf evil > $(printf 'pru\\314\\210f.sh'); printf evil > $(printf 'z\\377.sh'); \
        mkdir -p lib; printf evil > lib/i.sh; printf evil > g.py";
    let scratch = project("", &steps, command);
    scratch.write("prüf.sh", "true\n");
    scratch.write(".gitignore", "lib/\n*.{sh,py}\n");
    std::thread::sleep(std::time::Duration::from_millis(2_100));
    assert_eq!(run(&scratch, &RUN).0.code, 3);
    let (shown, _) = run(&scratch, &["run", "diff", "@last"]);
    for name in ["pru\u{308}f.sh", "z\u{fffd}.sh", "lib/i.sh", "g.py"] {
        assert!(shown.out.contains(name), "{name}: {shown:?}");
    }
    assert!(shown.out.contains("changed without a record"), "{shown:?}");
    assert!(shown.err.contains("--seen "), "{shown:?}");
    let json = scratch.kb(&["run", "diff", "@last", "--json"]).code(0);
    assert!(json.out.contains("lib/i.sh") && json.out.contains("changed without a record"));
    // What a person changed before the run is none of its changes.
    assert!(!shown.out.contains("pr\u{fc}f.sh") && !shown.out.contains("ci.sh"), "{shown:?}");
}

/// What is not listed was not shown.
#[test]
fn an_approval_releases_nothing_beside_more_files_than_are_listed() {
    let steps = format!("{WORK}  - {{id: ok, dependsOn: work, approve: 'Go?'}}\n");
    for (files, is_shown) in [(150, true), (260, false)] {
        let command = format!("mkdir lib; for i in $(seq {files}); do echo $i > lib/$i; done");
        let scratch = project("", &steps, &command);
        scratch.write(".gitignore", "lib/\n");
        assert_eq!(run(&scratch, &RUN).0.code, 3);
        let (shown, _) = run(&scratch, &["run", "diff", "@last"]);
        assert_eq!(shown.err.contains("--seen "), is_shown, "{files}: {shown:?}");
        assert_eq!(shown.err.contains("more than 200 files"), !is_shown, "{files}: {shown:?}");
    }
}

/// A specialist that chooses the value of a secret chooses which words of a difference are masked.
#[test]
fn an_approval_releases_nothing_if_a_new_line_is_masked() {
    if !has_kernel_sandbox() {
        return;
    }
    let line = "echo pwned > $HOME/pwned";
    for (value, escapes) in [(line, false), ("another-value-4711", true)] {
        let steps = format!(
            "{WORK}  - {{id: reads, dependsOn: work, run: 'true', env: {{S: '{{{{secrets.S}}}}'}}}}
  - {{id: again, dependsOn: reads, agent: worker, task: Write., verify: {{claims: none}}}}
  - {{id: ok, dependsOn: again, approve: 'Go?'}}
  - {{id: later, dependsOn: ok, run: bash ci.sh}}\n"
        );
        let settings = "secrets: {S: {command: [cat, value.txt]}}\n";
        let scratch = project(settings, &steps, &format!("echo '{value}' > value.txt"));
        let call = |command: &str| json!({"calls": [{"tool": "shell:exec", "args": {"command": command}}]});
        let done = json!({"output": {"summary": "done"}});
        let first = call(&format!("echo '{value}' > value.txt"));
        let second = call(&format!("echo '{line}' > ci.sh"));
        let steps = json!({"work": [first, done], "again": [second, done]});
        scratch.write("value.txt", "unused-value-0815\n");
        let script = json!({"schema": "kb.script/1", "steps": steps});
        scratch.write("script.yml", &script.to_string());
        assert_eq!(run(&scratch, &RUN).0.code, 3, "{value}");
        let (shown, _) = run(&scratch, &["run", "diff", "@last"]);
        let seen = shown.err.split_once("--seen ").map(|(_, seen)| seen.split('`').next().unwrap());
        run(&scratch, &["run", "approve", "@last", "ok", "--seen", seen.unwrap_or("9")]);
        run(&scratch, &["run", "approve", "@last", "ok"]);
        assert_eq!(home(&scratch).join("pwned").exists(), escapes, "{value}: {shown:?}");
        assert_eq!(seen.is_some(), escapes, "{value}: {shown:?}");
    }
}
