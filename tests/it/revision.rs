//! `kb do`: a plan whose run failed is revised, within limits, and nothing is paid twice.

use crate::goal::{GOAL, project, work};
use crate::running::Start;
use crate::scratch::{Said, Scratch};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::process::Stdio;

/// A researcher finds it, the first implementer leaves the proof out, and a revised plan writes it.
fn script() -> Value {
    let mut script = work();
    let nothing = json!({"output": {"created": [], "modified": [], "commands": [], "summary": "nothing to do"}});
    script["write"] = json!(vec![nothing; 4]);
    script["revise1"] = json!([{"output": {
        "summary": "smaller steps, as the checks ask",
        "confidence": 0.8,
        "subtasks": [{"id": "again", "specialist": "implementer", "task": "Write the test file", "needs": ["find"]}],
        "checks": [{"command": ["true"]}],
    }}]);
    script["again"] = work()["write"].take();
    script
}

fn run(scratch: &Scratch, args: &[&str]) -> Said {
    scratch.kb(&[&["do", GOAL, "--script", "script.json"], args].concat())
}

fn runs(scratch: &Scratch, playbook: &str) -> Vec<Value> {
    let found = scratch.json(&["run", "list", "--playbook", playbook, "--json"]);
    found.as_array().unwrap().clone()
}

fn revised(scratch: &Scratch, run: &str) -> Vec<Value> {
    let events = scratch.kb(&["run", "events", run]).code(0).events();
    events.into_iter().filter(|event| event["type"] == "plan:revised").collect()
}

#[test]
fn a_plan_that_failed_is_revised_once_and_succeeds() {
    let scratch = project(&script());
    let said = run(&scratch, &["--yes"]).code(0);
    said.says(&["write failed; the planner revises the plan (1 of 1)", "goal complete"]);
    let events = revised(&scratch, "@last");
    let event = &events[0];
    assert_eq!((events.len(), &event["number"], &event["confidence"]), (1, &json!(1), &json!(0.8)));
    assert_eq!(event["reason"], "smaller steps, as the checks ask");
    assert_eq!((&event["added"], &event["removed"]), (&json!(["again"]), &json!(["write"])));
    assert_eq!(event["kept"], json!(["goal-before", "find"]));
    assert_eq!(event["evidence"][0]["step"], "write");
    let shown = scratch.kb(&["run", "show", "@last"]).code(0);
    shown.says(&["plan revised (1, 80 %): smaller steps, as the checks ask; +again -write"]);
    // What succeeded is not paid again, and the planner read what had failed.
    let all = scratch.json(&["run", "show", "@last", "--json"]);
    let find = all["steps"].as_array().unwrap().iter().find(|step| step["step"] == "find");
    assert!(find.unwrap()["keptFrom"].is_string(), "{all}");
    let planner = event["planner"].as_str().unwrap();
    let prompt = scratch.kb(&["run", "logs", planner, "revise1", "--prompts"]).code(0);
    prompt.says(&["failedPlan", "it is in src", "escalate_model"]);
    scratch.kb(&["run", "verify", "@last"]).code(0);
    // The checks of the goal are those of the first plan.
    let plans: Vec<String> = std::fs::read_dir(scratch.root().join(".kb/plans"))
        .unwrap()
        .map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap())
        .collect();
    assert!(plans.len() == 2 && plans.iter().all(|plan| !plan.contains("\"true\"")), "{plans:?}");
}

#[test]
fn revisions_are_bounded() {
    let mut endless = script();
    endless["again"] = endless["write"].clone();
    let scratch = project(&endless);
    let said = run(&scratch, &["--yes"]).code(1);
    said.says(&["revises the plan (1 of 1)", "not revised", "maxRevisions", "1 time"]);
    assert_eq!(runs(&scratch, "orchestrator").len(), 2);
    scratch.write(".kb/kb.config.yml", "orchestrator: {maxRevisions: 0}\n");
    run(&scratch, &["--yes"]).code(1).says(&["permits it 0 times"]);
    assert_eq!(runs(&scratch, "orchestrator").len(), 3);
}

#[test]
fn a_revision_asks_a_person_like_a_first_plan() {
    let mut unsure = script();
    unsure["revise1"][0]["output"]["confidence"] = json!(0.2);
    let scratch = project(&unsure);
    run(&scratch, &["--yes"]).code(3).says(&["its confidence is low"]);
    let mut asks = script();
    asks["revise1"][0]["output"]["question"] = json!("Where do tests belong?");
    let scratch = project(&asks);
    run(&scratch, &["--yes"]).code(3).says(&["Where do tests belong?"]);
}

