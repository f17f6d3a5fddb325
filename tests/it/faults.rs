//! What goes wrong around a run, through the real binary: floods, kills, hostile models, a journal that
//! cannot be used. What is asserted is what the user sees, and that nothing is lost or done twice.

use crate::alive;
use crate::running::{Running, Start};
use crate::scratch::{Said, Scratch};
use base64::Engine;
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

fn project(body: &str) -> Scratch {
    let text = format!("schema: kb.playbook/1\nid: p\n{body}");
    let reader = "schema: kb.specialist/1\nid: editor\nrole: You edit.\ntools: [fs:read, fs:edit, fs:write]\n\
        output: {schema: {modified?: \"string[]\", summary: string}}\n";
    Scratch::new(&[("playbooks/p.yml", &text), (".kb/specialists/editor.yml", reader)])
}

fn scripted(body: &str, turns: &str) -> Scratch {
    let scratch = project(body);
    scratch.write("script.yml", &format!("schema: kb.script/1\nsteps:\n{turns}"));
    scratch
}

fn run(scratch: &Scratch) -> Said {
    if scratch.has("script.yml") {
        scratch.kb(&["playbook", "run", "p", "--script", "script.yml"])
    } else {
        scratch.kb(&["playbook", "run", "p"])
    }
}

fn show(scratch: &Scratch) -> Value {
    scratch.json(&["run", "show", "@last", "--json"])
}

fn step<'a>(show: &'a Value, id: &str) -> &'a Value {
    let steps = show["steps"].as_array().unwrap();
    steps.iter().find(|step| step["instance"] == id).unwrap_or(&Value::Null)
}

/// A file of the project appears. What makes it is another process, so there is no channel to wait on.
#[track_caller]
fn appears(scratch: &Scratch, path: &str) {
    let began = Instant::now();
    while !scratch.has(path) {
        assert!(began.elapsed() < Duration::from_secs(60), "`{path}` does not appear");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A shell text that says that it has begun and ends when it may.
const WAIT: &str = "echo $$ > pid; touch began; until test -e go; do sleep 0.02; done";

/// A run in the background; its events are read until one is as wanted.
struct Held {
    child: Running,
    root: PathBuf,
}

impl Held {
    fn begin(scratch: &Scratch) -> Held {
        Held::until(scratch, |_| true)
    }

    fn until(scratch: &Scratch, wanted: impl Fn(&Value) -> bool) -> Held {
        let mut command = scratch.command();
        command.args(["playbook", "run", "p", "--json"]);
        if scratch.has("script.yml") {
            command.args(["--script", "script.yml"]);
        }
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).start();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let seen = lines.by_ref().any(|line| wanted(&serde_json::from_str(&line).unwrap()));
        assert!(seen, "the event comes");
        // Somebody has to go on reading, or the run would meet a closed stream.
        std::thread::spawn(move || lines.for_each(drop));
        Held { child, root: scratch.root() }
    }

    /// kill -9; the steps that it leaves are gone soon after.
    #[track_caller]
    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        alive::end(|| alive::working_below(&self.root));
    }
}

fn of_type(kind: &'static str) -> impl Fn(&Value) -> bool {
    move |event| event["type"] == kind
}

// --- Steps that misbehave

