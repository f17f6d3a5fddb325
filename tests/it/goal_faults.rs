//! `kb do`: planners that contradict themselves, plans at the same time, and a kill at the answer.

use crate::goal::{GOAL, TEST, plan, project, told, with_plan, work};
use crate::running::Start;
use serde_json::json;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

#[test]
fn a_planner_that_contradicts_itself_reaches_nothing() {
    // Checks that cannot hold together.
    let mut script = work();
    script["plan"][0]["output"]["checks"] =
        json!([{"file": {"path": TEST}}, {"file": {"path": TEST, "absent": true}}]);
    let said = told(&project(&script), &["--yes"]).code(1);
    assert!(!said.out.contains("goal complete"), "{}", said.out);
    // A plan beside a question is no plan.
    let mut both = plan();
    both["question"] = json!("Or the other tracker?");
    let scratch = with_plan(&both);
    told(&scratch, &["--yes"]).code(3).says(&["Or the other tracker?"]);
    assert!(!scratch.has(".kb/plans"));
    // Two subtasks of one name are repaired from the diagnostic.
    let mut twice = work();
    let first = twice["plan"][0]["output"]["subtasks"][0].clone();
    twice["repair1"] = twice["plan"].clone();
    twice["plan"][0]["output"]["subtasks"].as_array_mut().unwrap().push(first);
    told(&project(&twice), &["--yes"]).code(0).says(&["repair 1 of 2", "goal complete"]);
}

#[test]
fn two_plans_in_one_workspace_reach_both_goals() {
    let mut slow = work();
    slow["write"][1]["delayMs"] = json!(700);
    let scratch = project(&slow);
    let other = "test/other.test.sh";
    let mut second = work();
    second["plan"][0]["output"]["checks"] = json!([{"command": ["sh", other]}]);
    second["write"][0]["calls"][0]["args"]["path"] = json!(other);
    second["write"][1]["output"]["created"] = json!([other]);
    scratch.write("second.json", &json!({"schema": "kb.script/1", "steps": second}).to_string());
    let args = ["do", GOAL, "--script", "script.json", "--yes", "--json"];
    let mut child =
        scratch.command().args(args).stdout(Stdio::piped()).stderr(Stdio::null()).start();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("step:start") && line.contains("\"write\"")));
    let goal = "write the other test";
    let said = scratch.kb(&["do", goal, "--script", "second.json", "--yes"]).code(0);
    said.says(&["goal complete"]);
    let rest: Vec<String> = lines.collect();
    assert!(child.wait().unwrap().success(), "{rest:?}");
    assert!(scratch.has(TEST) && scratch.has(other));
    let runs = scratch.json(&["run", "list", "--json"]);
    let done = runs.as_array().unwrap().iter().filter(|run| run["status"] == "succeeded");
    assert_eq!(done.count(), 4, "{runs}");
}

#[test]
fn a_run_that_is_killed_at_its_answer_pays_nothing_twice() {
    let mut script = work();
    script["write"][0]["calls"][0]["args"]["content"] =
        json!("sleep 0.5; grep -q ProgressTracker src/*.js\n");
    let scratch = project(&script);
    let args = ["do", GOAL, "--script", "script.json", "--yes", "--json"];
    let mut child =
        scratch.command().args(args).stdout(Stdio::piped()).stderr(Stdio::null()).start();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("step:start") && line.contains("\"goal-check\"")));
    child.kill().unwrap();
    child.wait().unwrap();
    scratch.kb(&["run", "resume", "@last"]).code(0);
    let outputs = scratch.json(&["run", "output", "@last"]);
    assert_eq!(outputs["goal"], "complete");
    assert!(outputs["answer"].as_str().unwrap().contains("- write: wrote it"), "{outputs}");
    let events = scratch.kb(&["run", "events", "@last"]).code(0).events();
    let calls = events.iter().filter(|event| event["type"] == "model:call").count();
    assert_eq!(calls, 3);
}
