//! Each shipped playbook and workflow has a page in the cookbook, with its steps, its tests and its text.

use super::Page;
use crate::generated;
use crate::scratch::Scratch;

/// Templates that show one form each. They share a page.
const FORMS: [&str; 5] = ["basic", "specialist", "for-each", "pipeline", "workflow"];

#[test]
fn every_shipped_definition_has_a_page_with_its_steps_and_its_tests() {
    let scratch = Scratch::bare();
    scratch.kb(&["init", "--no-demo"]).code(0);
    let listed = scratch.json(&["playbook", "new", "--list", "--json"]);
    let names: Vec<&str> =
        listed.as_array().unwrap().iter().filter_map(|t| t["name"].as_str()).collect();
    assert!(names.len() >= 20, "{names:?}");
    for name in names.iter().filter(|name| **name != "add-feature") {
        scratch.kb(&["playbook", "new", name, "--template", name]).code(0);
    }
    let tests = scratch.kb(&["playbook", "test"]).code(0);
    let summary = Page::read("docs/SUMMARY.md").text;
    for name in names {
        let (page, level) = if FORMS.contains(&name) { ("forms", "###") } else { (name, "##") };
        let path = format!("docs/cookbook/{page}.md");
        assert!(summary.contains(&format!("(cookbook/{page}.md)")), "{path} is not in the summary");
        generated::block(&path, name, &text(&scratch, name, level, &tests.out));
    }
    // The rounds of `review-loop` are a workflow of their own.
    let round = text(&scratch, "review-round", "###", &tests.out);
    generated::block("docs/cookbook/review-loop.md", "review-round", &round);
}

fn text(scratch: &Scratch, name: &str, level: &str, tests: &str) -> String {
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
        "{level} Steps\n\n```text\n{}\n```\n\n{level} Tests\n\n{}\n{level} Definition\n\n```{language}\n{}\n```\n",
        graph.trim_end(),
        tests.concat(),
        shown.join("\n").trim_end()
    )
}
