//! Going on after an edit, with child runs: what a child run of the new run keeps of the one before.

use crate::running::Start;
use crate::scratch::Scratch;
use serde_json::{Value, json};

const SPECIALIST: &str =
    "schema: kb.specialist/1\nid: thinker\nrole: You think.\ntools: [\"fs:read\"]\n";
const SCRIPT: &str = "schema: kb.script/1\nsteps:\n  think:\n    - output: {summary: thought}\n";
const PARENT: &str = "\
schema: kb.playbook/1
id: parent
params: [{name: word, default: hello}]
steps:
  - {id: before, run: echo before >> log}
  - id: call
    dependsOn: [before]
    playbook: middle
    with: {word: \"{{word}}\"}
  - {id: after, run: \"echo after >> log; test \\\"$SAID\\\" = thought\", env: {SAID: \"{{call.output.said}}\"}}
";
const MIDDLE: &str = "\
schema: kb.playbook/1
id: middle
params: [{name: word, required: true}]
steps:
  - {id: inner, playbook: child, with: {word: \"{{word}}\"}}
outputs: {said: \"{{inner.output.said}}\"}
";
const CHILD: &str = "\
schema: kb.playbook/1
id: child
params: [{name: word, required: true}]
steps:
  - {id: think, specialist: thinker, task: think}
  - {id: say, run: [sh, -c, \"echo say $1 >> log\", say, \"{{word}}\"]}
  - {id: check, dependsOn: [think, say], run: echo check >> log; exit 3}
outputs: {said: \"{{think.output.summary}}\"}
";

fn project(parent: &str) -> Scratch {
    let scratch = Scratch::new(&[
        ("playbooks/parent.yml", parent),
        ("playbooks/middle.yml", MIDDLE),
        ("playbooks/child.yml", CHILD),
        (".kb/specialists/thinker/specialist.yml", SPECIALIST),
        ("script.yml", SCRIPT),
    ]);
    scratch.kb(&["playbook", "run", "parent", "--script", "script.yml"]).code(1);
    scratch
}

fn edit(scratch: &Scratch, path: &str, from: &str, to: &str) {
    let text = scratch.read(path);
    assert!(text.contains(from), "{from}");
    scratch.write(path, &text.replace(from, to));
}

/// The newest run of a definition, as `kb run show --json` prints it.
fn newest(scratch: &Scratch, definition: &str) -> Value {
    let runs = scratch.json(&["run", "list", "--json", "-n", "100"]);
    let found = runs.as_array().unwrap().iter().find(|run| run["definition"] == definition);
    let run = found.unwrap_or_else(|| panic!("no run of {definition}: {runs}"));
    scratch.json(&["run", "show", run["run"].as_str().unwrap(), "--json"])
}

fn retry(scratch: &Scratch, more: &[&str]) -> crate::scratch::Said {
    let run = newest(scratch, "parent")["run"].as_str().unwrap().to_owned();
    scratch.kb(&[&["run", "retry", &run, "--with-current"], more].concat())
}

/// The lines that the steps of the last command wrote.
fn ran(scratch: &Scratch) -> Vec<String> {
    let mut lines: Vec<String> = scratch.read("log").lines().map(str::to_owned).collect();
    scratch.write("log", "");
    lines.sort();
    lines
}

#[test]
fn a_child_run_keeps_what_nothing_changed_for_also_two_levels_down() {
    let scratch = project(PARENT);
    let before = newest(&scratch, "child");
    assert_eq!(ran(&scratch), ["before", "check", "say hello"]);
    edit(&scratch, "playbooks/child.yml", "exit 3", "true");
    let said = retry(&scratch, &[]).code(0);
    said.says(&[
        "-  - {id: check, dependsOn: [think, say], run: echo check >> log; exit 3}",
        "kept  before\n",
        "runs  call   failed in the earlier run; its child run keeps what nothing changed for",
        "runs  after  blocked in the earlier run",
    ]);
    assert_eq!(ran(&scratch), ["after", "check"]);
    let parent = newest(&scratch, "parent");
    assert_eq!(parent["usage"]["modelCalls"], 0, "a model call was made again: {parent}");
    let child = newest(&scratch, "child");
    let base = json!({
        "run": before["run"], "kept": ["think", "say"], "again": {"check": "failed in the earlier run"}
    });
    assert_eq!(child["base"], base);
    assert_eq!(child["steps"][0]["keptFrom"], before["run"]);
    let id = child["run"].as_str().unwrap();
    scratch.kb(&["run", "verify", id]).code(0).says(&["kept      2"]);
    scratch.kb(&["run", "show", id]).code(0).says(&["continues run", "kept from run"]);
    // After success, a change of the child's definition costs only what depends on it.
    edit(&scratch, "playbooks/child.yml", "log; true", "log; true; true");
    retry(&scratch, &[])
        .code(0)
        .says(&["the playbook `middle` or a definition that it uses changed"]);
    assert_eq!(ran(&scratch), ["after", "check"]);
    // A parameter counts for the steps of the child that read it.
    retry(&scratch, &["--param", "word=bye"]).code(0);
    assert_eq!(ran(&scratch), ["after", "check", "say bye"]);
    assert_eq!(newest(&scratch, "parent")["usage"]["modelCalls"], 0);
    // A step that is named runs in full, and so does one after a step that runs again.
    retry(&scratch, &["--from", "call"]).code(0);
    assert_eq!(ran(&scratch), ["after", "check", "say bye"]);
    edit(&scratch, "playbooks/parent.yml", "echo before", "echo Before");
    retry(&scratch, &[]).code(0);
    assert_eq!(ran(&scratch), ["Before", "after", "check", "say bye"]);
}

#[test]
fn items_continue_their_own_child_runs_and_files_of_their_own_are_not_relied_on() {
    let parent = PARENT
        .replace(
            "playbook: middle",
            "forEach: {in: [a, b], as: word, key: \"{{word}}\"}\n    playbook: middle",
        )
        .replace("\"$SAID\\\" = thought\\\"", "1\"")
        .replace("params: [{name: word, default: hello}]\n", "")
        .replace("  - {id: after,", "  #");
    let scratch = project(&parent);
    assert_eq!(ran(&scratch), ["before", "check", "check", "say a", "say b"]);
    edit(&scratch, "playbooks/child.yml", "exit 3", "true");
    retry(&scratch, &[]).code(0);
    assert_eq!(ran(&scratch), ["check", "check"]);
    // The files of a worktree or copy are gone with the step that failed.
    edit(
        &scratch,
        "playbooks/parent.yml",
        "playbook: middle",
        "workspace: copy\n    merge: none\n    playbook: middle",
    );
    edit(&scratch, "playbooks/child.yml", "log; true", "log; test -e log");
    retry(&scratch, &[]).code(0);
    assert_eq!(newest(&scratch, "child")["steps"][1].get("keptFrom"), None);
}

#[test]
fn a_killed_continuation_goes_on_with_what_its_child_run_keeps() {
    let scratch = project(PARENT);
    ran(&scratch);
    let wait = "echo check >> log; until test -e go; do sleep 0.02; done";
    edit(&scratch, "playbooks/child.yml", "echo check >> log; exit 3", wait);
    let run = newest(&scratch, "parent")["run"].as_str().unwrap().to_owned();
    let mut command = scratch.command();
    command.args(["run", "retry", &run, "--with-current"]);
    let mut child = command.stderr(std::process::Stdio::null()).start();
    let since = std::time::Instant::now();
    while !scratch.read("log").contains("check") {
        assert!(since.elapsed() < std::time::Duration::from_secs(60), "`check` does not start");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    scratch.write("go", "");
    let run = newest(&scratch, "parent")["run"].as_str().unwrap().to_owned();
    scratch.kb(&["run", "resume", &run]).code(0);
    assert_eq!(ran(&scratch), ["after", "check", "check"]);
    assert_eq!(newest(&scratch, "parent")["usage"]["modelCalls"], 0);
}

fn remove_from_journal(scratch: &Scratch, run: &str) {
    let state = scratch.root().parent().unwrap().join("state/kb");
    let folder = std::fs::read_dir(state).unwrap().next().unwrap().unwrap().path();
    let database = rusqlite::Connection::open(folder.join("journal.sqlite3")).unwrap();
    let number = "(SELECT number FROM runs WHERE run = ?1)";
    let events = format!("DELETE FROM events WHERE position >> 40 = {number}");
    database.execute(&events, [run]).unwrap();
    for table in ["inbox", "frozen", "runs"] {
        let text = format!("DELETE FROM {table} WHERE number = {number}");
        database.execute(&text, [run]).unwrap();
    }
}

#[test]
fn a_child_run_that_was_removed_is_named_when_its_steps_run_again() {
    let parent = "schema: kb.playbook/1\nid: parent\nsteps:\n  - {id: call, playbook: child}\n  - {id: q, ask: Go on?}\n";
    let child = "schema: kb.playbook/1\nid: child\nsteps: [{id: a, run: echo >> log}, {id: b, run: exit 3}]\n";
    let scratch = Scratch::new(&[("playbooks/parent.yml", parent), ("playbooks/child.yml", child)]);
    scratch.kb(&["playbook", "run", "parent"]).code(3);
    // As `kb run prune` of earlier versions did while the parent waited.
    remove_from_journal(&scratch, newest(&scratch, "child")["run"].as_str().unwrap());
    scratch.kb(&["run", "answer", "@last", "q", "yes"]).code(1);
    let said = scratch.kb(&["run", "retry", "@last"]).code(1);
    said.says(&["warning: child run", "was removed, so all of its steps run again"]);
    assert_eq!(scratch.read("log").lines().count(), 2);
    let again = scratch.kb(&["run", "retry", "@last"]).code(1);
    assert!(!again.err.contains("was removed"), "{again:?}");
}
