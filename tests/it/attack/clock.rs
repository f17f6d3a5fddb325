//! A wall clock that is set back a day while a run waits: in the process that waits, and between two
//! processes of the run.

use crate::disk::compiled;
use crate::running::Start;
use crate::scratch::Scratch;
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The file with the difference between the clock of `kb` and that of the system, in seconds.
fn difference(scratch: &Scratch) -> PathBuf {
    scratch.root().join("clock")
}

/// Lets `kb` read its clock through the library of `tests/faults/clock.c`.
fn on(scratch: &Scratch, command: &mut Command) {
    command.env("LD_PRELOAD", compiled("clock")).env("KB_FAULT_CLOCK", difference(scratch));
}

/// Times of events in the order of the journal.
fn times(scratch: &Scratch) -> Vec<String> {
    let events = scratch.kb(&["run", "events", "@last"]).code(0).events();
    let time = |event: &Value| event["time"].as_str().unwrap_or_default().to_owned();
    events.iter().map(time).collect()
}

/// The first attempt sets the clock back a day; then a retry and a wait wait.
#[test]
fn a_clock_that_is_set_back_extends_no_wait_of_its_process() {
    let scratch = Scratch::new(&[(
        "playbooks/p.yml",
        "schema: kb.playbook/1
id: p
steps:
  - {id: a, run: 'test -f back || { sleep 0.3; echo -86400 > clock; touch back; exit 1; }', retry: {max: 1, initial: 500ms}}
  - {id: w, wait: 2s}
",
    )]);
    let args = ["playbook", "run", "p"];
    scratch.kb_with(&args, |kb| on(&scratch, kb)).code(0).says(&["p succeeded"]);
    assert!(scratch.has("back") && scratch.read("clock").contains("-86400"));
    let times = times(&scratch);
    assert!(times.is_sorted(), "{times:#?}");
}

/// The process is killed while the run waits, and another continues it a day earlier.
#[test]
fn a_clock_that_is_set_back_between_processes_extends_no_wait() {
    let playbook = "schema: kb.playbook/1
id: p
steps:
  - {id: w, wait: 20s}
  - {id: b, dependsOn: w, run: 'true'}
";
    let scratch = Scratch::new(&[("playbooks/p.yml", playbook)]);
    let mut command = scratch.command();
    on(&scratch, command.args(["playbook", "run", "p", "--json"]));
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut first = command.start();
    let mut lines = BufReader::new(first.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("\"step:waiting\"")), "the run does not wait");
    drop(first);
    std::fs::write(difference(&scratch), "-86400\n").unwrap();
    let said = scratch.kb_with(&["run", "resume", "@last"], |kb| on(&scratch, kb)).code(0);
    said.says(&["p succeeded"]);
    let times = times(&scratch);
    assert!(times.is_sorted(), "{times:#?}");
}
