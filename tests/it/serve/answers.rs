//! The API where it changes what waits: answers of forms, resumed runs, fires, backfills, and what it refuses.

use super::api::site;
use super::site::Site;
use crate::running::Start;
use kb::trigger::{FireState, NewFire, Role};
use kb::value::JsonMap;
use serde_json::{Value, json};

const FORM: &str = "schema: kb.playbook/1\nid: form\nsteps:\n  - {id: where, ask: {question: \"Where to?\", options: [staging, production]}}\n  - {id: how, dependsOn: [where], ask: {question: \"How?\", schema: {type: object, properties: {copies: {type: integer, minimum: 1}}, required: [copies]}}}\noutputs: {where: \"{{where.output}}\", copies: \"{{how.output.copies}}\"}\n";
const SOON: &str = "schema: kb.playbook/1\nid: soon\nsteps: [{id: q, ask: {question: \"Now?\", default: \"no\", timeout: 8s}}]\n";
const CHANGES: &str = "schema: kb.playbook/1\nid: changes\nsteps:\n  - {id: build, run: \"cat value\", onError: continue, verify: {checks: [{file: {path: value, count: {pattern: bad, max: 0}}}]}}\n  - {id: ok, approve: \"Deploy?\", dependsOn: [build], runIf: allDone}\n";

/// The only open question of a run.
fn ask(site: &Site, token: &str, run: &str) -> Value {
    site.until("the question", || {
        let asks = site.get(&format!("/api/v1/asks?run={run}"), token).json();
        asks.as_array()?.first().cloned()
    })
}

fn reply(site: &Site, token: &str, ask: &Value, digest: &Value, more: Value) -> u16 {
    let mut body = json!({"decision": "answer", "digest": digest});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let path = format!("/api/v1/asks/{}", ask["id"].as_str().unwrap());
    site.post(&path, token, &body.to_string()).status
}

#[test]
fn answers_of_forms_must_fit_their_question() {
    let site = Site::new(&[("playbooks/form.yml", FORM)]);
    let token = site.token(Role::Approve);
    let run = site.run(&token, &json!({"definition": "form"}), &["waiting"]);
    let first = ask(&site, &token, &run);
    let answer = |ask: &Value, value: Value| {
        reply(&site, &token, ask, &ask["digest"], json!({"answer": value}))
    };
    assert_eq!(answer(&first, json!("moon")), 422);
    assert_eq!(answer(&first, json!("staging")), 202);
    let second = site.until("the second question", || {
        let found = ask(&site, &token, &run);
        (found["id"] != first["id"]).then_some(found)
    });
    assert_eq!(answer(&second, json!({"copies": "many"})), 422);
    assert_eq!(answer(&second, json!({"copies": 3})), 202);
    site.until_status(&token, &run, &["succeeded"]);
    let outputs = site.get(&format!("/api/v1/runs/{run}/outputs"), &token).json();
    assert_eq!(outputs, json!({"where": "staging", "copies": 3}));
    assert_eq!(answer(&second, json!({"copies": 3})), 409, "it is decided");
}

/// The inbox lists what an approval lets run, and not what runs without it.
#[test]
fn the_inbox_lists_what_an_approval_starts() {
    let text = "schema: kb.playbook/1\nid: ship\nsteps:\n  - {id: ok, approve: \"Ship?\"}\n  - {id: upload, dependsOn: [ok], run: [echo, x]}\n  - {id: beside, run: [echo, x]}\n";
    let site = Site::new(&[("playbooks/ship.yml", text)]);
    let token = site.token(Role::Approve);
    let run = site.run(&token, &json!({"definition": "ship"}), &["waiting"]);
    let ask = ask(&site, &token, &run);
    assert_eq!(ask["then"], json!([{"step": "upload", "does": "run echo …"}]), "{ask}");
    let page = site.get("/inbox", &token).text();
    assert!(page.contains("If you approve") && page.contains("<dt>upload</dt>"), "{page}");
    assert!(!page.contains("<dt>beside</dt>"), "{page}");
}

/// What the inbox does not show cannot be approved there.
#[test]
fn a_question_that_the_inbox_cuts_is_not_approved_there() {
    let text = "schema: kb.playbook/1\nid: ship\nparams: [{name: what}]\nsteps:\n  - {id: ok, approve: \"Ship {{what}}?\"}\n";
    let site = Site::new(&[("playbooks/ship.yml", text)]);
    let token = site.token(Role::Approve);
    let page = |what: &str| {
        let start = json!({"definition": "ship", "params": {"what": what}});
        let run = site.run(&token, &start, &["waiting"]);
        let page = site.get("/inbox", &token).text();
        assert_eq!(site.post(&format!("/api/v1/runs/{run}/cancel"), &token, "").status, 202);
        site.until_status(&token, &run, &["cancelled"]);
        page
    };
    let whole = page("it");
    assert!(whole.contains("value=\"approve\"") && whole.contains("Ship it?"), "{whole}");
    let cut = page(&format!("it{}and more", " ".repeat(9_000)));
    assert!(!cut.contains("value=\"approve\""), "{cut}");
    assert!(cut.contains("The question is too long for this page"), "{cut}");
}

