//! The output of a running step: readable while it runs, kept when `kb` is killed, its end kept however long it is.

use crate::locks::{project, start, wait_for};
use crate::running::Start;
use crate::scratch::Scratch;
use std::time::{Duration, Instant};

fn logs(scratch: &Scratch) -> String {
    scratch.kb(&["run", "logs", "@last", "slow"]).out
}

/// A step that writes a line with the time, in milliseconds, and then waits for a file.
const SLOW: &str = "steps: [{id: slow, run: 'echo begun; sleep 0.3; echo at-$(date +%s%3N); echo why >&2; \
                    until test -e go; do sleep 0.02; done; echo gone on'}]\n";

#[test]
fn output_is_in_the_log_while_the_step_runs() {
    let scratch = project(SLOW);
    let running = start(&scratch, &["playbook", "run", "p"]);
    wait_for("the line in the log", || logs(&scratch).contains("at-"));
    let seen = std::time::UNIX_EPOCH.elapsed().unwrap().as_millis() as i64;
    let log = logs(&scratch);
    let written: i64 = log.split("at-").nth(1).unwrap().lines().next().unwrap().parse().unwrap();
    assert!(seen - written < 2000, "{} ms behind", seen - written);
    assert!(log.contains("stdout  slow  begun") && log.contains("stderr  slow  why"), "{log}");
    assert!(!log.contains("gone on"), "{log}");
    scratch.write("go", "");
    assert_eq!(running.finish().status.code(), Some(0));
    let log = logs(&scratch);
    for line in ["begun", "why", "gone on"] {
        assert_eq!(log.matches(&format!("slow  {line}\n")).count(), 1, "{log}");
    }
    // The whole is the output of the step, as of a short one.
    let output = scratch.kb(&["run", "output", "@last", "slow"]).code(0).out;
    assert!(output.contains("begun") && output.contains("gone on"), "{output}");
}

#[test]
fn output_of_a_killed_process_stays_in_the_log_and_that_of_the_next_attempt_follows() {
    let scratch = project(SLOW);
    let mut running = start(&scratch, &["playbook", "run", "p"]);
    wait_for("the line in the log", || logs(&scratch).contains("at-"));
    running.kill().unwrap();
    running.wait().unwrap();
    assert!(logs(&scratch).contains("slow  why"));
    scratch.write("go", "");
    scratch.kb(&["run", "resume", "@last"]).code(0);
    let log = logs(&scratch);
    assert_eq!(log.matches("slow  begun\n").count(), 2, "one for each attempt: {log}");
    assert_eq!(log.matches("slow  gone on\n").count(), 1, "{log}");
    scratch.kb(&["run", "verify", "@last"]).code(0);
}

#[test]
fn a_secret_is_masked_in_the_output_of_a_running_step() {
    let scratch = Scratch::new(&[
        (
            ".kb/playbooks/p.yml",
            "schema: kb.playbook/1\nid: p\nsteps: [{id: slow, env: {T: '{{secrets.T}}'}, \
             run: 'printf \"a $T\"; sleep 0.3; echo; printf \"${T:0:9}\"; sleep 0.3; echo \"${T:9} end\"; sleep 0.3'}]\n",
        ),
        (".kb/kb.config.yml", "secrets: {T: \"env:MY_TOKEN\"}\n"),
    ]);
    let mut command = scratch.command();
    command.args(["playbook", "run", "p"]).env("MY_TOKEN", "tok-5f1e9a77c0d2b4");
    assert_eq!(command.finish().status.code(), Some(0));
    let log = logs(&scratch);
    let events = scratch.kb(&["run", "events", "@last"]).out;
    assert!(events.contains("step:output") && log.contains("end"), "{log}");
    assert!(!(log + &events).contains("5f1e9a77c0d2b4"));
}

/// A terminal removes colours; a value that they divide is masked all the same.
#[test]
fn a_secret_that_colours_divide_is_not_shown() {
    let scratch = Scratch::new(&[
        (
            ".kb/playbooks/p.yml",
            "schema: kb.playbook/1\nid: p\nsteps: [{id: slow, env: {T: '{{secrets.T}}'}, \
             run: 'printf \"${T:0:9}\\033[31m${T:9:3}\\033[0m${T:12}\\n\"; sleep 0.3; echo end'}]\n",
        ),
        (".kb/kb.config.yml", "secrets: {T: \"env:MY_TOKEN\"}\n"),
    ]);
    let mut command = scratch.command();
    command.args(["playbook", "run", "p"]).env("MY_TOKEN", "tok-5f1e9a77c0d2b4");
    let ran = command.finish();
    let said = String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned();
    let said = anstream::adapter::strip_str(&said).to_string();
    assert!(said.contains("end") && !said.contains("tok-5f1e9a77c0d2b4"), "{said}");
    let log = anstream::adapter::strip_str(&logs(&scratch)).to_string();
    assert!(log.contains("end") && !log.contains("tok-5f1e9a77c0d2b4"), "{log}");
}