#[test]
fn a_flood_of_output_is_cut_and_reported_and_memory_stays_small() {
    let scratch = project(
        "steps: [{id: flood, run: \"head -c 1000000000 /dev/zero | tr '\\\\0' x\"}, {id: after, dependsOn: [flood], run: echo done}]\n",
    );
    let mut command = scratch.command();
    command.args(["playbook", "run", "p"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.start();
    let status = PathBuf::from(format!("/proc/{}/status", child.id()));
    let watched = std::thread::spawn(move || {
        let mut most = 0;
        while let Ok(text) = std::fs::read_to_string(&status) {
            // A process that has ended and is not yet waited for has no such line.
            let Some(line) = text.lines().find(|line| line.starts_with("VmHWM")) else { break };
            most = line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap();
            std::thread::sleep(Duration::from_millis(20));
        }
        most
    });
    let ended = child.finish();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(0), "{said}");
    let most = watched.join().unwrap();
    assert!(most > 0 && most < 200 * 1024, "{most} KiB at most");
    let output = scratch.kb(&["run", "output", "@last", "flood"]).code(0);
    assert!(output.out.len() < 5 << 20, "{} bytes are kept", output.out.len());
    scratch.kb(&["run", "logs", "@last", "flood"]).code(0).says(&["bytes are not kept here"]);
}

#[test]
fn what_ignores_sigterm_is_killed_when_its_time_is_up() {
    let scratch = project(
        "steps: [{id: deaf, timeout: 400ms, run: \"trap '' TERM; echo $$ > pid; while :; do sleep 1; done\"}]\n",
    );
    run(&scratch).code(1).says(&[
        "failed deaf",
        "took longer than 400ms",
        "[KB0556]",
        "raise `timeout`",
    ]);
    assert_eq!(alive::working_below(&scratch.root()), [""; 0], "no process of a step outlives it");
}

#[test]
fn what_a_step_leaves_in_the_background_ends_with_it() {
    let scratch = project(
        "steps: [{id: server, run: 'setsid sleep 300 & echo $! > pid'}, {id: look, dependsOn: [server], run: 'sleep 0.3; ! kill -0 $(cat pid)'}]\n",
    );
    run(&scratch).code(0);
}

#[test]
fn a_specialists_shell_cannot_write_outside_of_the_project() {
    let scratch = scripted(
        "steps: [{id: out, specialist: runner, task: Go., verify: {expectChanges: false}}]\n",
        "  out:\n    - calls: [{tool: shell:exec, args: {command: '(echo x > ../outside.txt) 2> inside.txt || true'}}]\n    - output: {summary: done}\n",
    );
    scratch.write(
        ".kb/specialists/runner.yml",
        "schema: kb.specialist/1\nid: runner\nrole: You run.\ntools: [shell:exec]\noutput: {schema: {summary: string}}\n",
    );
    let doctor = scratch.json(&["doctor", "--json"]);
    let level =
        doctor.as_array().unwrap().iter().find(|line| line["subject"] == "sandbox").unwrap();
    if !level.to_string().contains("kernel") {
        // Without the kernel's sandbox a person has to approve; that is what there is to see then.
        run(&scratch).says(&["KB0604"]);
        return;
    }
    run(&scratch).code(0);
    assert!(!scratch.root().parent().unwrap().join("outside.txt").exists());
    let refused = scratch.read("inside.txt");
    let messages = ["Permission denied", "Read-only file system"];
    assert!(messages.iter().any(|message| refused.contains(message)), "{refused}");
}

#[test]
fn a_tool_call_outside_of_the_project_is_denied_and_the_model_sees_it() {
    let scratch = scripted(
        "steps: [{id: out, specialist: editor, task: Go., verify: {expectChanges: false}}]\n",
        "  out:\n    - calls: [{tool: fs:write, args: {path: ../outside.txt, content: x}}, {tool: fs:write, args: {path: /etc/kb-test, content: x}}]\n    - output: {summary: could not}\n",
    );
    run(&scratch).code(0);
    assert!(!scratch.root().parent().unwrap().join("outside.txt").exists());
    let logs = scratch.kb(&["run", "events", "@last"]).code(0).out;
    let results = logs.lines().filter(|line| line.contains("\"type\":\"tool:result\""));
    assert_eq!(results.filter(|line| line.contains("\"status\":\"denied\"")).count(), 2, "{logs}");
}

// --- Models that misbehave

#[test]
fn a_model_that_answers_garbage_or_never_hands_in_fails_its_step_and_says_so() {
    let steps = "steps: [{id: a, specialist: editor, task: Go., maxAttempts: 1}]\n";
    let say = |text: &str| format!("    - {{say: {}}}\n", json!(text));
    let garbage: String =
        std::iter::repeat_n(say("%$ {{{ \"tool\": ]] <tool_call> Action: {"), 30).collect();
    let said =
        run(&scripted(steps, &format!("  a:\n{garbage}"))).code(1).says(&["failed a", "KB0503"]);
    assert!(!said.out.contains("panicked") && !said.err.contains("panicked"));
    let talk: String = (0..30).map(|n| say(&format!("Still thinking, {n}."))).collect();
    run(&scripted(steps, &format!("  a:\n{talk}"))).code(1).says(&["KB0503", "kb run retry"]);
}

#[test]
fn a_model_that_ends_in_the_middle_is_asked_again_and_what_it_did_stays_done() {
    let scratch = scripted(
        "steps: [{id: a, specialist: editor, task: Go.}]\n",
        "  a:\n    - calls: [{tool: fs:edit, args: {path: f.txt, old: before, new: after}}]\n    - error: {status: 0, message: connection reset}\n  \"a#2\":\n    - output: {modified: [f.txt], summary: done}\n",
    );
    scratch.write("f.txt", "before");
    run(&scratch).code(0);
    assert_eq!(scratch.read("f.txt"), "after");
}

#[test]
fn a_model_that_stays_down_fails_its_step_with_its_message() {
    let errors = "    - error: {status: 503, message: overloaded, retryAfter: 0}\n".repeat(40);
    let scratch = scripted(
        "steps: [{id: a, specialist: editor, task: Go., retry: {max: 1, on: [transient], initial: 1ms}, maxAttempts: 2}]\n",
        &format!("  a:\n{errors}  \"a#2\":\n{errors}"),
    );
    run(&scratch).code(1).says(&["failed a", "KB0702", "kb run retry"]);
}

#[test]
fn a_model_that_never_answers_is_cancelled_from_another_process() {
    let scratch = scripted(
        "steps: [{id: a, specialist: editor, task: Go.}, {id: b, dependsOn: [a], run: touch ran}]\n",
        "  a:\n    - {delayMs: 600000, output: {summary: late}}\n",
    );
    let mut held = Held::until(&scratch, of_type("step:start"));
    scratch.kb(&["run", "cancel", "@last"]).code(0).says(&["the request was sent to run"]);
    assert_eq!(held.child.wait().unwrap().code(), Some(1));
    let shown = show(&scratch);
    assert_eq!(
        (&shown["status"], &step(&shown, "a")["status"]),
        (&json!("cancelled"), &json!("cancelled"))
    );
    assert!(!scratch.has("ran"));
}

#[test]
fn a_model_that_never_answers_is_stopped_by_the_timeout_of_its_step() {
    let scratch = scripted(
        "steps: [{id: a, specialist: editor, task: Go., timeout: 500ms, maxAttempts: 1}]\n",
        "  a:\n    - {delayMs: 600000, output: {summary: late}}\n",
    );
    run(&scratch).code(1).says(&["failed a", "KB05"]);
    assert_eq!(step(&show(&scratch), "a")["status"], "failed");
}

// --- kill -9

#[test]
fn killed_in_a_step_nothing_completed_runs_again_and_no_process_is_left() {
    let scratch = project(&format!(
        "limits: {{maxParallel: 4}}
steps:
  - {{id: first, run: 'echo first >> ledger'}}
  - {{id: beside, run: 'echo beside >> ledger'}}
  - {{id: slow, dependsOn: [first, beside], run: '{WAIT}; echo \"slow $KB_ATTEMPT $KB_IDEMPOTENCY_KEY\" >> ledger'}}
  - {{id: last, dependsOn: [slow], run: 'echo last >> ledger'}}
"
    ));
    let held = Held::begin(&scratch);
    appears(&scratch, "began");
    held.kill();
    let shown = show(&scratch);
    assert_eq!(
        (&shown["status"], &step(&shown, "slow")["status"]),
        (&json!("interrupted"), &json!("running"))
    );
    // What was frozen runs, whatever became of the file.
    std::fs::remove_file(scratch.root().join("playbooks/p.yml")).unwrap();
    scratch.write("go", "");
    scratch.kb(&["run", "resume", "@last"]).code(0).says(&["running steps: slow", "p succeeded"]);
    let run = scratch.last_run();
    let ledger = scratch.read("ledger");
    let mut lines: Vec<&str> = ledger.lines().collect();
    lines[..2].sort();
    let slow = lines[2].to_owned();
    assert_eq!(lines, ["beside", "first", &slow, "last"]);
    assert!(slow.ends_with(&format!(" {run}/slow/1")), "the same key: {slow}");
    assert_eq!(step(&show(&scratch), "first")["attempts"], 1);
}

/// What keeps a step is stopped, so that the step outlives its `kb` for as long as the test wants.
#[test]
fn a_run_continues_once_no_orphan_of_the_killed_owner_can_write() {
    let scratch = project(
        "steps: [{id: a, run: 'if test -e began; then echo new > out; touch again; exit; fi; touch began; \
         until test -e go; do sleep 0.02; done; echo old > out; touch wrote'}]\n",
    );
    let mut held = Held::begin(&scratch);
    appears(&scratch, "began");
    let init = alive::child(held.child.id() as i32, "kb-init");
    let worker = alive::child(init.as_raw_nonzero().get(), "kb-worker");
    let signal = |who, signal| kill_process(who, signal).unwrap();
    signal(init, Signal::STOP);
    signal(worker, Signal::STOP);
    held.child.kill().unwrap();
    held.child.wait().unwrap();
    let mut command = scratch.command();
    command.args(["run", "resume", "@last"]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut resumed = command.start();
    let began = Instant::now();
    while !scratch.has("again") && began.elapsed() < Duration::from_millis(500) {
        std::thread::sleep(Duration::from_millis(10));
    }
    scratch.write("go", "");
    appears(&scratch, "wrote");
    // The worker first: the init ends as soon as it goes on, and takes the worker along.
    signal(worker, Signal::CONT);
    signal(init, Signal::CONT);
    assert!(resumed.wait().unwrap().success());
    assert_eq!(scratch.read("out"), "new\n");
}

#[test]
fn killed_in_the_middle_of_a_specialist_its_recorded_calls_are_not_repeated() {
    let scratch = scripted(
        "steps: [{id: a, specialist: editor, task: Go.}]\n",
        "  a: [{output: {modified: [f.txt], summary: only said}}]\n  a#2:\n    - calls: [{tool: fs:edit, args: {path: f.txt, old: b, new: bb}}]\n    - {delayMs: 3000, output: {modified: [f.txt], summary: done}}\n",
    );
    scratch.write("f.txt", "abc");
    // In its second attempt, which goes on from its own turns and not from those of the first.
    let held = Held::until(&scratch, of_type("tool:result"));
    held.kill();
    assert_eq!(show(&scratch)["status"], "interrupted");
    // The script is frozen too.
    std::fs::remove_file(scratch.root().join("script.yml")).unwrap();
    scratch.kb(&["run", "resume", "@last"]).code(0).says(&["a"]);
    assert_eq!(scratch.read("f.txt"), "abbc", "once");
    let events = scratch.kb(&["run", "events", "@last"]).events();
    assert_eq!(events.iter().filter(|event| event["type"] == "tool:call").count(), 1);
    assert_eq!(step(&show(&scratch), "a")["verdict"], "passed");
}

#[test]
fn killed_while_verifying_the_work_is_not_done_again() {
    let scratch = project(
        "steps:\n  - {id: a, run: echo a >> ledger, verify: {checks: [{command: [bash, wait.sh]}]}}\n  - {id: b, dependsOn: [a], run: echo b >> ledger}\n",
    );
    scratch.write("wait.sh", WAIT);
    let held = Held::begin(&scratch);
    appears(&scratch, "began");
    held.kill();
    assert_eq!(step(&show(&scratch), "a")["status"], "verifying");
    scratch.write("go", "");
    scratch.kb(&["run", "resume", "@last"]).code(0);
    assert_eq!(scratch.read("ledger"), "a\nb\n");
}

#[test]
fn killed_again_and_again_it_still_ends_in_the_same_files() {
    let scratch = project(
        "steps: [{id: a, forEach: [one, two, three, four], env: {I: '{{item}}'}, run: 'test -e \"$I\" || { touch \"$I\"; touch began; sleep 300; }; echo \"$I\" >> ledger'}]\nlimits: {maxParallel: 1}\n",
    );
    let held = Held::begin(&scratch);
    appears(&scratch, "began");
    held.kill();
    for _ in 0..3 {
        std::fs::remove_file(scratch.root().join("began")).unwrap();
        let child = scratch
            .command()
            .args(["run", "resume", "@last"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .start();
        let held = Held { child, root: scratch.root() };
        appears(&scratch, "began");
        held.kill();
    }
    scratch.kb(&["run", "resume", "@last"]).code(0);
    assert_eq!(scratch.read("ledger"), "one\ntwo\nthree\nfour\n");
}

#[test]
fn what_must_not_simply_run_again_waits_for_a_person() {
    let scratch = project(&format!(
        "steps:\n  - {{id: pay, retrySafe: false, run: 'echo begun >> ledger; {WAIT}; echo paid >> ledger'}}\n  - {{id: after, dependsOn: [pay], run: echo after >> ledger}}\n"
    ));
    let held = Held::begin(&scratch);
    appears(&scratch, "began");
    held.kill();
    scratch.write("go", "");
    let said = scratch.kb(&["run", "resume", "@last"]).code(3);
    said.says(&["retrySafe: false", "kb run approve"]);
    assert_eq!(scratch.read("ledger"), "begun\n", "nothing ran");
    let shown = show(&scratch);
    assert_eq!(
        (&shown["status"], &step(&shown, "pay")["status"]),
        (&json!("waiting"), &json!("waiting"))
    );
    scratch.kb(&["run", "approve", "@last"]).code(0);
    assert_eq!(scratch.read("ledger"), "begun\nbegun\npaid\nafter\n");
}

/// A run whose owner was killed in a step that must not simply run again, and that waits since.
fn waits_for_a_person() -> Scratch {
    let scratch =
        project(&format!("steps: [{{id: pay, retrySafe: false, run: '{WAIT}; touch paid'}}]\n"));
    let held = Held::begin(&scratch);
    appears(&scratch, "began");
    held.kill();
    scratch.write("go", "");
    scratch.kb(&["run", "resume", "@last"]).code(3);
    scratch
}

#[test]
fn an_answer_shows_the_run_that_goes_on_as_events_too() {
    let scratch = waits_for_a_person();
    let events = scratch.kb(&["run", "approve", "@last", "--json"]).code(0).events();
    let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert!(kinds.contains(&"ask:answered") && kinds.ends_with(&["run:end"]), "{kinds:?}");
    let late = scratch.kb(&["run", "cancel", "@last", "--json"]).code(0);
    assert!(late.out.is_empty() && late.err.contains("has already succeeded"), "{late:?}");
}

#[test]
fn what_waits_for_a_person_can_be_refused() {
    let scratch = waits_for_a_person();
    scratch.kb(&["run", "approve", "@last", "--deny"]).code(1).says(&["KB0554"]);
    assert!(!scratch.has("paid"));
}

#[test]
fn a_run_has_one_lease_owner_and_a_second_is_refused_with_its_pid() {
    let scratch = project(&format!("steps: [{{id: a, run: 'echo x >> ledger; {WAIT}'}}]\n"));
    let mut held = Held::begin(&scratch);
    appears(&scratch, "began");
    let pid = format!("process {}", held.child.id());
    scratch.kb(&["run", "resume", "@last"]).code(5).says(&["[KB0804]", &pid, "kb run cancel"]);
    scratch.kb(&["run", "retry", "@last"]).says(&["running"]);
    scratch.write("go", "");
    assert_eq!(held.child.wait().unwrap().code(), Some(0), "the owner is not disturbed");
    assert_eq!(scratch.read("ledger"), "x\n");
    scratch.kb(&["run", "resume", "@last"]).code(2).says(&["has succeeded", "kb playbook run"]);
}

#[test]
fn two_that_resume_at_once_do_the_work_once() {
    let scratch =
        project(&format!("steps: [{{id: a, run: '{WAIT}; echo x >> ledger; sleep 0.5'}}]\n"));
    let held = Held::begin(&scratch);
    appears(&scratch, "began");
    held.kill();
    scratch.write("go", "");
    let resume = || {
        let mut command = scratch.command();
        command.args(["run", "resume", "@last"]).stdout(Stdio::null()).stderr(Stdio::null());
        command.start()
    };
    let mut both = [resume(), resume()];
    let mut codes: Vec<i32> = both.iter_mut().map(|c| c.wait().unwrap().code().unwrap()).collect();
    codes.sort();
    // The second is refused while the first works, or comes when there is nothing left to do.
    assert!(codes == [0, 5] || codes == [0, 2], "{codes:?}");
    assert_eq!(scratch.read("ledger"), "x\n");
}

#[test]
fn a_retry_runs_only_what_did_not_succeed() {
    let scratch = project(
        "steps:
  - {id: good, run: echo good >> ledger}
  - {id: bad, dependsOn: [good], run: 'echo bad >> ledger; test -e fixed'}
  - {id: after, dependsOn: [bad], run: echo after >> ledger}
  - {id: items, dependsOn: [good], forEach: [x, y], env: {I: '{{item}}'}, run: 'echo \"$I\" >> items; test \"$I\" = x -o -e fixed'}
limits: {maxParallel: 1}
",
    );
    run(&scratch).code(1).says(&["failed bad: exit code 1", "kb run retry"]);
    scratch.write("fixed", "");
    scratch.kb(&["run", "retry", "@last"]).code(0);
    assert_eq!(scratch.read("ledger"), "good\nbad\nbad\nafter\n");
    assert!(scratch.read("items").starts_with("x\ny\n"));
}

// --- The journal and the streams

#[test]
fn an_unusable_state_folder_is_reported_with_help() {
    let scratch = project("steps: [{id: a, run: touch ran}]\n");
    let file = scratch.root().join("a-file");
    std::fs::write(&file, "").unwrap();
    let said = scratch.kb_with(&["playbook", "run", "p"], |command| {
        command.env("XDG_STATE_HOME", &file);
    });
    let said = said.code(5).says(&["a-file", "help:"]);
    assert!(!said.err.contains("panicked") && !scratch.has("ran"));
}

/// The database of a project's journal.
fn database(scratch: &Scratch) -> PathBuf {
    let mut folders = vec![scratch.root().parent().unwrap().join("state")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            let start = std::fs::read(&path).unwrap_or_default();
            if path.is_dir() {
                folders.push(path);
            } else if start.starts_with(b"SQLite format 3") {
                return path;
            }
        }
    }
    panic!("there is no journal");
}

#[test]
fn a_journal_of_a_newer_version_is_refused_and_left_as_it_is() {
    let scratch = project("steps: [{id: a, run: echo x}]\n");
    run(&scratch).code(0);
    let path = database(&scratch);
    let database = rusqlite::Connection::open(&path).unwrap();
    database.pragma_update(None, "user_version", 9_999).unwrap();
    drop(database);
    for args in [
        &["run", "list"][..],
        &["run", "show", "@last"],
        &["playbook", "run", "p"],
        &["run", "resume", "@last"],
    ] {
        scratch.kb(args).code(6).says(&["[KB0803]", "newer", "update `kb`"]);
    }
    let database = rusqlite::Connection::open(&path).unwrap();
    let version: i64 = database.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
    assert_eq!(version, 9_999);
}

#[test]
fn a_journal_that_is_not_a_database_is_reported_without_panic() {
    let scratch = project("steps: [{id: a, run: echo x}]\n");
    run(&scratch).code(0);
    let path = database(&scratch);
    for name in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{name}", path.display()));
    }
    std::fs::write(
        &path,
        "this is no database, and it is long enough to be looked at. ".repeat(200),
    )
    .unwrap();
    for args in [&["run", "list"][..], &["playbook", "run", "p"]] {
        let said = scratch.kb(args).code(5).says(&["[KB0801]", "help:"]);
        assert!(!said.err.contains("panicked"), "{said:?}");
    }
}

#[test]
fn a_reader_that_wants_one_line_ends_quietly() {
    let scratch = project(
        "steps: [{id: a, forEach: [1, 2, 3], run: \"head -c 7000 /dev/zero | tr '\\\\0' x\"}]\n",
    );
    run(&scratch).code(0);
    let kb = env!("CARGO_BIN_EXE_kb");
    let mut shell = scratch.command();
    let program = shell.get_program().to_owned();
    assert_eq!(program, kb);
    let mut bash = std::process::Command::new("bash");
    bash.current_dir(scratch.root()).env_clear();
    for (name, value) in shell.env("NO_COLOR", "1").get_envs() {
        value.map(|value| bash.env(name, value));
    }
    bash.args([
        "-c",
        &format!("{kb} run events @last | head -1 | cut -c1-8; echo ${{PIPESTATUS[0]}}"),
    ]);
    let ended = bash.finish();
    assert_eq!(String::from_utf8_lossy(&ended.stderr), "");
    assert_eq!(String::from_utf8_lossy(&ended.stdout), "{\"v\":1,\"\n0\n");
}

#[test]
fn a_stdout_on_a_full_disk_is_an_error() {
    let scratch = project("steps: [{id: a, run: echo x}]\n");
    run(&scratch).code(0);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = scratch.command();
    let ended = command
        .args(["run", "events", "@last"])
        .stdout(full)
        .stderr(Stdio::piped())
        .start()
        .finish();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(5), "{said}");
    assert!(said.contains("No space left") && !said.contains("panicked"), "{said}");
}

// --- Much, and secret

#[test]
fn two_hundred_items_keep_their_order() {
    let scratch = project(
        "params: [{name: items, type: list}]\nlimits: {maxParallel: 4}\nsteps: [{id: a, forEach: '{{items}}', run: [printf, '%s', '<{{item}}>']}]\noutputs: {all: '{{a.output}}'}\n",
    );
    let items: Vec<String> = (0..200).map(|n| format!("item{n}")).collect();
    let param = format!("items={}", items.join(","));
    scratch.kb(&["playbook", "run", "p", "--quiet", "--param", &param]).code(0);
    let expected: Vec<String> = items.iter().map(|item| format!("<{item}>")).collect();
    assert_eq!(scratch.json(&["run", "output", "@last"])["all"], json!(expected));
    assert_eq!(step(&show(&scratch), "a[199]")["status"], "succeeded");
}

/// Every file below a folder that contains one of these texts.
fn files_with(folder: &Path, texts: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let bytes = std::fs::read(&path).unwrap();
            let has =
                |text: &&String| bytes.windows(text.len()).any(|window| window == text.as_bytes());
            found
                .extend(texts.iter().filter(has).map(|text| format!("{}: {text}", path.display())));
        }
    }
    found
}