/// The process that would take the default when the time is over was killed, so the question is open and late.
#[test]
fn a_question_whose_time_is_over_cannot_be_answered() {
    let site = Site::new(&[("playbooks/soon.yml", SOON)]);
    let token = site.token(Role::Approve);
    let (run, ask) = (0..5)
        .find_map(|_| {
            let mut process = site.scratch.command();
            let process = process.args(["playbook", "run", "soon", "--quiet"]).start();
            let found = site.until("the question", || {
                let asks = site.get("/api/v1/asks", &token).json();
                asks.as_array()?.first().cloned()
            });
            drop(process);
            let run = found["run"].as_str().unwrap().to_owned();
            // On a slow machine the default may have been taken already.
            let view = site.get(&format!("/api/v1/runs/{run}"), &token).json();
            (view["status"] != "succeeded").then_some((run, found))
        })
        .expect("a run that was killed before the end of its time");
    let answer = |digest: &Value| reply(&site, &token, &ask, digest, json!({"answer": "no"}));
    assert_eq!(answer(&json!("another")), 409, "it was not seen");
    let due = ask["question"]["due"].as_i64().unwrap();
    site.until("the end of its time", || (kb::clock::Clock::system().now().0 > due).then_some(()));
    assert_eq!(answer(&ask["digest"]), 410);
    assert_eq!(site.post(&format!("/api/v1/runs/{run}/resume"), &token, "").status, 202);
    site.until_status(&token, &run, &["succeeded"]);
    assert_eq!(answer(&ask["digest"]), 409, "it is decided");
}

#[test]
fn a_run_that_was_removed_is_gone() {
    let quick = "schema: kb.playbook/1\nid: quick\nsteps: [{id: a, run: \"true\"}]\n";
    let site = Site::new(&[("playbooks/quick.yml", quick)]);
    let token = site.token(Role::Run);
    let run = site.run(&token, &json!({"definition": "quick"}), &["succeeded"]);
    site.scratch.kb(&["run", "prune", "--older-than", "0s", "--keep", "0"]).code(0);
    // The daemon records the end of a run after the run itself has; until then it may be about to start.
    let status = || site.get(&format!("/api/v1/runs/{run}"), &token).status;
    site.until("the record of its end", || (status() != 404).then_some(()));
    for path in ["", "/graph", "/outputs", "/events"] {
        let answer = site.get(&format!("/api/v1/runs/{run}{path}"), &token);
        assert_eq!(answer.status, 410, "{path}: {}", answer.text());
    }
}

/// The evidence really changes between the look and the decision.
#[test]
fn evidence_that_changed_since_it_was_seen_refuses_the_decision() {
    let site = Site::new(&[("playbooks/changes.yml", CHANGES), ("value", "good\n")]);
    let token = site.token(Role::Approve);
    let run = site.run(&token, &json!({"definition": "changes"}), &["waiting"]);
    let seen = ask(&site, &token, &run);
    assert_eq!(seen["evidence"][0]["verdict"], "passed", "{seen}");
    assert_eq!(site.post(&format!("/api/v1/runs/{run}/cancel"), &token, "").status, 202);
    site.until_status(&token, &run, &["cancelled"]);
    site.scratch.write("value", "bad\n");
    let retry = site.post(&format!("/api/v1/runs/{run}/retry"), &token, "{\"from\": \"build\"}");
    assert_eq!(retry.status, 202, "{}", retry.text());
    let now = site.until("the new evidence", || {
        let asks = site.get(&format!("/api/v1/asks?run={run}"), &token).json();
        let found = asks.as_array()?.first().cloned()?;
        (found["digest"] != seen["digest"]).then_some(found)
    });
    assert_eq!(now["evidence"][0]["verdict"], "failed", "{now}");
    let approve = json!({"decision": "approve"});
    assert_eq!(
        reply(&site, &token, &seen, &seen["digest"], approve.clone()),
        409,
        "the old question"
    );
    assert_eq!(
        reply(&site, &token, &now, &seen["digest"], approve.clone()),
        409,
        "the old evidence"
    );
    assert_eq!(reply(&site, &token, &now, &now["digest"], approve), 202);
    site.until_status(&token, &run, &["succeeded"]);
}

