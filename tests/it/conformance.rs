//! Black-box cases: a definition, what it is given, and what must happen (`tests/conformance/`).
//!
//! Each file holds a list of cases. They speak to the binary alone, so they hold for any
//! implementation of the language.

use crate::scratch::Scratch;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    /// The playbook below its `schema` and `id`.
    playbook: Option<String>,
    /// Further files by path.
    #[serde(default)]
    files: BTreeMap<String, String>,
    /// The turns of a script.
    script: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// The exit code; 0 unless said.
    #[serde(default)]
    exit: i32,
    /// How steps and items end.
    #[serde(default)]
    steps: BTreeMap<String, String>,
    /// What the run hands out.
    #[serde(default)]
    outputs: BTreeMap<String, Value>,
    /// What is said, on either stream.
    #[serde(default)]
    says: Vec<String>,
    /// What must never be said or stored in an event.
    #[serde(default)]
    never: Vec<String>,
    /// What files hold afterwards.
    #[serde(default)]
    leaves: BTreeMap<String, String>,
}

fn check(case: &Case) {
    let scratch = Scratch::bare();
    scratch.kb(&["init"]).code(0);
    if let Some(playbook) = &case.playbook {
        scratch
            .write("playbooks/case.yml", &format!("schema: kb.playbook/1\nid: case\n{playbook}"));
    }
    case.files.iter().for_each(|(path, text)| scratch.write(path, text));
    let mut args = vec!["playbook", "run", "case", "--json"];
    if let Some(script) = &case.script {
        let steps: String = script.lines().map(|line| format!("  {line}\n")).collect();
        scratch.write("script.yml", &format!("schema: kb.script/1\nsteps:\n{steps}"));
        args.extend(["--script", "script.yml"]);
    }
    args.extend(case.args.iter().map(String::as_str));
    let said = scratch.kb_with(&args, |command| {
        command.envs(&case.env);
    });
    let told = format!("{}\n{}", said.out, said.err);
    assert_eq!(said.code, case.exit, "exit code\n{told}");
    let events: Vec<Value> =
        said.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (step, status) in &case.steps {
        let ended = |e: &&Value| e["type"] == "step:end" && e["instance"] == step.as_str();
        let last = events.iter().rfind(ended).unwrap_or_else(|| panic!("`{step}` ends\n{told}"));
        assert_eq!(last["status"], status.as_str(), "`{step}`\n{told}");
    }
    let end = events.last().cloned().unwrap_or_default();
    for (name, value) in &case.outputs {
        assert_eq!(&end["outputs"][name], value, "output `{name}`\n{told}");
    }
    for text in &case.says {
        assert!(told.contains(text), "`{text}` is missing in\n{told}");
    }
    for text in &case.never {
        assert!(!told.contains(text), "`{text}` was said in\n{told}");
        let later = scratch.kb(&["run", "logs", "@last"]);
        assert!(!later.out.contains(text), "`{text}` is in the log");
    }
    for (path, text) in &case.leaves {
        assert_eq!(&scratch.read(path), text, "{path}");
    }
}

fn cases(subject: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance").join(subject);
    let text = std::fs::read_to_string(&path).unwrap();
    let cases: Vec<Case> = serde_saphyr::from_str(&text).unwrap_or_else(|e| panic!("{e}"));
    let failed: Vec<String> = cases
        .iter()
        .filter_map(|case| {
            let tried = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(case)));
            let text = |panic: Box<dyn std::any::Any + Send>| {
                panic.downcast_ref::<String>().cloned().unwrap_or_default()
            };
            tried.err().map(|panic| format!("== {}\n{}", case.name, text(panic)))
        })
        .collect();
    assert!(failed.is_empty(), "{} of {}:\n{}", failed.len(), cases.len(), failed.join("\n"));
}

#[test]
fn joins() {
    cases("joins.yml");
}

#[test]
fn values() {
    cases("values.yml");
}

#[test]
fn steps() {
    cases("steps.yml");
}

#[test]
fn gates() {
    cases("gates.yml");
}

#[test]
fn refused() {
    cases("refused.yml");
}
