//! A model that reads a secret line by line: each tool result has one line of a wrapped encoding.

use crate::scratch::Scratch;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

const PLAYBOOK: &str = "schema: kb.playbook/1
id: p
steps:
  - {id: a, agent: reader, task: Read., env: {T: '{{secrets.T}}'}, verify: {claims: none}}
";
const READER: &str = "schema: kb.specialist/1
id: reader
role: You read files.
tools: [shell:exec, fs:search, fs:read]
limits: {maxSteps: 200, maxToolCalls: 500}
";

fn wrapped(text: &str, width: usize) -> String {
    let lines = text.as_bytes().chunks(width).enumerate();
    lines.map(|(n, line)| format!("L{n:02}:{}\n", std::str::from_utf8(line).unwrap())).collect()
}

#[test]
fn single_lines_of_a_wrapped_secret_are_found_nowhere() {
    let value: String =
        (0..40).map(|n| format!("{:08x};", n * 2_654_435_761_u64 % 0xffff_fff1)).collect();
    let base64 = STANDARD.encode(&value);
    let hex: String = value.bytes().map(|byte| format!("{byte:02x}")).collect();
    let files =
        [("b76", wrapped(&base64, 76)), ("b16", wrapped(&base64, 16)), ("x60", wrapped(&hex, 60))];
    let call = |tool: &str, args: Value| json!({"calls": [{"tool": tool, "args": args}]});
    let mut turns = Vec::new();
    for (name, text) in &files {
        for n in 0..text.lines().count().min(8) {
            turns.push(call("fs:search", json!({"pattern": format!("L{n:02}"), "path": name})));
            let command =
                format!("sed -n {}p {name}; fold -w 40 {name} | sed -n {}p", n + 1, n + 1);
            turns.push(call("shell:exec", json!({"command": command})));
            turns
                .push(call("fs:read", json!({"path": name, "startLine": n + 1, "endLine": n + 1})));
        }
    }
    turns.push(json!({"output": {"summary": "done"}}));
    let script = json!({"schema": "kb.script/1", "steps": {"a": turns}}).to_string();
    let turns = turns.len();
    let mut all = vec![
        (".kb/playbooks/p.yml", PLAYBOOK),
        (".kb/specialists/reader.yml", READER),
        (".kb/kb.config.yml", "secrets: {T: 'env:KB_T'}\n"),
        ("script.yml", &script),
    ];
    all.extend(files.iter().map(|(name, text)| (*name, text.as_str())));
    let scratch = Scratch::new(&all);
    let args = ["playbook", "run", "p", "--json", "--script", "script.yml", "--yes"];
    let said = scratch.kb_with(&args, |kb| _ = kb.env("KB_T", &value)).code(0);
    let results = said.out.matches("\"status\":\"success\"").count();
    assert_eq!(results, turns - 1, "{}", said.err);
    let logs = scratch.kb(&["run", "logs", "@last", "a", "--prompts"]).code(0).out;
    assert!(logs.matches("«secret:T»").count() > results, "{logs:.2000}");
    let pieces = |text: &str| text.as_bytes().windows(16).map(<[u8]>::to_vec).collect::<Vec<_>>();
    let texts = super::scan::Texts::of([pieces(&base64), pieces(&hex)].concat());
    for shown in [&said.out, &said.err, &logs] {
        assert_eq!(texts.within(shown.as_bytes()), [""; 0]);
    }
    let state = scratch.root().parent().unwrap().join("state");
    assert_eq!(super::scan::files_with(&state, &texts), [""; 0]);
}
