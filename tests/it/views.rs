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

/// The project has no public address yet: no package metadata, badge or image of a registry names one.
#[test]
fn no_file_names_an_address_of_the_project_that_does_not_exist() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let pages = ["docs", "docs/reference", "docs/migration", "docs/decisions", "editors"]
        .iter()
        .flat_map(|folder| std::fs::read_dir(root.join(folder)).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let others = [
        "Cargo.toml",
        "README.md",
        "CHANGELOG.md",
        "action.yml",
        "Dockerfile",
        "docs/book.toml",
        "editors/vscode/package.json",
    ];
    let metadata = ["repository", "homepage", "documentation", "bugs", "authors"];
    let addresses = [
        "github.com/",
        "gitlab.com/",
        "shields.io",
        "badge.svg",
        "ghcr.io/",
        "docker.io/",
        "crates.io/crates/kb",
    ];
    let mut named = Vec::new();
    for path in pages.chain(others.map(|path| root.join(path))) {
        let text = std::fs::read_to_string(&path).unwrap();
        let is_package = path.extension().is_none_or(|extension| extension != "md");
        let claims = |line: &&str| {
            let key = line.trim_start().trim_start_matches('"');
            is_package && metadata.iter().any(|name| key.starts_with(name))
                || addresses.iter().any(|address| line.contains(address))
        };
        named.extend(text.lines().filter(claims).map(|line| format!("{}: {line}", path.display())));
    }
    assert!(named.is_empty(), "{}", named.join("\n"));
}
