//! Recovery rows across processes: approvals, rejections, and the tier and specialist of a resumed run.

use crate::scratch::Scratch;
use serde_json::{Value, json};

const SPECIALISTS: [(&str, &str); 2] = [
    (
        ".kb/specialists/climber.yml",
        "schema: kb.specialist/1\nid: climber\nrole: You look.\nllm: {tier: small, ladder: [small, medium]}\n",
    ),
    (
        ".kb/specialists/senior.yml",
        "schema: kb.specialist/1\nid: senior\nrole: You know.\nllm: {tier: large}\n",
    ),
];

/// Turns whose outputs violate the schema.
const INVALID: &str = "[{output: {summary: 1}}, {output: {summary: 2}}, {output: {summary: 3}}]";

fn project(steps: &str, script: &str) -> Scratch {
    let playbook = format!("schema: kb.playbook/1\nid: p\nsteps:\n{steps}");
    let scratch = Scratch::new(&[(".kb/playbooks/p.yml", &playbook)]);
    SPECIALISTS.iter().for_each(|(path, text)| scratch.write(path, text));
    scratch.write("script.yml", &format!("schema: kb.script/1\nsteps:\n{script}"));
    scratch
}

fn of_type<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

const ASKS: &str = "  - id: a
    run: test -f ok
    recovery: [{on: [exit], do: askUser}]
";

#[test]
fn an_approval_starts_another_attempt_and_the_person_is_asked_again() {
    let scratch = project(ASKS, "  none: []\n");
    scratch.kb(&["playbook", "run", "p"]).code(3).says(&["run another attempt?"]);
    scratch.kb(&["run", "approve", "@last"]).code(3).says(&["run another attempt?"]);
    scratch.write("ok", "");
    scratch.kb(&["run", "approve", "@last"]).code(0);
    let shown = scratch.json(&["run", "show", "@last", "--json"]);
    assert_eq!(shown["steps"][0]["attempts"], 3, "{shown}");
}

#[test]
fn a_rejection_fails_the_step_for_the_reason_that_was_asked_about() {
    let scratch = project(ASKS, "  none: []\n");
    scratch.kb(&["playbook", "run", "p"]).code(3);
    let said = scratch.kb(&["run", "reject", "@last", "a", "--comment", "broken"]).code(1);
    said.says(&["exit code 1", "another attempt was rejected by", "broken"]);
}

#[test]
fn a_resumed_run_keeps_the_tier_of_an_escalation() {
    let steps = "  - id: a
    specialist: climber
    task: Look.
    recovery:
      - {on: [validation_failed], do: escalateModel}
      - {on: [validation_failed], do: askUser}
";
    let script =
        format!("    a: {INVALID}\n    a#2: {INVALID}\n    a#3: [{{output: {{summary: done}}}}]\n");
    let scratch = project(steps, &script);
    let run = ["playbook", "run", "p", "--script", "script.yml", "--json"];
    let said = scratch.kb(&run).code(3);
    let events = said.events();
    let tiers: Vec<&Value> =
        of_type(&events, "step:start").into_iter().map(|event| &event["tier"]).collect();
    assert_eq!(tiers, [&json!("small"), &json!("medium")]);
    // Another process starts the third attempt.
    let said = scratch.kb(&["run", "approve", "@last", "--json"]).code(0);
    let events = said.events();
    let started = of_type(&events, "step:start");
    assert_eq!(started.last().expect("an attempt")["tier"], "medium");
}

#[test]
fn a_switch_survives_a_resume_and_uses_the_frozen_definition() {
    let steps = "  - id: a
    specialist: climber
    task: Look.
    recovery:
      - {on: [validation_failed], do: switchSpecialist, to: senior}
      - {on: [validation_failed], do: askUser}
";
    let script =
        format!("    a: {INVALID}\n    a#2: {INVALID}\n    a#3: [{{output: {{summary: done}}}}]\n");
    let scratch = project(steps, &script);
    scratch.kb(&["playbook", "run", "p", "--script", "script.yml"]).code(3);
    std::fs::remove_file(scratch.root().join(".kb/specialists/senior.yml")).expect("removed");
    let said = scratch.kb(&["run", "approve", "@last", "--json"]).code(0);
    let events = said.events();
    let started = of_type(&events, "step:start");
    let last = started.last().expect("an attempt");
    assert_eq!((&last["specialist"], &last["tier"]), (&json!("senior"), &json!("large")));
}
