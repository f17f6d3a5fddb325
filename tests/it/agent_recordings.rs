//! Runs with coding agents that are recorded, and played as tests without the agent.

use crate::agent_sessions::{ANSWER, WRITES, sessions};
use crate::agents::{calls, project, verdicts};
use crate::scratch::{Said, Scratch};

const SCRIPT: &str = ".kb/tests/session.script.yml";

/// Runs the playbook of an agent that does this, one thing a line.
fn run(scratch: &Scratch, lines: &[&str], more: &[&str]) -> Said {
    let what = format!("what={}", lines.join("\n"));
    let args = ["playbook", "run", "p", "--param", &what, "--json"];
    scratch.kb(&[&args, more].concat())
}

/// Takes the agent away.
fn remove(scratch: &Scratch, program: &str) {
    scratch.write(program, "import sys\nsys.exit('the agent was started')\n");
}

#[test]
fn a_recorded_lie_of_an_agent_and_its_rework_are_played_without_it() {
    let scratch = sessions(true, 1, "");
    let again = [format!("again {WRITES}"), "again say Now.".to_owned(), format!("again {ANSWER}")];
    let lines: Vec<&str> = again.iter().map(String::as_str).chain([ANSWER]).collect();
    let said = run(&scratch, &lines, &["--record", SCRIPT]);
    assert_eq!(verdicts(&said), ["failed", "passed"], "{}", said.out);
    let script = scratch.read(SCRIPT).replace(['"', '\''], "");
    for text in ["a#2:", "tool: fs:write", "reports: think", "given:", "summary"] {
        assert!(script.contains(text), "{text}: {script}");
    }
    remove(&scratch, "../agent.py");
    scratch.kb(&["playbook", "test"]).code(0).says(&["1 test: 1 passed"]);

    // What is played is under the policy, as the call of the agent was.
    let coder = scratch.read(".kb/specialists/coder.yml");
    scratch.write(".kb/specialists/coder.yml", &coder.replace(", 'fs:write'", ""));
    let failed = scratch.kb(&["playbook", "test"]).code(1);
    failed.says(&[
        "expected the verdict of `a` to be passed, found failed",
        "of `fs:write` was denied",
    ]);
}

#[test]
fn what_an_agent_did_by_itself_is_done_again_and_proves_no_more_than_before() {
    let scratch = project(0, "tools: ['fs:read', 'fs:write', 'fs:delete', 'shell:exec']\n");
    scratch.write("old.txt", "old\n");
    scratch.write("big.txt", &"x".repeat(300 << 10));
    let answer = r#"answer {"summary": "Made.", "filesCreated": ["own.txt", "by-kb.txt"], "commandsRun": ["make check"]}"#;
    let lines = [
        "write own.txt hello {{x}}",
        "client by-kb.txt hi",
        "show by-kb.txt",
        "ask edit own.txt",
        "run make check",
        "delete old.txt",
        "say Made.",
        answer,
    ];
    let said = run(&scratch, &lines, &["--record", SCRIPT, "--yes"]);
    assert_eq!(verdicts(&said), ["inconclusive"], "{}", said.out);
    let recorded = calls(&scratch);
    assert!(recorded.contains(&"reported:execute success".to_owned()), "{recorded:?}");
    assert!(!scratch.has("old.txt"), "{}", said.out);
    scratch.kb(&["playbook", "test"]).code(0).says(&["1 test: 1 passed"]);

    // The same calls are recorded, and the same files change.
    ["own.txt", "by-kb.txt"].iter().for_each(|path| {
        std::fs::remove_file(scratch.root().join(path)).unwrap();
    });
    scratch.write("old.txt", "old\n");
    remove(&scratch, "agent.py");
    let played = run(&scratch, &lines, &["--script", SCRIPT, "--yes"]);
    assert_eq!(verdicts(&played), ["inconclusive"], "{}", played.out);
    assert_eq!(calls(&scratch), recorded);
    assert_eq!(scratch.read("own.txt"), "hello {{x}}\n");
    assert!(!scratch.has("old.txt"));
    scratch.kb(&["run", "diff", "@last"]).says(&["own.txt", "old.txt", "by-kb.txt"]);
    scratch.kb(&["run", "verify", "@last"]).code(0);
}

#[test]
fn an_agent_that_ended_in_its_turn_ends_so_when_it_is_played() {
    let scratch = project(0, "tools: ['fs:read', 'fs:write']\n");
    run(&scratch, &["write own.txt hello", "exit"], &["--record", SCRIPT]).code(1);
    remove(&scratch, "agent.py");
    std::fs::remove_file(scratch.root().join("own.txt")).unwrap();
    scratch.kb(&["playbook", "test"]).code(0).says(&["1 test: 1 passed"]);
    let played = run(&scratch, &["x"], &["--script", SCRIPT]).code(1);
    played.says(&["KB1403", "the agent `agent` ended (exit code 7): the model has gone"]);
    assert_eq!(scratch.read("own.txt"), "hello\n");
}

/// A script does not say what an agent can change: the tools of its specialist do, as for the agent itself.
#[test]
fn a_played_agent_changes_no_file_that_it_could_not_change_itself() {
    for (own, tools, writes) in [
        ("own", "'fs:read'", false),
        ("own", "'fs:read', 'fs:write'", true),
        ("kb", "'fs:read'", false),
        ("kb", "'fs:read', 'fs:write'", false),
    ] {
        for event in ["{writes: new.txt, content: x}", "{deletes: old.txt}"] {
            let scratch = project(0, &format!("tools: [{tools}]\n"));
            let coder = scratch.read(".kb/specialists/coder.yml");
            let coder = coder.replace("tools: own", &format!("tools: {own}"));
            scratch.write(".kb/specialists/coder.yml", &coder);
            scratch.write("old.txt", "old\n");
            let turn = format!("{{agent: [{event}], say: '{{}}'}}");
            scratch.write("s.yml", &format!("schema: kb.script/1\nsteps: {{a: [{turn}]}}\n"));
            let said = run(&scratch, &["x"], &["--script", "s.yml"]);
            let changed = scratch.has("new.txt") || !scratch.has("old.txt");
            assert_eq!(changed, writes, "{own} {tools} {event}: {}", said.out);
            if !writes {
                said.says(&["KB0601", "the agent of `coder` cannot change files by itself"]);
            }
        }
    }
}