/// A secret as it is, and the middle of its base64 wherever it may begin.
fn spellings(secret: &str) -> Vec<String> {
    let shifted = (0..3).map(|shift| {
        let text = format!("{}{secret}", "a".repeat(shift));
        let encoded = base64::engine::general_purpose::STANDARD.encode(text);
        encoded[4..encoded.len() - 4].to_owned()
    });
    std::iter::once(secret.to_owned()).chain(shifted).collect()
}

#[test]
fn secrets_never_reach_the_state_folder_or_what_is_shown() {
    const TOKEN: &str = "tok-5f2b9c81d0e44a7796ab";
    const KEY: &str = "key-91c3d7f0a2b84e65bd18";
    let scratch = scripted(
        "params: [{name: key, type: secret, required: true}]
env: {TOKEN: '{{secrets.TOKEN}}'}
steps:
  - {id: plain, run: 'echo \"raw $TOKEN\"; printf %s \"$TOKEN\" | base64 -w0; printf \"user:%s\" \"$TOKEN\" | base64 -w0'}
  - {id: slowly, run: 'printf %s \"${TOKEN:0:9}\"; sleep 0.1; printf %s \"${TOKEN:9}\"; echo'}
  - {id: names, run: 'touch \"f-$TOKEN.txt\"', evidence: full}
  - {id: lines, env: {M: '{{secrets.MANY}}', C: '{{secrets.TOLD}}'}, run: 'echo \"$M\"; echo \"$M\" | sed -n 2p; echo \"$C\"'}
  - {id: fails, env: {K: '{{key}}'}, onError: continue, run: 'echo \"bad key $K\" >&2; exit 3'}
  - {id: data, env: {K: '{{key}}'}, parse: json, run: 'echo \"{\\\"auth\\\": {\\\"$K\\\": [\\\"$K\\\"]}}\"'}
  - {id: file, tool: 'fs:write', input: {path: token.txt, content: 'token={{secrets.TOKEN}}'}}
  - {id: checked, set: {x: 1}, verify: {checks: [{command: [bash, -c, 'cat token.txt >&2; exit 1']}], onFailed: warn}, dependsOn: [file]}
  - {id: model, dependsOn: [file], specialist: editor, task: Look., verify: {expectChanges: false}}
outputs: {all: '{{plain.output}}'}
",
        "  model:\n    - calls: [{tool: fs:read, args: {path: token.txt}}]\n    - output: {summary: seen}\n",
    );
    scratch.write(
        ".kb/kb.config.yml",
        "secrets: {TOKEN: env:KB_TOKEN, MANY: file:many.txt, TOLD: {command: [cat, told.txt]}}\n",
    );
    scratch.write("many.txt", "first-f2c81a90\nsecond-77ab3d51\n");
    scratch.write("told.txt", "told-50be9c1744\n");
    let call = |args: &[&str]| {
        scratch.kb_with(args, |command| {
            command.env("KB_TOKEN", TOKEN).env("KB_KEY", KEY);
        })
    };
    let base = ["playbook", "run", "p", "--script", "script.yml", "--param", "key=env:KB_KEY"];
    let plain = call(&base).code(0);
    let lines = call(&[&base[..], &["--json"]].concat()).code(0);
    let later: Vec<Said> = ["events", "logs", "show", "output"]
        .map(|command| call(&["run", command, "@last"]).code(0))
        .into();
    let secrets = [TOKEN, KEY, "first-f2c81a90", "second-77ab3d51", "told-50be9c1744"];
    let texts: Vec<String> = secrets.into_iter().flat_map(spellings).collect();
    for said in later.iter().chain([&plain, &lines]) {
        for text in &texts {
            assert!(!said.out.contains(text) && !said.err.contains(text), "{text} in {said:?}");
        }
    }
    assert_eq!(scratch.read("token.txt"), format!("token={TOKEN}"), "the step itself has it");
    let state = scratch.root().parent().unwrap().join("state");
    assert_eq!(files_with(&state, &texts), Vec::<String>::new());
}

