//! Which definition a child run has: versions that a step asks for, and what is frozen.

use crate::child_projects::{parent_run, project};
use serde_json::json;

const CHILD: &str = "schema: kb.playbook/1
id: child
params: [{name: word, required: true}]
steps: [{id: say, set: {text: \"{{word}} x1\"}}]
outputs: {text: \"{{say.output.text}}\"}
";

#[test]
fn a_step_can_ask_for_a_version_or_a_content_of_its_child() {
    let step = |version: &str| {
        let steps =
            format!("  - {{id: call, playbook: child, version: {version}, with: {{word: x}}}}\n");
        project(&steps, &[&CHILD.replace("id: child\n", "id: child\nversion: 1.2\n")])
    };
    let refused = |version: &str, texts: &[&str]| {
        let said = step(version).kb(&["playbook", "run", "parent"]).code(2);
        said.says(&[&["KB0420", "p0.yml:4:"], texts].concat()).err
    };
    step("1.2").kb(&["playbook", "run", "parent"]).code(0);
    refused("\"1.3\"", &["`child` has the version `1.2`, not `1.3`"]);
    refused("sha256:12", &["`sha256:12` is not a digest"]);
    let said = refused("sha256:0123456789", &["`child` has the digest"]);
    let digest = said.split('`').find(|part| part.starts_with("sha256:") && part.len() > 20);
    step(digest.expect(&said)).kb(&["playbook", "run", "parent"]).code(0);
    let none = project("  - {id: call, playbook: child, version: 1, with: {word: x}}\n", &[CHILD]);
    none.kb(&["playbook", "run", "parent"]).code(2).says(&["KB0420", "`child` has no version"]);
}

/// A child run has the definition with which its parent started, whatever the file is meanwhile.
#[test]
fn a_child_run_has_the_definition_of_the_start_of_its_parent() {
    let steps = "  - {id: ok, approve: \"Go?\"}
  - {id: call, dependsOn: [ok], playbook: child, with: {word: old}}
";
    let scratch = project(steps, &[CHILD]);
    scratch.kb(&["playbook", "run", "parent"]).code(3);
    scratch.write(".kb/playbooks/p1.yml", &CHILD.replace("x1", "changed"));
    let said = scratch.kb(&["run", "approve", "@last", "ok"]).code(0);
    said.says(&["`.kb/playbooks/p1.yml` has changed since run", "the run uses the old text"]);
    let output = scratch.json(&["run", "output", &parent_run(&scratch), "call", "--json"]);
    assert_eq!(output, json!({"text": "old x1"}));
}
