//! Sessions of coding agents that go on: after a refuted gate, after `kill -9`, and after the decision of a person.

use crate::agent_tools::project;
use crate::agents::{calls, notes, run, verdicts};
use crate::running::Start;
use crate::scratch::{Said, Scratch, until};
use std::time::Duration;

const GOES_ON: &str = "has started and continues its session";

/// A project with the tools of `kb` whose agent can load sessions, or not.
pub(crate) fn sessions(loads: bool, reworks: u32, more: &str) -> Scratch {
    let scratch = project(reworks, "'fs:read', 'fs:write'", more);
    let text = scratch.read(".kb/specialists/coder.yml");
    let word = if loads { ", load" } else { "" };
    scratch.write(
        ".kb/specialists/coder.yml",
        &text.replace("/agent.py]", &format!("/agent.py{word}]")),
    );
    scratch
}

pub(crate) const WRITES: &str = r#"tool fs_write {"path": "new.txt", "content": "hello"}"#;
pub(crate) const ANSWER: &str = r#"answer {"summary": "Wrote.", "filesCreated": ["new.txt"]}"#;

/// The prompts of the last run, as they are recorded.
fn prompts(scratch: &Scratch) -> String {
    scratch.kb(&["run", "logs", "@last", "a", "--prompts"]).out
}

#[test]
fn a_lie_is_refuted_corrected_in_the_same_session_and_passed() {
    let scratch = sessions(true, 1, "");
    let again = [format!("again {WRITES}"), "again say Now.".to_owned(), format!("again {ANSWER}")];
    let lines: Vec<&str> = again.iter().map(String::as_str).chain([ANSWER]).collect();
    let said = run(&scratch, &lines);
    assert_eq!(verdicts(&said), ["failed", "passed"], "{}", said.out);
    assert!(!said.out.contains("old words"), "{}", said.out);
    assert_eq!(notes(&said).matches(GOES_ON).count(), 1, "{}", notes(&said));
    let prompts = prompts(&scratch);
    let second = prompts.rsplit("Your previous attempt was rejected").next().unwrap();
    assert!(second.contains("it is not on disk") && !second.contains("# Task"), "{prompts}");
    // What an agent stored goes with the run.
    let state = scratch.root().parent().unwrap().join("state");
    assert!(homes(&state).is_empty(), "{:?}", homes(&state));

    // Without sessions that can be loaded, the next attempt gets the whole task.
    let scratch = sessions(false, 1, "");
    let said = run(&scratch, &[ANSWER]).code(1);
    assert_eq!(notes(&said).matches(GOES_ON).count(), 0);
    assert_eq!(self::prompts(&scratch).matches("# Task").count(), 2);
}

/// The home folders of agents below a state folder.
fn homes(state: &std::path::Path) -> Vec<std::path::PathBuf> {
    let below = |path: &std::path::Path| {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let projects = below(state).into_iter().flat_map(|path| {
        let inner = below(&path);
        inner.into_iter().chain([path])
    });
    projects.flat_map(|project| below(&project.join("agents"))).collect()
}

#[test]
fn a_session_goes_on_after_the_process_was_killed() {
    for loads in [true, false] {
        let scratch = sessions(loads, 0, "");
        let again = [format!("again {ANSWER}")];
        let lines = [again[0].as_str(), &format!("once {WRITES}"), "once hang", ANSWER];
        let what = format!("what={}", lines.join("\n"));
        let mut command = scratch.command();
        command.args(["playbook", "run", "p", "--param", &what, "--json"]);
        let running = command.start();
        until("the agent has written", || scratch.has("new.txt"));
        std::thread::sleep(Duration::from_millis(100));
        // With SIGKILL.
        drop(running);
        let said = scratch.kb(&["run", "resume", "@last", "--json"]);
        assert_eq!(verdicts(&said), ["passed"], "{loads}: {}", said.out);
        assert_eq!(notes(&said).contains(GOES_ON), loads, "{}", notes(&said));
        let prompts = prompts(&scratch);
        let last = prompts.rsplit("What an interrupted session did").next().unwrap();
        assert!(last.contains("fs:write") && last.contains("success"), "{prompts}");
        assert_eq!(prompts.contains("Your session was interrupted"), loads, "{prompts}");
        assert_eq!(calls(&scratch).iter().filter(|call| call.starts_with("fs:write")).count(), 1);
        scratch.kb(&["run", "verify", "@last"]).code(0);
    }
}

const APPROVED: &str = "security: {tools: {fs:write: {requires_approval: true}}}\n";

/// A call of a tool of `kb`, and a call of a tool of its own.
#[test]
fn a_call_that_needs_a_person_waits_for_one_and_the_session_goes_on() {
    for own in [false, true] {
        let start = || {
            let scratch = sessions(true, 0, APPROVED);
            let asks = if own { "ask edit new.txt" } else { WRITES };
            if own {
                let text = scratch.read(".kb/specialists/coder.yml");
                scratch.write(
                    ".kb/specialists/coder.yml",
                    &text.replace("agent: {", "agent: {tools: own, "),
                );
            }
            let again = [format!("again {asks}"), "again say Asked.".to_owned()];
            let answer = r#"answer {"summary": "Asked."}"#;
            let last = format!("again {answer}");
            let lines = [again[0].as_str(), again[1].as_str(), last.as_str(), asks, answer];
            let said: Said = run(&scratch, &lines).code(3);
            said.says(&["`coder` requests `fs:write` with", "new.txt"]);
            assert!(!scratch.has("new.txt"));
            scratch
        };
        let scratch = start();
        let said = scratch.kb(&["run", "approve", "@last", "a", "--json"]);
        let text = notes(&said);
        assert!(text.contains(GOES_ON), "{}", said.out);
        assert_eq!(scratch.has("new.txt"), !own, "{}", said.out);
        if own {
            assert!(text.contains("the agent may `edit`: edit new.txt"), "{text}");
        }
        assert!(prompts(&scratch).contains("`fs:write` is permitted as you asked for it"));

        let scratch = start();
        let said =
            scratch.kb(&["run", "reject", "@last", "a", "--comment", "not that file", "--json"]);
        let told = format!("{}{}", said.out, prompts(&scratch));
        assert!(told.contains("`fs:write` is refused: not that file"), "{told}");
        assert!(told.contains("rejected by"), "{told}");
        assert!(!scratch.has("new.txt"));
    }
}