// --- Ends that must not be lost

#[test]
fn what_was_cancelled_still_runs_its_finally_steps() {
    let scratch = project(
        "steps: [{id: a, run: 'touch began; sleep 300'}, {id: b, dependsOn: [a], run: touch ran}]\nfinally: [{id: z, env: {S: '{{run.status}}'}, run: 'echo \"$S\" > end'}]\n",
    );
    let mut held = Held::begin(&scratch);
    appears(&scratch, "began");
    scratch.kb(&["run", "cancel", "@last"]).code(0);
    assert_eq!(held.child.wait().unwrap().code(), Some(1));
    assert_eq!(scratch.read("end"), "cancelled\n");
    assert!(!scratch.has("ran"));
}

#[test]
fn a_cancelled_run_can_be_re_opened() {
    let scratch = project(&format!(
        "steps: [{{id: done, run: echo x >> ledger}}, {{id: a, dependsOn: [done], run: '{WAIT}'}}]\n"
    ));
    let mut held = Held::begin(&scratch);
    appears(&scratch, "began");
    scratch.kb(&["run", "cancel", "@last"]).code(0);
    assert_eq!(held.child.wait().unwrap().code(), Some(1));
    scratch.kb(&["run", "resume", "@last"]).code(2).says(&["kb run retry"]);
    scratch.write("go", "");
    scratch.kb(&["run", "retry", "@last"]).code(0);
    assert_eq!(scratch.read("ledger"), "x\n");
}

