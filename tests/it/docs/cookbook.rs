//! Each shipped playbook and workflow has a page in the cookbook, with its steps, its tests and its text.

use super::Page;
use crate::generated;
use crate::scratch::Scratch;

/// Templates that show one form each and have a page of their own: `docs/playbooks.md`.
const FORMS: [&str; 4] = ["basic", "specialist", "for-each", "pipeline"];

#[test]
fn every_shipped_definition_has_a_page_with_its_steps_and_its_tests() {
    let scratch = Scratch::bare();
    scratch.kb(&["init", "--no-demo"]).code(0);
    let listed = scratch.json(&["playbook", "new", "--list", "--json"]);
    let names: Vec<&str> =
        listed.as_array().unwrap().iter().filter_map(|t| t["name"].as_str()).collect();
    let names: Vec<&str> = names.into_iter().filter(|name| !FORMS.contains(name)).collect();
    assert!(names.len() >= 14, "{names:?}");
    for name in names.iter().filter(|name| **name != "add-feature") {
        scratch.kb(&["playbook", "new", name, "--template", name]).code(0);
    }
    let tests = scratch.kb(&["playbook", "test"]).code(0);
    let summary = Page::read("docs/SUMMARY.md").text;
    for name in names {
        let page = format!("docs/cookbook/{name}.md");
        assert!(summary.contains(&format!("(cookbook/{name}.md)")), "{page} is not in the summary");
        generated::block(&page, name, &text(&scratch, name, &tests.out));
    }
}

fn text(scratch: &Scratch, name: &str, tests: &str) -> String {
    let graph = scratch.kb(&["playbook", "graph", name]).code(0).out;
    let own = format!("] {name}: ");
    let mut passed: Vec<&str> = tests
        .lines()
        .filter(|line| line.starts_with("PASS"))
        .filter_map(|line| line.split_once(&own).map(|(_, test)| test))
        .collect();
    passed.sort_unstable();
    assert!(!passed.is_empty(), "{name} has no test:\n{tests}");
    let tests: Vec<String> = passed.iter().map(|test| format!("- {test}\n")).collect();
    let paths = [format!(".kb/playbooks/{name}.yml"), format!(".kb/workflows/{name}.md")];
    let path = paths.iter().find(|path| scratch.has(path)).expect("the definition");
    let language = if path.ends_with(".md") { "markdown" } else { "yaml fragment" };
    let definition = scratch.read(path);
    let shown: Vec<&str> =
        definition.lines().filter(|line| !line.starts_with("# yaml-language-server")).collect();
    format!(
        "## Steps\n\n```text\n{}\n```\n\n## Tests\n\n{}\n## Definition\n\n```{language}\n{}\n```\n",
        graph.trim_end(),
        tests.concat(),
        shown.join("\n").trim_end()
    )
}
