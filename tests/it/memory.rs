//! `kb memory` through the binary.

use crate::scratch::Scratch;
use serde_json::Value;

const PLAYBOOK: &str = "schema: kb.playbook/1\nid: p\nsteps:\n  - {id: a, run: echo ok}\n";

fn project() -> Scratch {
    Scratch::new(&[
        ("playbooks/p.yml", PLAYBOOK),
        (".kb/kb.config.yml", "memory: {enabled: true}\n"),
    ])
}

fn state(scratch: &Scratch, id: &str) -> String {
    let shown = scratch.json(&["memory", "show", id, "--json"]);
    shown["state"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_sentence_is_added_shared_used_in_a_clone_and_forgotten() {
    let here = project();
    let added = here.json(&[
        "memory",
        "add",
        "The server listens on port 8080.",
        "--subject",
        "port",
        "--tag",
        "Web",
        "--json",
    ]);
    let id = added["entry"]["id"].as_str().unwrap().to_owned();
    assert_eq!(
        (state(&here, &id).as_str(), added["existed"].as_bool()),
        ("candidate", Some(false))
    );
    here.kb(&["memory", "approve", &id[..8]]).code(0);
    let file = format!(".kb/memory/{id}.md");
    assert!(here.read(&file).contains("subject: \"port\"\ntags: [\"web\"]\n"));

    let text = here.read(&file);
    let clone = Scratch::new(&[(file.as_str(), &text)]);
    let found = clone.json(&["memory", "search", "servers", "--tag", "WEB", "--json"]);
    assert_eq!(
        (found[0]["id"].as_str(), found[0]["state"].as_str()),
        (Some(id.as_str()), Some("shared"))
    );
    let other = clone.json(&["memory", "add", "It is port 9090", "--subject", "Ports", "--json"]);
    let other = other["entry"]["id"].as_str().unwrap();
    let refused = clone.kb(&["memory", "approve", other]);
    assert!(
        refused.err.contains("KB1601") && refused.err.contains("contradicts"),
        "{}",
        refused.err
    );
    refused.code(2);

    clone.kb(&["memory", "forget", &id]).code(0);
    assert!(!clone.has(&file));
    assert_eq!(clone.json(&["memory", "search", "listens", "--json"]), Value::Array(Vec::new()));
    clone.kb(&["memory", "show", "m-unknown"]).code(4);
}

#[test]
fn files_with_problems_are_named_with_their_line_and_the_others_are_used() {
    let good = "---\nschema: kb.memory/1\nkind: pitfall\n---\nNever edit generated files.\n";
    let bad = good.replace("pitfall", "rumour");
    let scratch = Scratch::new(&[(".kb/memory/good.md", good), (".kb/memory/bad.md", &bad)]);
    let said = scratch.kb(&["memory", "list"]);
    assert!(said.out.contains("good") && said.out.contains("shared"), "{}", said.out);
    let problem = "warning[KB1603]: .kb/memory/bad.md:3:1: `rumour` is no kind of entry";
    assert!(said.err.contains(problem), "{}", said.err);
}

#[test]
fn a_damaged_memory_is_reported_and_stops_no_run() {
    let scratch = project();
    scratch.kb(&["memory", "stats"]).code(0);
    let all = std::fs::read_dir(scratch.root().parent().unwrap().join("state/kb")).unwrap();
    let folder = all.flatten().map(|entry| entry.path()).find(|path| path.is_dir()).unwrap();
    std::fs::write(folder.join("memory.sqlite3"), "no database ".repeat(99)).unwrap();
    let said = scratch.kb(&["memory", "list"]);
    assert!(said.err.contains("KB1602"), "{}", said.err);
    said.code(5);
    scratch.kb(&["playbook", "run", "p"]).code(0);
}

#[test]
fn what_a_tool_may_not_write_includes_shared_entries() {
    let step = "tool: 'fs:write', input: {path: .kb/memory/x.md, content: x}";
    let playbook = format!("schema: kb.playbook/1\nid: p\nsteps:\n  - {{id: a, {step}}}\n");
    let scratch = Scratch::new(&[("playbooks/p.yml", &playbook)]);
    let said = scratch.kb(&["playbook", "run", "p", "--json"]);
    assert!(said.out.contains("which tools may not change"), "{}", said.out);
    assert!(!scratch.has(".kb/memory/x.md"));
}
