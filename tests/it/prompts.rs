//! Recorded prompts: what `kb run logs --prompts` shows, how often it is stored, and secrets in it.

use crate::running::Start;
use crate::scratch::Scratch;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

const SECRET: &str = "tok-9f31c77ab2e0";

const SPECIALIST: &str = "schema: kb.specialist/1
id: reader
role: You read files.
tools: [fs:read]
output: {schema: {summary: string}}
";

const PLAYBOOK: &str = "schema: kb.playbook/1
id: p
steps:
  - id: look
    specialist: reader
    task: Read both files.
    input: {first: a.txt}
    verify: {claims: none, expectChanges: false}
";

const SCRIPT: &str = "schema: kb.script/1
steps:
  look:
    - calls: [{tool: fs:read, args: {path: a.txt}}]
    - say: One more file.
      calls: [{tool: fs:read, args: {path: b.txt}}]
    - output: {summary: done}
";

fn project(settings: &str) -> Scratch {
    Scratch::new(&[
        ("playbooks/p.yml", PLAYBOOK),
        (".kb/specialists/reader.yml", SPECIALIST),
        (".kb/kb.config.yml", settings),
        ("script.yml", SCRIPT),
        ("a.txt", &format!("the key is {SECRET}\n")),
        ("b.txt", "nothing here\n"),
    ])
}

fn run(scratch: &Scratch) {
    let args = ["playbook", "run", "p", "--script", "script.yml"];
    scratch.kb_with(&args, |command| _ = command.env("KB_TOKEN", SECRET)).code(0);
}

#[test]
fn the_messages_and_tools_of_each_model_call_are_shown_once() {
    let scratch = project("{}\n");
    run(&scratch);
    let said = scratch.kb(&["run", "logs", "@last", "look", "--prompts"]).code(0).says(&[
        "turn 1 of `script`: 2 messages",
        "turn 2 of `script`: 4 messages, 2 shown above",
        "turn 3 of `script`: 6 messages, 4 shown above",
        "system  look  You read files.",
        "user  look  Read both files.",
        "\"first\": \"a.txt\"",
        "assistant  look  [call_1_1_1] fs:read {\"path\":\"a.txt\"}",
        "assistant  look  One more file.",
        "tool  look  [call_1_2_1] {\"content\":\"nothing here\\n\"",
        "\"name\": \"submit_output\"",
    ]);
    for once in ["You read files.", "Read both files.", "the key is", "\"name\": \"fs:read\""] {
        assert_eq!(said.out.matches(once).count(), 1, "`{once}` in:\n{}", said.out);
    }
    let without = scratch.kb(&["run", "logs", "@last", "look"]).code(0);
    assert!(!without.out.contains("You read files."), "{}", without.out);
}

#[test]
fn digest_keeps_no_prompt() {
    let scratch = project("journal: {prompts: digest}\n");
    run(&scratch);
    let said = scratch.kb(&["run", "logs", "@last", "look", "--prompts"]).code(0);
    let said = said.says(&["turn 1 of `script`: not recorded; digest "]);
    assert!(!said.out.contains("You read files."), "{}", said.out);
    scratch.kb(&["run", "verify", "@last"]).code(0);
}

#[test]
fn an_unknown_value_of_the_setting_is_refused() {
    let scratch = project("journal: {prompts: most}\n");
    scratch.kb(&["playbook", "validate"]).code(2).says(&["write one of full, digest"]);
}

#[test]
fn secrets_in_prompts_are_masked() {
    let scratch = project("secrets: {TOKEN: \"env:KB_TOKEN\"}\n");
    run(&scratch);
    let said = scratch.kb(&["run", "logs", "@last", "--prompts"]).code(0);
    assert!(said.out.contains("the key is «secret:TOKEN»"), "{}", said.out);
    assert!(!said.out.contains(SECRET), "{}", said.out);
    assert_eq!(files_with(&scratch.root(), SECRET), ["a.txt"]);
    scratch.kb(&["run", "verify", "@last"]).code(0);
}

#[test]
fn large_messages_become_blobs_and_are_shown_whole() {
    let scratch = project("{}\n");
    let role = format!("role: |\n{}", "  A line of the role.\n".repeat(1_000));
    let long = SPECIALIST.replace("role: You read files.\n", &role);
    scratch.write(".kb/specialists/reader.yml", &long);
    run(&scratch);
    let said = scratch.kb(&["run", "logs", "@last", "look", "--prompts"]).code(0);
    assert_eq!(said.out.matches("A line of the role.").count(), 1_000);
    scratch.kb(&["run", "verify", "@last"]).code(0);
}

#[test]
fn a_killed_and_resumed_run_shows_the_prompts_of_all_its_turns() {
    let scratch = project("{}\n");
    scratch.write(
        "script.yml",
        &SCRIPT.replace("    - output:", "    - delayMs: 3000\n      output:"),
    );
    let mut child = scratch
        .command()
        .args(["playbook", "run", "p", "--script", "script.yml", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .start();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let calls = lines.filter(|line| line.contains("\"type\":\"model:call\"")).take(2).count();
    assert_eq!(calls, 2);
    child.kill().unwrap();
    child.wait().unwrap();
    scratch.kb(&["run", "resume", "@last"]).code(0);
    scratch.kb(&["run", "logs", "@last", "look", "--prompts"]).code(0).says(&[
        "turn 1 of `script`: 2 messages",
        "turn 2 of `script`: 4 messages, 2 shown above",
        "turn 3 of `script`: 6 messages",
    ]);
    scratch.kb(&["run", "verify", "@last"]).code(0);
}

/// Paths of the files below a folder that contain a text, relative to it.
fn files_with(folder: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if entry.file_type().unwrap().is_dir() {
                folders.push(path);
            } else if std::fs::read(&path)
                .is_ok_and(|bytes| bytes.windows(text.len()).any(|part| part == text.as_bytes()))
            {
                found.push(path.strip_prefix(folder).unwrap().display().to_string());
            }
        }
    }
    found.sort();
    found
}
