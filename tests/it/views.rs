//! The JSON of a thing has the same keys in every command, and lists hide no broken file.

use crate::scratch::Scratch;
use serde_json::Value;
use std::collections::BTreeSet;

const WRITER: &str = "schema: kb.specialist/1\nid: writer\nversion: '2.1'\nrole: You write.\n\
    context: {system: Files are in src.}\nconstraints: [Be short]\nlimits: {maxSteps: 4}\n\
    examples: [{task: T, approach: A, outcome: O}]\ntools: [fs:read]\n";

fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().unwrap_or_else(|| panic!("{value}")).keys().map(String::as_str).collect()
}

fn project() -> Scratch {
    Scratch::new(&[
        (".kb/specialists/writer.yml", WRITER),
        (".kb/specialists/broken.yml", "schema: kb.specialist/1\nid: broken\nrol: You?\n"),
        (
            ".kb/playbooks/p.yml",
            "schema: kb.playbook/1\nid: p\nsteps:\n  - {id: a, name: First, run: echo a}\n",
        ),
    ])
}

#[test]
fn a_broken_specialist_is_listed_with_its_problem() {
    let scratch = project();
    let said = scratch.kb(&["specialist", "list"]).code(0);
    assert!(said.out.contains("writer"), "{said:?}");
    let shown = |err: &str| err.contains(".kb/specialists/broken.yml: ") && err.contains("KB01");
    assert!(shown(&said.err), "{}", said.err);
    assert!(said.err.contains("`kb specialist validate` shows all problems"), "{}", said.err);
    let json = scratch.kb(&["specialist", "list", "--json"]).code(0);
    assert!(shown(&json.err), "{}", json.err);
    let rows: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(rows.as_array().unwrap().len(), 1);
}

#[test]
fn the_json_of_a_specialist_is_complete_and_the_same_in_list_and_info() {
    let scratch = project();
    let info = scratch.json(&["specialist", "info", "writer", "--json"]);
    let list = scratch.json(&["specialist", "list", "--json"]);
    assert_eq!(info, list[0]);
    assert_eq!(
        (&info["role"], &info["version"], &info["limits"]["maxSteps"], &info["constraints"][0]),
        (&"You write.".into(), &"2.1".into(), &4.into(), &"Be short".into()),
        "{info:#}"
    );
    assert_eq!(info["examples"][0]["approach"], "A", "{info:#}");
    assert!(info["staticContext"].as_str().unwrap().contains("src"), "{info:#}");
}

#[test]
fn a_definition_and_its_steps_have_the_same_keys_everywhere() {
    let scratch = project();
    let show = scratch.json(&["playbook", "show", "p", "--json"]);
    assert_eq!(show, scratch.json(&["playbook", "list", "--json"])[0]);
    let plan = scratch.json(&["playbook", "plan", "p", "--json"]);
    let (of_show, of_plan) = (keys(&show["steps"][0]), keys(&plan["steps"][0]));
    assert!(of_show.is_subset(&of_plan), "{of_show:?} {of_plan:?}");
    scratch.kb(&["playbook", "run", "p", "-q"]).code(0);
    let (run, runs) = (
        scratch.json(&["run", "show", "@last", "--json"]),
        scratch.json(&["run", "list", "--json"]),
    );
    assert_eq!(keys(&run), keys(&runs[0]));
}

#[test]
fn problems_have_the_same_keys_in_validate_and_import() {
    let scratch = project();
    scratch.write("new.yml", "schema: kb.playbook/1\nid: new\nsteps: [{id: a, rn: x}]\n");
    let validate = scratch.kb(&["specialist", "validate", "--json"]).code(2);
    let validate: Value = serde_json::from_str(&validate.out).unwrap();
    let import = scratch.kb(&["playbook", "import", "new.yml", "--json"]).code(2);
    let import: Value = serde_json::from_str(&import.out).unwrap();
    assert_eq!(keys(&validate[0]), keys(&import["problems"][0]));
}

/// A file outside of the folders that projects load has no id that `kb playbook run` finds.
#[test]
fn the_advice_after_a_run_names_a_definition_that_can_be_run() {
    let scratch = project();
    scratch.write("l.yml", "schema: kb.playbook/1\nid: other\nsteps:\n  - {id: a, run: exit 1}\n");
    scratch.kb(&["playbook", "run", "l.yml"]).code(1);
    scratch.write("l.yml", "schema: kb.playbook/1\nid: other\nsteps:\n  - {id: a, run: echo 1}\n");
    let said = scratch.kb(&["run", "retry", "@last"]).code(1);
    let (_, advice) = said.err.split_once("`kb playbook run ").expect("an advice");
    let (name, _) = advice.split_once('`').unwrap();
    scratch.kb(&["playbook", "run", name]).code(0);
}

#[test]
fn the_package_names_no_address_that_is_not_its_own() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")).unwrap();
    let keys = ["repository", "homepage", "documentation"];
    let named: Vec<&str> =
        text.lines().filter(|line| keys.iter().any(|key| line.starts_with(key))).collect();
    assert!(named.is_empty(), "{named:?}");
}