#[test]
fn killed_between_a_failure_and_its_retry_it_still_retries() {
    let scratch = project(
        "steps: [{id: a, run: 'echo \"$KB_ATTEMPT\" >> ledger; test \"$KB_ATTEMPT\" = 2', retry: {max: 1, on: [exit], initial: 1s}}]\n",
    );
    let held = Held::until(&scratch, of_type("recovery:applied"));
    held.kill();
    scratch.kb(&["run", "resume", "@last"]).code(0);
    assert_eq!(scratch.read("ledger"), "1\n2\n");
}

#[test]
fn a_disk_that_is_full_is_an_error_and_the_run_goes_on_when_there_is_room() {
    let scratch = project(
        "limits: {maxParallel: 1}\nsteps: [{id: a, forEach: {in: '{{range(400)}}', key: 'k{{item}}'}, env: {I: '{{item}}'}, run: 'echo \"$I\" >> ledger'}, {id: b, dependsOn: [a], run: echo done >> ledger}]\n",
    );
    // A limit on the size of files stands for the full disk: what is over it is refused.
    let command = scratch.command();
    let mut bash = std::process::Command::new("bash");
    bash.current_dir(scratch.root()).env_clear();
    for (name, value) in command.get_envs() {
        value.map(|value| bash.env(name, value));
    }
    let kb = env!("CARGO_BIN_EXE_kb");
    bash.args(["-c", &format!("trap '' XFSZ; ulimit -f 300; exec {kb} playbook run p")]);
    let ended = bash.finish();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(5), "{said}");
    assert!(
        said.contains("error[KB0802]") && said.contains("help:") && !said.contains("panicked"),
        "{said}"
    );
    let run = scratch.last_run();
    assert!(said.contains(&format!("continue with: kb run resume {run}")), "{said}");
    scratch.kb(&["run", "resume", "@last"]).code(0);
    let ledger = scratch.read("ledger");
    // The step that was under way may have run again; all others ran once.
    let lines = ledger.lines().count();
    assert!((401..=402).contains(&lines), "{lines}");
    assert!(ledger.ends_with("done\n"));
}