#[test]
fn a_revision_with_errors_is_repaired() {
    let mut wrong = script();
    let right = wrong["revise1"].take();
    let mut clash = right.clone();
    clash[0]["output"]["subtasks"][0]["id"] = json!("find");
    wrong["revise1"] = clash;
    wrong["revise1_repair1"] = right;
    let scratch = project(&wrong);
    run(&scratch, &["--yes"]).code(0).says(&["repair 1 of 2", "goal complete"]);
}

#[test]
fn a_killed_revision_goes_on_and_nothing_is_paid_twice() {
    let mut slow = script();
    slow["revise1"][0]["delayMs"] = json!(1500);
    let scratch = project(&slow);
    let args = ["do", GOAL, "--script", "script.json", "--yes", "--json"];
    let mut child =
        scratch.command().args(args).stdout(Stdio::piped()).stderr(Stdio::null()).start();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let begins = |line: &String| line.contains("step:start") && line.contains("\"revise1\"");
    assert!(lines.map_while(Result::ok).any(|line| begins(&line)), "no planner revised");
    child.kill().unwrap();
    child.wait().unwrap();
    let planners = runs(&scratch, "orchestrator");
    let failed = planners[0]["params"]["failedRun"].as_str().unwrap().to_owned();
    let from = ["do", "--from", &failed, "--yes", "--script", "script.json"];
    scratch.kb(&from).code(0).says(&["continues the planning run", "goal complete"]);
    assert_eq!(runs(&scratch, "orchestrator").len(), 2);
    // The answer of the planner is read again without a model.
    scratch.write(
        "script.json",
        &json!({"schema": "kb.script/1", "steps": {"again": slow["again"]}}).to_string(),
    );
    std::fs::remove_file(scratch.root().join("test/progress.test.sh")).unwrap();
    scratch.kb(&from).code(0).says(&["goal complete"]);
    assert_eq!(runs(&scratch, "orchestrator").len(), 2);
}

#[test]
fn a_revision_takes_a_suggestion_by_its_name() {
    let mut named = script();
    named["revise1"][0]["output"]["takes"] = json!({"step": "write", "action": "change_strategy"});
    let scratch = project(&named);
    run(&scratch, &["--yes"]).code(0).says(&["goal complete"]);
    let takes = &revised(&scratch, "@last")[0]["takes"];
    assert_eq!(takes, &json!({"step": "write", "action": "change_strategy"}));
    scratch.kb(&["run", "show", "@last"]).code(0).says(&["(change_strategy for write)"]);
    // One that nothing suggested is refused, and repaired.
    let right = named["revise1"].clone();
    named["revise1"][0]["output"]["takes"]["action"] = json!("delete_everything");
    named["revise1_repair1"] = right;
    let scratch = project(&named);
    run(&scratch, &["--yes"]).code(0).says(&["repair 1 of 2", "goal complete"]);
    let planner = runs(&scratch, "orchestrator")[0]["run"].as_str().unwrap().to_owned();
    let prompt = scratch.kb(&["run", "logs", &planner, "revise1_repair1", "--prompts"]).code(0);
    prompt.says(&["no failure suggests `delete_everything` for `write`"]);
}

#[test]
fn a_revision_has_only_the_share_of_the_planner() {
    let scratch = project(&script());
    scratch.write(".kb/kb.config.yml", "orchestrator: {maxRevisions: 0}\n");
    run(&scratch, &["--yes"]).code(1);
    let all = scratch.json(&["run", "list", "--json"]);
    let failed = all.as_array().unwrap().iter().find(|run| run["status"] == "failed").unwrap();
    let model =
        "{endpoint: \"http://127.0.0.1:9/v1\", model: m, price: {input: 1000, output: 1000}}";
    let settings = format!(
        "llm: {{tiers: {{large: {model}}}}}\norchestrator: {{escalation: {{budgetAllocation: {{orchestrator: 5}}}}}}\n"
    );
    scratch.write(".kb/kb.config.yml", &settings);
    let from = ["do", "--from", failed["run"].as_str().unwrap(), "--yes", "--budget", "20"];
    let said = scratch.kb(&from).code(3);
    said.says(&["the budget of $1.00 of the share of `orchestrator` is used up"]);
    assert_eq!(runs(&scratch, "orchestrator")[0]["usage"]["modelCalls"], 0);
}
