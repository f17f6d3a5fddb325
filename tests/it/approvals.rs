//! Tool calls that wait for the approval of a person, through the binary.

use crate::scratch::{Said, Scratch};
use serde_json::Value;

const SPECIALIST: &str = "\
schema: kb.specialist/1
id: coder
role: You write code.
tools: [fs:write, fs:read]
";

const PLAYBOOK: &str = "\
schema: kb.playbook/1
id: work
steps:
  - {id: code, specialist: coder, task: Write the files., verify: {claims: none}}
  - {id: after, dependsOn: [code], run: cat a.txt}
outputs: {said: '{{after.output}}', report: '{{code.output}}'}
";

const SETTINGS: &str = "tools: {security: {fs:write: {requires_approval: true}}}\n";

/// The turns of a script: writes of these files, one turn each, then the output.
fn script(writes: &[(&str, &str)]) -> String {
    let turn = |(path, content): &(&str, &str)| {
        format!("    - calls: [{{tool: fs:write, args: {{path: {path}, content: {content}}}}}]\n")
    };
    let turns: String = writes.iter().map(turn).collect();
    format!("schema: kb.script/1\nsteps:\n  code:\n{turns}    - output: {{summary: done}}\n")
}

fn project(settings: &str, script: &str) -> Scratch {
    Scratch::new(&[
        (".kb/kb.config.yml", settings),
        (".kb/specialists/coder.yml", SPECIALIST),
        ("playbooks/work.yml", PLAYBOOK),
        ("script.yml", script),
    ])
}

fn start(scratch: &Scratch) -> Said {
    scratch.kb(&["playbook", "run", "work", "--script", "script.yml"])
}

fn show(scratch: &Scratch) -> Value {
    serde_json::from_str(&scratch.kb(&["run", "show", "@last", "--json"]).out).unwrap()
}