/// A secret over the places where a long line, or the kept beginning of the output, ends.
#[test]
fn half_a_secret_is_in_no_log_where_output_is_divided() {
    let long = |bytes: &str| {
        format!(
            "echo begun; sleep 0.3; head -c {bytes} /dev/zero | tr '\\0' x; printf \"${{T:0:9}}\"; sleep 0.3; \
             echo \"${{T:9}}\"; sleep 0.3; echo end"
        )
    };
    for script in [
        long("66000"),
        long("1100000"),
        "head -c 1048567 /dev/zero | tr '\\0' x; printf \"$T\"; echo; echo end; exit 1".to_owned(),
    ] {
        let step = serde_json::json!({"id": "slow", "env": {"T": "{{secrets.T}}"}, "run": script});
        let playbook = serde_json::json!({"schema": "kb.playbook/1", "id": "p", "steps": [step]});
        let scratch = Scratch::new(&[
            (".kb/playbooks/p.yml", &playbook.to_string()),
            (".kb/kb.config.yml", "secrets: {T: \"env:MY_TOKEN\"}\n"),
        ]);
        let mut command = scratch.command();
        command.args(["playbook", "run", "p"]).env("MY_TOKEN", "tok-5f1e9a77c0d2b4");
        let ended = command.finish();
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        let text = logs(&scratch) + &scratch.kb(&["run", "events", "@last"]).out + &said;
        assert!(text.contains("end"), "{script}");
        assert!(!text.contains("9a77c0d2b4") && !text.contains("a77c0d2b4"), "{script}");
        assert!(!text.contains("tok-5f1e9"), "{script}");
    }
}

#[test]
fn the_end_of_long_output_is_the_reason_and_is_in_the_log() {
    let scratch = project("steps: [{id: slow, run: 'seq 1 400000; echo FATAL; exit 1'}]\n");
    let said = scratch.kb(&["playbook", "run", "p"]).code(1);
    said.says(&["exit code 1: FATAL", "slow | FATAL"]);
    let log = logs(&scratch);
    assert_eq!(log.matches("stdout  slow  ").count(), 400_001, "every line is in the log");
    assert!(log.contains("slow  FATAL\n"));
}

#[test]
fn of_more_output_than_the_log_keeps_the_beginning_and_the_end_are_kept_and_the_rest_is_counted() {
    let long =
        "echo first; yes 0123456789abcdef | head -c 20000000 || true; echo; echo last; exit 3";
    let scratch = project(&format!("steps: [{{id: slow, run: '{long}'}}]\n"));
    scratch.write(".kb/kb.config.yml", "journal: {stepLogMib: 4}\n");
    let begun = Instant::now();
    scratch.kb(&["playbook", "run", "p"]).code(1).says(&["exit code 3: last"]);
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    let log = logs(&scratch);
    assert!(log.contains("slow  first\n") && log.contains("slow  last\n"));
    assert!(log.contains("bytes are not kept here"));
    let kept: usize = log.matches("0123456789abcdef").count() * 17;
    assert!((5 << 19..9 << 19).contains(&kept), "{kept} bytes are kept");
}

/// After the budget of a run, the end of each output is kept.
#[test]
fn a_run_keeps_no_more_output_than_its_budget() {
    let long = "echo first; yes 0123456789abcdef | head -c 4000000 || true; echo; echo last";
    let scratch = project(&format!(
        "steps: [{{id: slow, run: '{long}'}}, {{id: later, dependsOn: slow, run: '{long}'}}]\n"
    ));
    scratch.write(".kb/kb.config.yml", "journal: {stepLogMib: 16, runLogMib: 1}\n");
    scratch.kb(&["playbook", "run", "p"]).code(0);
    let log = scratch.kb(&["run", "logs", "@last"]).code(0).out;
    assert!(log.contains("slow  first\n") && log.contains("slow  last\n"));
    assert!(log.contains("later  last\n") && log.contains("bytes are not kept here"));
    let kept: usize = log.matches("0123456789abcdef").count() * 17;
    assert!(kept < 5 << 20, "{kept} bytes are kept");
}

#[test]
fn each_attempt_and_iteration_has_its_log() {
    let scratch = project(
        "steps: [{id: slow, retry: {max: 1, on: [exit]}, run: 'echo attempt-$KB_ATTEMPT; exit 3'}]\n",
    );
    scratch.kb(&["playbook", "run", "p"]).code(1);
    scratch.kb(&["run", "retry", "@last"]).code(1);
    let count = |more: &[&str]| {
        let log = scratch.kb(&[&["run", "logs", "@last", "slow"], more].concat()).code(0).out;
        ["  attempt-1\n", "  attempt-2\n"].map(|text| log.matches(text).count())
    };
    assert_eq!(count(&[]), [2, 2]);
    assert_eq!(count(&["--attempt", "2"]), [0, 2]);
    assert_eq!(count(&["--iteration", "2"]), [1, 1]);
    assert_eq!(count(&["--iteration", "2", "--attempt", "1"]), [1, 0]);
    let none = scratch.kb(&["run", "logs", "@last", "slow", "--attempt", "9"]).code(2);
    none.says(&["the step `slow` has no attempt 9", "1.1, 1.2, 2.1, 2.2"]);
}