#[test]
fn runs_are_resumed_and_triggers_fired() {
    let timed = "schema: kb.playbook/1\nid: timed\nparams: [{name: day}]\non: {schedule: {cron: \"0 0 1 1 *\", payload: {day: date}}}\nsteps: [{id: a, run: \"echo $DAY\", env: {DAY: \"{{day}}\"}}]\n";
    let site = Site::new(&[&super::api::FILES[1..], &[("playbooks/timed.yml", timed)]].concat());
    let (token, admin) = (site.token(Role::Run), site.token(Role::Admin));
    // A run whose process was killed, which no trigger started.
    let mut process = site.scratch.command();
    let mut process = process.args(["playbook", "run", "hold", "--quiet"]).start();
    let run = site.until("the run", || {
        let runs = site.get("/api/v1/runs?playbook=hold", &token).json();
        runs[0]["run"].as_str().map(str::to_owned)
    });
    assert_eq!(
        site.post(&format!("/api/v1/runs/{run}/resume"), &token, "").status,
        409,
        "it is driven"
    );
    process.kill().unwrap();
    process.wait().unwrap();
    site.until_status(&token, &run, &["interrupted"]);
    site.scratch.write("go", "");
    assert_eq!(site.post(&format!("/api/v1/runs/{run}/resume"), &token, "").status, 202);
    site.until_status(&token, &run, &["succeeded"]);
    assert_eq!(
        site.post(&format!("/api/v1/runs/{run}/resume"), &token, "").status,
        409,
        "it ended"
    );
    // Fire and backfill start runs; a confirmed number must be the counted one.
    let trigger = "/api/v1/triggers/timed.schedule";
    let digest = site.get(trigger, &token).json()["digest"].clone();
    let body = json!({"digest": digest}).to_string();
    assert_eq!(site.post(&format!("{trigger}/enable"), &admin, &body).status, 200);
    let fired = site.post(&format!("{trigger}/fire"), &token, "{}");
    assert!([201, 202].contains(&fired.status), "{}", fired.text());
    let run = fired.json()["run"].as_str().unwrap().to_owned();
    site.until_status(&token, &run, &["failed", "succeeded"]);
    let range = json!({"from": "2024-12-01T00:00:00Z", "to": "2025-06-01T00:00:00Z"});
    let count = site.post(&format!("{trigger}/backfill"), &token, &range.to_string()).json();
    assert_eq!(count["times"].as_array().unwrap().len(), 1, "{count}");
    let mut confirmed = range.clone();
    confirmed["confirm"] = json!(1);
    let queued = site.post(&format!("{trigger}/backfill"), &token, &confirmed.to_string());
    assert!([200, 202].contains(&queued.status), "{}", queued.text());
    assert_eq!(queued.json()["queued"], true);
    site.until("the run of the backfill", || {
        let fires = super::fires(&site.store);
        fires
            .iter()
            .any(|f| f.nominal.is_some() && matches!(f.state, FireState::Ended(_)))
            .then_some(())
    });
    let again = site.post(&format!("{trigger}/backfill"), &token, &range.to_string()).json();
    assert_eq!((again["times"].as_array().unwrap().len(), &again["fired"]), (0, &json!(1)));
}

/// A queue that is full refuses further starts for a while, and says for how long.
#[test]
fn too_many_waiting_starts_are_refused() {
    let site = site();
    site.scratch.write(".kb/kb.config.yml", "serve: {maxRuns: 1}\n");
    let token = site.token(Role::Run);
    let run = site.run(&token, &json!({"definition": "hold"}), &["running"]);
    let now = kb::clock::Clock::system().now();
    // All of them in the past of one project, so that they wait behind the run that holds the only place.
    let one = |index: usize| NewFire {
        trigger: "api".to_owned(),
        key: format!("many:{index}"),
        playbook: "hold".to_owned(),
        nominal: None,
        until: None,
        digest: None,
        state: FireState::Queued,
        reason: None,
        params: JsonMap::new(),
        depth: 0,
    };
    site.store.enable("api", &kb::value::Digest::of("api"), now).unwrap();
    site.store.pause("api", "the test", kb::clock::Clock::system().wall()).unwrap();
    let fires = (0..1000).map(one).collect();
    site.store
        .record(&[kb::trigger::Recorded { trigger: "api".to_owned(), cursor: now, fires }], now)
        .unwrap();
    let answer = site.post("/api/v1/runs", &token, "{\"definition\": \"p\"}");
    assert_eq!(
        (answer.status, answer.header("retry-after").is_empty()),
        (429, false),
        "{}",
        answer.text()
    );
    assert_eq!(answer.json()["status"], 429);
    assert_eq!(site.post(&format!("/api/v1/runs/{run}/cancel"), &token, "").status, 202);
    site.until_status(&token, &run, &["cancelled"]);
}