fn question(scratch: &Scratch) -> String {
    show(scratch)["steps"][0]["question"]["text"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_call_waits_for_a_person_and_the_attempt_continues_with_the_decision() {
    let scratch = project(SETTINGS, &script(&[("a.txt", "one"), ("b.txt", "two")]));
    let said = start(&scratch);
    assert_eq!(said.code, 3, "{said:?}");
    assert!(!scratch.root().join("a.txt").exists());
    let first = question(&scratch);
    assert!(first.contains("`coder` requests `fs:write`"), "{first}");
    assert!(first.contains(r#"{"path":"a.txt","content":"one"}"#), "{first}");

    // The next call is another one: it is asked about again.
    let said = scratch.kb(&["run", "approve", "@last", "code"]);
    assert_eq!(said.code, 3, "{said:?}");
    assert_eq!(scratch.read("a.txt"), "one");
    let second = question(&scratch);
    assert!(second.contains("b.txt") && second != first, "{second}");

    let said = scratch.kb(&["run", "reject", "@last", "code", "--comment", "not that one"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(!scratch.root().join("b.txt").exists());
    let view = show(&scratch);
    assert_eq!(view["status"], "succeeded");
    assert_eq!(view["steps"][0]["attempts"], 1, "the attempt continued: {view}");
    assert_eq!(view["usage"]["modelCalls"], 3, "no model call was repeated: {view}");
    let logs = scratch.kb(&["run", "events", "@last"]).out;
    assert!(logs.contains("not that one"), "{logs}");
    assert_eq!(scratch.kb(&["run", "verify", "@last"]).code, 0);
}

#[test]
fn an_approval_is_bound_to_the_arguments() {
    let scratch = project(SETTINGS, &script(&[("a.txt", "one"), ("a.txt", "two")]));
    assert_eq!(start(&scratch).code, 3);
    let first = question(&scratch);
    let hash = &first[first.find('[').unwrap() + 1..][..12];
    let wrong = scratch.kb(&["run", "approve", "@last", "code", "--call", "0123456789ab"]);
    assert_ne!(wrong.code, 0, "{wrong:?}");
    assert!(wrong.err.contains("waits for another decision now"), "{wrong:?}");
    assert!(!scratch.root().join("a.txt").exists());
    assert_eq!(scratch.kb(&["run", "approve", "@last", "code", "--call", hash]).code, 3);
    // The digest of the first call does not approve the second.
    let stale = scratch.kb(&["run", "approve", "@last", "code", "--call", hash]);
    assert!(stale.err.contains("waits for another decision now"), "{stale:?}");
    assert_eq!(scratch.read("a.txt"), "one");
}

#[test]
fn an_approval_holds_for_equal_calls_until_a_file_has_changed() {
    let settings = "tools: {security: {file_read: {requires_approval: true}}}\n";
    let read = "    - calls: [{tool: fs:read, args: {path: script.yml}}]\n";
    let write = "    - calls: [{tool: fs:write, args: {path: a.txt, content: one}}]\n";
    let turns = [read, read, write, read, "    - output: {summary: done}\n"].concat();
    let scratch = project(settings, &format!("schema: kb.script/1\nsteps:\n  code:\n{turns}"));
    assert_eq!(start(&scratch).code, 3);
    // The second read needs no other approval; the third follows a change.
    assert_eq!(scratch.kb(&["run", "approve", "@last"]).code, 3);
    assert_eq!(scratch.read("a.txt"), "one");
    let said = scratch.kb(&["run", "approve", "@last"]);
    assert_eq!(said.code, 0, "{said:?}");
    let asked = scratch.kb(&["run", "events", "@last", "--json"]).out.matches("ask:opened").count();
    assert_eq!(asked, 2);
}

#[test]
fn a_waiting_call_survives_resumes_and_a_cancellation() {
    let scratch = project(SETTINGS, &script(&[("a.txt", "one")]));
    assert_eq!(start(&scratch).code, 3);
    for _ in 0..2 {
        let said = scratch.kb(&["run", "resume", "@last"]);
        assert_eq!(said.code, 3, "{said:?}");
        assert!(question(&scratch).contains("a.txt"));
        assert!(!scratch.root().join("a.txt").exists());
    }
    assert_eq!(scratch.kb(&["run", "cancel", "@last"]).code, 0);
    assert_eq!(show(&scratch)["status"], "cancelled");
    assert!(!scratch.root().join("a.txt").exists());
}

#[test]
fn yes_approves_every_call_of_a_run() {
    let scratch = project(SETTINGS, &script(&[("a.txt", "one")]));
    let said = scratch.kb(&["playbook", "run", "work", "--script", "script.yml", "--yes"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(scratch.read("a.txt"), "one");
}

#[test]
fn the_security_of_a_specialist_narrows_the_settings() {
    let own = |security: &str, settings: &str| {
        let scratch = project(settings, &script(&[("a.txt", "one")]));
        scratch.write(".kb/specialists/coder.yml", &format!("{SPECIALIST}{security}\n"));
        let said = start(&scratch);
        (said.code, scratch.root().join("a.txt").exists())
    };
    let none = "{}\n";
    assert_eq!(own("", none), (0, true));
    assert_eq!(own("security: {tools: {fs:write: {requires_approval: true}}}", none), (3, false));
    let docs = "security: {tools: {file_write: {allowed_paths: [\"docs/**\"]}}}";
    assert!(!own(docs, none).1);
    assert!(!own("security: {tools: {fs:write: {enabled: false}}}", none).1);
    assert!(!own("security: {tools: {allowed_tools: [fs:read]}}", none).1);
    // A specialist cannot take a restriction of the settings back.
    let free = "security: {tools: {fs:write: {requires_approval: false, enabled: true}}}";
    assert_eq!(own(free, SETTINGS), (3, false));
}

#[test]
fn the_audit_lists_every_call_with_who_permitted_it() {
    let settings =
        "tools: {security: {fs:write: {requires_approval: true}, fs:delete: {enabled: false}}}\n";
    let turns = "    - calls: [{tool: fs:read, args: {path: script.yml}}, {tool: fs:delete, args: {path: x}}]
    - calls: [{tool: fs:write, args: {path: a.txt, content: one}}]
    - calls: [{tool: fs:write, args: {path: b.txt, content: two}}]
    - output: {summary: done}\n";
    let scratch = project(settings, &format!("schema: kb.script/1\nsteps:\n  code:\n{turns}"));
    assert_eq!(start(&scratch).code, 3);
    assert_eq!(scratch.kb(&["run", "approve", "@last"]).code, 3);
    assert_eq!(scratch.kb(&["run", "reject", "@last", "code"]).code, 0);
    let calls = scratch.json(&["run", "audit", "@last", "--json"]);
    let row = |call: &Value| {
        let text = |key: &str| call[key].as_str().unwrap_or("-").to_owned();
        format!("{} {} {} {}", text("tool"), text("level"), text("status"), call["approved"])
    };
    let rows: Vec<String> = calls.as_array().unwrap().iter().map(row).collect();
    let expected = [
        "fs:read moderate success null",
        "fs:delete restricted denied null",
        "fs:write restricted success true",
        "fs:write restricted denied false",
        // The command of the author, which ran in the sandbox.
        "run - success null",
    ];
    assert_eq!(rows, expected);
    assert!(calls[2]["argsHash"].as_str().is_some_and(|hash| hash.len() == 64), "{calls}");
    let said = scratch.kb(&["run", "audit", "@last", "--decided"]).code(0);
    assert!(!said.out.contains("fs:read") && said.out.contains("no rule (KB0601)"), "{said:?}");
}
