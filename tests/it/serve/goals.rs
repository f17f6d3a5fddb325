//! Goals over the API and on the pages: planned, decided about, and run.

use super::site::Site;
use crate::goal::project;
use crate::paid_calls::Provider;
use kb::trigger::Role;
use kb::web::Listen;
use serde_json::{Value, json};

const GOAL: &str = r#"{"goal": "add tests for ProgressTracker", "budget": 1}"#;
const TEST: &str = "test/progress.test.sh";

/// A server whose planner answers a plan of one subtask, and whose specialist writes the test.
fn site() -> (Provider, Site) {
    let plan = json!({
        "summary": "write its tests",
        "confidence": 0.9,
        "subtasks": [{"id": "write", "specialist": "implementer", "task": "Write the tests of <b>it</b>"}],
        "checks": [{"command": ["sh", TEST]}],
    });
    let written = json!({"path": TEST, "content": "grep -q ProgressTracker src/*.js\n"});
    let done = json!({"created": [TEST], "modified": [], "commands": [],
        "summary": format!("Created {TEST}. It is the best one.")});
    let provider = Provider::calling(&[
        ("submit_output", plan),
        ("fs_write", written),
        ("submit_output", done),
    ]);
    let scratch = project(&json!({}));
    let model = format!(
        "{{endpoint: \"{}/v1\", model: m, stream: false, contextWindow: 32000, price: {{input: 1, output: 1}}}}",
        provider.server.uri()
    );
    let settings = format!("llm: {{tiers: {{small: {model}, medium: {model}, large: {model}}}}}\n");
    scratch.write(".kb/kb.config.yml", &settings);
    let site = Site::of(scratch, &Listen { port: Some(0), ..Listen::default() });
    (provider, site)
}

/// Plans the goal and returns its planning run.
fn planned(site: &Site, token: &str) -> String {
    let answer = site.post("/api/v1/goals", token, GOAL);
    assert_eq!(answer.status, 202, "{}", answer.text());
    let run = answer.json()["run"].as_str().unwrap().to_owned();
    let path = format!("/api/v1/goals/{run}");
    site.until("a plan", || {
        let answer = site.get(&path, token);
        (answer.status == 200 && answer.json()["state"] == "proposed").then_some(())
    });
    run
}

fn decision(site: &Site, token: &str, run: &str, body: &Value) -> (u16, Value) {
    let answer = site.post(&format!("/api/v1/goals/{run}/decision"), token, &body.to_string());
    (answer.status, answer.json())
}