#[test]
fn a_running_owner_receives_the_answer_of_another_process() {
    let scratch = project(
        "limits: {maxParallel: 4}
steps:
  - {id: pay, retrySafe: false, run: 'echo pay >> ledger; test -e go || { echo $$ > pid; touch began; sleep 300; }'}
  - {id: long, run: 'until test -e paid; do sleep 0.02; done'}
  - {id: after, dependsOn: [pay], run: touch paid}
",
    );
    let held = Held::begin(&scratch);
    appears(&scratch, "began");
    held.kill();
    scratch.write("go", "");
    let mut command = scratch.command();
    command.args(["run", "resume", "@last", "--json"]).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::null()).start();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.by_ref().any(|line| line.contains("\"step:waiting\"")), "it waits");
    scratch.kb(&["run", "approve", "@last", "pay"]).code(0).says(&["the reply was delivered"]);
    lines.for_each(drop);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(scratch.read("ledger"), "pay\npay\n");
}

#[test]
fn of_two_steps_that_wait_one_is_approved_and_the_other_refused() {
    let scratch = project(
        "limits: {maxParallel: 4}
steps:
  - {id: one, retrySafe: false, run: 'echo $$ > pid; touch one; until test -e go; do sleep 0.02; done; echo one >> ledger'}
  - {id: two, retrySafe: false, run: 'touch two; until test -e go; do sleep 0.02; done; echo two >> ledger'}
",
    );
    let held = Held::begin(&scratch);
    appears(&scratch, "one");
    appears(&scratch, "two");
    held.kill();
    scratch.write("go", "");
    scratch.kb(&["run", "resume", "@last"]).code(3).says(&["waiting one", "waiting two"]);
    scratch.kb(&["run", "approve", "@last", "one"]).code(3).says(&["waiting two"]);
    scratch.kb(&["run", "approve", "@last", "nobody"]).code(4).says(&["`nobody`"]);
    scratch.kb(&["run", "approve", "@last", "two", "--deny"]).code(1).says(&["failed two"]);
    assert_eq!(scratch.read("ledger"), "one\n");
}

