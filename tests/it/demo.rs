//! `kb demo`: the whole thing, also killed in the middle.

use crate::running::Start;
use crate::scratch::Scratch;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

const MADE: [&str; 2] = ["demo/src/greeting.sh", "demo/tests/greeting_test.sh"];

fn files(scratch: &Scratch) -> BTreeMap<&'static str, String> {
    MADE.into_iter().map(|path| (path, scratch.read(path))).collect()
}

#[test]
fn the_gates_refute_four_lies_and_the_reworks_pass() {
    let scratch = Scratch::bare();
    let said = scratch.kb(&["demo", "--dir", "demo"]).code(0).says(&[
        "only the model is scripted",
        "`src/greeting.sh` is claimed as created, but no recorded call wrote it",
        "`sh -n src/greeting.sh` is claimed to have run, but no recorded call ran it",
        "`sh -eu tests/greeting_test.sh` exited with code 1",
        "rework 2 of 2",
        "implement failed → failed → passed",
        "test failed → failed → passed",
        "created src/greeting.sh, tests/greeting_test.sh",
        "export ANTHROPIC_API_KEY",
    ]);
    assert!(said.out.contains("4 succeeded, 2 skipped"), "{}", said.out);
    assert!(files(&scratch)[MADE[0]].contains("say_greeting()"));
}

#[test]
fn its_events_tell_the_same_story_live_and_later() {
    let scratch = Scratch::bare();
    let live = scratch.kb(&["demo", "--dir", "demo", "--json"]).code(0);
    for step in ["implement", "test"] {
        let verdicts: Vec<String> = live
            .events()
            .iter()
            .filter(|e| e["type"] == "verification:complete" && e["step"] == step)
            .map(|e| format!("{} of attempt {}", e["verdict"].as_str().unwrap(), e["attempt"]))
            .collect();
        assert_eq!(verdicts, ["failed of attempt 1", "failed of attempt 2", "passed of attempt 3"]);
    }
    let later = scratch.kb(&["-C", "demo", "run", "events", "@last"]).code(0);
    assert_eq!(live.out, later.out);
}

#[test]
fn a_folder_with_something_in_it_is_left_alone() {
    let scratch = Scratch::bare();
    scratch.write("demo/mine.txt", "x");
    scratch.kb(&["demo", "--dir", "demo"]).code(2).says(&["is not empty"]);
    assert!(!scratch.has("demo/.kb"));
}

/// Starts the demo and kills it without mercy once an event of this kind has been seen so often.
fn killed_at(kind: &str, count: usize) -> Scratch {
    let scratch = Scratch::bare();
    let mut child = scratch
        .command()
        .args(["demo", "--dir", "demo", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .start();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let wanted = format!("\"type\":\"{kind}\"");
    let seen =
        lines.map_while(Result::ok).filter(|line| line.contains(&wanted)).take(count).count();
    assert_eq!(seen, count, "{kind}");
    child.kill().unwrap();
    child.wait().unwrap();
    scratch
}

#[test]
fn killed_in_the_middle_and_resumed_it_ends_in_the_same_files() {
    let whole = Scratch::bare();
    whole.kb(&["demo", "--dir", "demo", "--quiet"]).code(0);
    for (kind, count) in [("model:call", 2), ("recovery:applied", 1), ("tool:call", 7)] {
        let scratch = killed_at(kind, count);
        let shown = scratch.json(&["-C", "demo", "run", "show", "@last", "--json"]);
        assert_eq!(shown["status"], "interrupted", "{kind}");
        scratch.kb(&["-C", "demo", "run", "show", "@last"]).code(0).says(&["kb run resume"]);
        scratch.kb(&["-C", "demo", "run", "resume", "@last"]).code(0).says(&["implement"]);
        assert_eq!(files(&scratch), files(&whole), "{kind}");
        let status = scratch.json(&["-C", "demo", "run", "show", "@last", "--json"]);
        assert_eq!(status["status"], "succeeded", "{kind}");
    }
}