#[test]
fn a_goal_is_planned_approved_and_run_and_its_answer_has_sources() {
    let (_provider, site) = site();
    let (read, run, admin) =
        (site.token(Role::Read), site.token(Role::Run), site.token(Role::Admin));
    assert_eq!(site.post("/api/v1/goals", &read, GOAL).status, 403);
    let planner = planned(&site, &run);
    let shown = site.get(&format!("/api/v1/goals/{planner}"), &read).json();
    assert_eq!(shown["plan"]["checks"], json!([format!("sh {TEST}")]));
    assert!(shown["plan"]["time"]["maxMs"].as_u64() > Some(1_000), "{shown}");
    let page = site.get(&format!("/goals/{planner}"), &run).text();
    for said in ["Approve and run", "Write the tests of &lt;b&gt;it", "90 %", " readonly"] {
        assert!(page.contains(said), "{said}: {page}");
    }
    assert!(!site.get(&format!("/goals/{planner}"), &read).text().contains("Approve and run"));
    assert!(!site.get(&format!("/goals/{planner}"), &admin).text().contains(" readonly"));
    // Who starts runs may start this one. Other steps need more.
    let text = shown["plan"]["playbook"].as_str().unwrap();
    let edited = json!({"decision": "approve", "playbook": format!("{text}# mine\n")});
    assert_eq!(decision(&site, &run, &planner, &edited).0, 403);
    let approve = json!({"decision": "approve", "budget": 1});
    assert_eq!(decision(&site, &read, &planner, &approve).0, 403);
    let (status, decided) = decision(&site, &run, &planner, &approve);
    assert_eq!((status, &decided["approved"]), (202, &json!(true)), "{decided}");
    assert_eq!(decision(&site, &run, &planner, &approve).0, 409);
    let work = decided["run"].as_str().unwrap();
    site.until("the run", || {
        let view = site.get(&format!("/api/v1/runs/{work}"), &read);
        (view.status == 200 && view.json()["status"] == "succeeded").then_some(())
    });
    let answer = site.get(&format!("/api/v1/runs/{work}/answer"), &read).json();
    assert_eq!(
        (&answer["result"], &answer["goal"]),
        (&json!("complete"), &json!("add tests for ProgressTracker"))
    );
    assert_eq!(answer["reliable"][0]["files"][0]["path"], TEST, "{answer}");
    assert_eq!(answer["uncertain"][0]["text"], "It is the best one.");
    let page = site.get(&format!("/runs/{work}"), &read).text();
    assert!(page.contains("Reached: its checks pass") && page.contains("sha256"), "{page}");
    let goals = site.get("/goals", &read).text();
    assert!(
        goals.contains("add tests for ProgressTracker") && !goals.contains("Plan it</button>"),
        "{goals}"
    );
    // A plan that reached its goal is offered as a playbook; only a person keeps it.
    let suggested = site.scratch.json(&["learn", "suggest", "--json"]);
    let id = suggested[0]["id"].as_str().unwrap();
    assert!(id.starts_with("playbook-add-tests-for-progresstracker-"), "{suggested}");
    site.scratch.kb(&["learn", "apply", id, "--as", "kept"]).code(0);
    assert!(site.scratch.read(".kb/playbooks/kept.yml").contains("id: kept"));
    site.scratch.kb(&["playbook", "validate", "kept"]).code(0);
    let faq = id.replace("playbook-", "faq-");
    site.scratch.kb(&["learn", "apply", &faq]).code(0);
    let found = site.scratch.kb(&["faq", "tests for ProgressTracker"]).code(0);
    found.says(&["reached it. Created test/progress.test.sh."]);
}

#[test]
fn a_plan_is_edited_refused_and_never_run_twice() {
    let (_provider, site) = site();
    let admin = site.token(Role::Admin);
    for (body, status) in
        [(r#"{"goal": " "}"#, 422), (r#"{"goal": "x", "budget": -1}"#, 422), ("{}", 422)]
    {
        assert_eq!(site.post("/api/v1/goals", &admin, body).status, status, "{body}");
    }
    let planner = planned(&site, &admin);
    // A text with errors decides nothing.
    let wrong =
        json!({"decision": "approve", "playbook": "schema: kb.playbook/1\nid: x\nsteps: 3\n"});
    let (status, problem) = decision(&site, &admin, &planner, &wrong);
    assert!(status == 422 && !problem["problems"].as_array().unwrap().is_empty(), "{problem}");
    assert_eq!(decision(&site, &admin, &planner, &json!({"decision": "refuse"})).0, 202);
    let state = site.get(&format!("/api/v1/goals/{planner}"), &admin).json();
    assert_eq!((&state["state"], &state["decision"]["run"]), (&json!("refused"), &Value::Null));
    assert_eq!(decision(&site, &admin, &planner, &json!({"decision": "approve"})).0, 409);
    assert!(!site.scratch.has(".kb/plans"));
    // A run that is none of a planner is no goal, and a playbook that matches is named in place of a plan.
    site.scratch.write(".kb/playbooks/cover.yml", "schema: kb.playbook/1\nid: cover\ntriggers: [add tests for ProgressTracker]\nsteps:\n  - {id: a, run: \"true\"}\n");
    let found = site.until("the new playbook", || {
        let answer = site.post("/api/v1/goals", &admin, GOAL);
        (answer.status == 200).then(|| answer.json())
    });
    assert_eq!((&found["playbook"], &found["run"]), (&json!("cover"), &Value::Null));
    site.scratch.kb(&["playbook", "run", "cover", "--quiet"]).code(0);
    // Planning runs of the requests above may begin later.
    let runs = site.scratch.json(&["run", "list", "--playbook", "cover", "--json"]);
    let other = runs[0]["run"].as_str().unwrap().to_owned();
    assert_eq!(site.get(&format!("/api/v1/goals/{other}"), &admin).status, 404);
    assert_eq!(site.get(&format!("/api/v1/runs/{other}/answer"), &admin).status, 404);
}