#[test]
fn a_run_that_waits_can_be_cancelled() {
    let scratch = waits_for_a_person();
    scratch.kb(&["run", "cancel", "@last"]).code(0);
    assert_eq!(show(&scratch)["status"], "cancelled");
    assert!(!scratch.has("paid"));
}

#[test]
fn two_runs_of_one_project_do_not_disturb_each_other() {
    let scratch = project(
        "params: [{name: me}]\nsteps: [{id: a, forEach: [1, 2, 3, 4, 5, 6], env: {ME: '{{me}}', I: '{{item}}'}, run: 'echo \"$I\" >> \"$ME\"'}]\nlimits: {maxParallel: 1}\n",
    );
    let begin = |me: &str| {
        let mut command = scratch.command();
        command.args(["playbook", "run", "p", "--quiet", "--param", &format!("me={me}")]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).start()
    };
    let mut all: Vec<Running> = ["x", "y", "z"].into_iter().map(begin).collect();
    assert!(all.iter_mut().all(|child| child.wait().unwrap().success()));
    for me in ["x", "y", "z"] {
        assert_eq!(scratch.read(me), "1\n2\n3\n4\n5\n6\n");
    }
    let list = scratch.json(&["run", "list", "--json"]);
    assert_eq!(list.as_array().unwrap().len(), 3);
}

#[test]
fn a_bare_parameter_name_in_a_script_has_help() {
    let scratch = scripted(
        "params: [{name: topic, default: x}]\nsteps: [{id: a, specialist: editor, task: '{{topic}}'}]\n",
        "  a:\n    - output: {summary: 'on {{topic}}'}\n",
    );
    run(&scratch)
        .code(2)
        .says(&["KB0302", "in a script, write the full reference: `{{params.topic}}`"]);
}

#[test]
fn a_server_that_refuses_names_what_to_look_at_and_not_the_retries_that_were_used_up() {
    let scratch = project("steps: [{id: a, specialist: editor, task: Go.}]\n");
    let tier = "{model: m, endpoint: 'http://127.0.0.1:9/v1'}";
    scratch.write(
        ".kb/kb.config.yml",
        &format!("llm: {{tiers: {{small: {tier}, medium: {tier}, large: {tier}}}}}\n"),
    );
    let said = run(&scratch).code(1).says(&["KB0702", "kb doctor --call", "llm.tiers"]);
    assert!(!said.out.contains("`retry` row"), "{}", said.out);
}

// --- Levels of processes

/// The level that `kb doctor` says, and the one that the start of a run says.
fn levels(scratch: &Scratch) -> [String; 2] {
    let lines = scratch.json(&["doctor", "--json"]);
    let line = lines.as_array().unwrap().iter().find(|line| line["subject"] == "processes");
    let said = line.unwrap()["message"].as_str().unwrap().split(':').next().unwrap().to_owned();
    let events = scratch.kb(&["playbook", "run", "p", "--json"]).code(0).events();
    let start = events.iter().find(|event| event["type"] == "run:start").unwrap();
    [said, start["environment"]["process"].as_str().unwrap().to_owned()]
}

