//! Projects whose playbook `parent` starts child runs.

use crate::scratch::Scratch;
use serde_json::Value;

/// A project with a playbook `parent` of these steps and other playbooks by their text.
pub(crate) fn project(steps: &str, others: &[&str]) -> Scratch {
    let parent = format!("schema: kb.playbook/1\nid: parent\nsteps:\n{steps}");
    let all = [&[parent.as_str()], others].concat();
    let names: Vec<String> = (0..all.len()).map(|i| format!(".kb/playbooks/p{i}.yml")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(String::as_str).zip(all).collect();
    Scratch::new(&files)
}

/// The id of the run of `parent`.
pub(crate) fn parent_run(scratch: &Scratch) -> String {
    let runs = scratch.json(&["run", "list", "--json"]);
    let is_parent = |run: &&Value| run["definition"] == "parent";
    let found = runs.as_array().unwrap().iter().find(is_parent).expect("a run");
    found["run"].as_str().unwrap().to_owned()
}