#[test]
fn a_run_that_goes_on_without_any_process_leaves_no_temporary_directory() {
    for processes in ["auto", "group"] {
        let scratch = scripted(
            "steps: [{id: a, specialist: editor, task: Go.}]\n",
            "  a:\n    - calls: [{tool: fs:edit, args: {path: f.txt, old: b, new: bb}}]\n    - {delayMs: 2000, output: {modified: [f.txt], summary: done}}\n",
        );
        scratch.write(".kb/kb.config.yml", &format!("sandbox: {{processes: {processes}}}\n"));
        scratch.write("f.txt", "abc");
        Held::until(&scratch, of_type("tool:result")).kill();
        let temporary = tempfile::tempdir().unwrap();
        let mut command = scratch.command();
        command.args(["run", "resume", "@last", "--quiet"]);
        command.env("TMPDIR", temporary.path()).stdout(Stdio::null());
        assert!(command.finish().status.success());
        // It goes after `kb` does.
        let began = Instant::now();
        while std::fs::read_dir(temporary.path()).unwrap().next().is_some() {
            assert!(began.elapsed() < Duration::from_secs(60), "{processes}: it is left");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn the_process_control_level_is_chosen_and_reported() {
    let scratch = project("steps: [{id: a, run: 'ls /proc | grep -c ^[0-9]'}]\n");
    let check = |settings: &str, expected: &str| {
        scratch.write(".kb/kb.config.yml", settings);
        assert_eq!(levels(&scratch), [expected; 2], "{settings}");
        let seen = scratch.kb(&["run", "output", "@last", "a"]).out;
        let few = seen.trim().parse::<u32>().unwrap() < 8;
        assert_eq!(few, expected == "pidNamespace", "{seen}");
    };
    check("limits: {maxParallel: 2}\n", "pidNamespace");
    check("sandbox: {processes: auto}\n", "pidNamespace");
    check("sandbox: {processes: pidNamespace}\n", "pidNamespace");
    check("sandbox: {processes: group}\n", "group");
    scratch.write(".kb/kb.config.yml", "sandbox: {processes: cgroup}\n");
    run(&scratch).code(2).says(&["KB0112", "`group`"]);
}

/// The binary as `setpriv` starts it with these arguments.
fn with_privileges(
    scratch: &Scratch,
    program: &Path,
    privileges: &[&str],
) -> std::process::Command {
    let mut command = std::process::Command::new("setpriv");
    command.args(privileges).arg(program).current_dir(scratch.root()).env_clear();
    for (name, value) in scratch.command().get_envs() {
        value.map(|value| command.env(name, value));
    }
    command
}

#[test]
fn steps_of_a_root_without_rights_have_none_in_their_namespace() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let scratch = project(
        "steps: [{id: a, run: 'grep CapEff /proc/self/status; mount -t tmpfs x /mnt || echo no; ls /proc | grep -c ^[0-9]'}]\n",
    );
    let kb = Path::new(env!("CARGO_BIN_EXE_kb"));
    let call = |bounds: &str, args: &[&str]| {
        let bounds = format!("--bounding-set={bounds}");
        let mut command = with_privileges(&scratch, kb, &[&bounds, "--inh-caps=-all"]);
        String::from_utf8(command.args(args).finish().stdout).unwrap()
    };
    // What it needs to be root in a user namespace, and nothing else.
    call("-all,+setfcap", &["playbook", "run", "p"]);
    let seen = scratch.kb(&["run", "output", "@last", "a"]).out;
    assert!(seen.starts_with("CapEff:\t0000000080000000\nno\n"), "{seen}");
    assert_eq!(seen.trim_end().lines().last().unwrap().len(), 1, "{seen}");
    // Not even that: steps run in groups, and it is said.
    let doctor = call("-all", &["doctor"]);
    assert!(doctor.contains("group: ") && doctor.contains("refuses a user namespace"), "{doctor}");
    call("-all", &["playbook", "run", "p"]);
    let start = scratch.kb(&["run", "events", "@last"]).out;
    assert!(start.contains("\"process\":\"group\""), "{start}");
    // Where the settings insist on more, nothing is run.
    scratch.write(".kb/kb.config.yml", "sandbox: {processes: pidNamespace}\n");
    let mut command = with_privileges(&scratch, kb, &["--bounding-set=-all", "--inh-caps=-all"]);
    let refused = command.args(["playbook", "run", "p"]).finish();
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(5), "{said}");
    assert!(said.contains("KB0563") && said.contains("is not available on this machine"), "{said}");
}

#[test]
fn an_unprivileged_user_has_namespaces_too() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let scratch = project(
        "steps: [{id: a, run: 'id -u; id -g; echo x > f; setsid sleep 300 & ls /proc | grep -c ^[0-9]'}]\n",
    );
    let folder = scratch.root().parent().unwrap().to_owned();
    let kb = Path::new(env!("CARGO_BIN_EXE_kb"));
    let give = format!("chown -R 12345:12345 {0} && chmod 755 {0}", folder.display());
    assert!(std::process::Command::new("sh").args(["-c", &give]).finish().status.success());
    let user = ["--reuid=12345", "--regid=12345", "--clear-groups"];
    if !with_privileges(&scratch, kb, &user).arg("--version").finish().status.success() {
        return; // The program lies where that user may not go.
    }
    let call = |args: &[&str]| {
        let ended = with_privileges(&scratch, kb, &user).args(args).finish();
        assert!(ended.status.success(), "{ended:?}");
        String::from_utf8(ended.stdout).unwrap()
    };
    call(&["playbook", "run", "p"]);
    let output = call(&["run", "output", "@last", "a"]);
    let lines: Vec<&str> = output.lines().collect();
    assert!(lines[..2] == ["12345", "12345"] && lines[2].len() == 1, "{output}");
    assert_eq!(alive::working_below(&scratch.root()), [""; 0]);
    let start = call(&["run", "events", "@last"]);
    assert!(start.contains("\"process\":\"pidNamespace\""), "{start}");
}

#[test]
fn a_step_whose_cell_is_killed_is_lost_and_can_be_retried() {
    let body = "run: 'test -e began && exit 0; touch began; setsid sleep 300 & sleep 300'";
    let attack = |scratch: &Scratch| {
        let child = scratch.command().args(["playbook", "run", "p"]).stdout(Stdio::piped()).start();
        appears(scratch, "began");
        let init = alive::child(child.id() as i32, "kb-init");
        let worker = alive::child(init.as_raw_nonzero().get(), "kb-worker");
        rustix::process::kill_process(worker, rustix::process::Signal::KILL).unwrap();
        let ended = child.finish();
        assert_eq!(alive::working_below(&scratch.root()), [""; 0]);
        (ended.status.code(), String::from_utf8(ended.stdout).unwrap())
    };
    let scratch = project(&format!("steps: [{{id: a, {body}}}]\n"));
    let (code, said) = attack(&scratch);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("KB0570") && said.contains("kb run retry"), "{said}");
    let retry = "retry: {max: 1, initial: 1ms}";
    let scratch = project(&format!("steps: [{{id: a, {retry}, {body}}}]\n"));
    assert_eq!(attack(&scratch).0, Some(0));
    assert_eq!(step(&show(&scratch), "a")["attempts"], 2);
}
