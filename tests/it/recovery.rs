//! Recovery rows across processes: approvals, rejections, and the tier and specialist of a resumed run; what
//! a failure suggests, and its partial results.

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
fn the_comment_of_an_approval_is_in_the_prompts_that_follow() {
    let steps = "  - id: a
    specialist: climber
    task: Look.
    recovery:
      - {on: [validation_failed], do: askUser, max: 1}
      - {on: [validation_failed], do: rework}
";
    let script =
        format!("    a: {INVALID}\n    a#2: {INVALID}\n    a#3: [{{output: {{summary: done}}}}]\n");
    let scratch = project(steps, &script);
    scratch.kb(&["playbook", "run", "p", "--script", "script.yml"]).code(3);
    let comment = "read the third chapter";
    scratch.kb(&["run", "approve", "@last", "--comment", comment]).code(0);
    let said = scratch.kb(&["run", "logs", "@last", "a", "--prompts"]).code(0);
    // Once for the attempt that was approved, and once for the rework after it.
    assert_eq!(said.out.matches(&format!("user  a  {comment}")).count(), 2, "{}", said.out);
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

const FAILURES: &str = "  - {id: exits, run: exit 3, onError: continue}
  - {id: missing, run: [no-such-program-of-kb], onError: continue}
  - {id: killed, run: kill -9 $$, onError: continue}
  - {id: slow, run: sleep 60, timeout: 50ms, onError: continue}
  - {id: judged, run: echo, onError: continue, verify: {checks: [{file: nothing.txt}]}}
  - {id: checks, gate: [{file: nothing.txt}], onError: continue}
  - {id: calls, tool: fs:read, input: {path: nothing.txt}, onError: continue}
  - {id: items, forEach: {in: [1, 2]}, run: exit 1, onError: continue}
  - {id: model, specialist: climber, task: Look., recovery: [], onError: continue}
  - id: claims
    specialist: climber
    task: Look.
    recovery: []
    verify: {onFailed: fail, checks: [{file: nothing.txt}]}
    onError: continue
  - id: reads
    set:
      partial: '{{model.error.partial.output}}'
      refuted: '{{claims.error.partial.output.summary}}'
      kind: '{{model.error.kind}} {{claims.error.kind}} {{exits.error.kind}}'
      next: '{{claims.error.suggestedNext[0].action}}'
";

#[test]
fn every_failure_suggests_what_can_follow_and_later_steps_read_it() {
    let script = format!("    model: {INVALID}\n    claims: [{{output: {{summary: I looked}}}}]\n");
    let scratch = project(FAILURES, &script);
    scratch.kb(&["playbook", "run", "p", "--script", "script.yml"]).code(0);
    let shown = scratch.json(&["run", "show", "@last", "--json"]);
    let steps = shown["steps"].as_array().expect("steps");
    let step = |name: &str| steps.iter().find(|step| step["instance"] == name).expect("a step");
    let first = |name: &str| step(name)["error"]["suggestedNext"][0]["action"].clone();
    for (name, action) in [
        ("exits", "ask_user"),
        ("missing", "ask_user"),
        ("killed", "retry"),
        ("slow", "retry"),
        ("judged", "ask_user"),
        ("checks", "ask_user"),
        ("calls", "ask_user"),
        ("items", "retry"),
        ("items[0]", "ask_user"),
        ("model", "escalate_model"),
        ("claims", "change_strategy"),
    ] {
        assert_eq!(first(name), action, "{name}: {}", step(name));
    }
    let events = scratch.kb(&["run", "events", "@last", "--json"]).code(0).events();
    let ends = of_type(&events, "step:end");
    let end = ends.iter().find(|end| end["step"] == "missing").expect("its end");
    assert_eq!(end["error"]["suggestedNext"], step("missing")["error"]["suggestedNext"]);
    let read = scratch.json(&["run", "output", "@last", "reads", "--json"]);
    assert_eq!(
        read,
        json!({
            "partial": {"summary": 3},
            "refuted": "I looked",
            "kind": "validation_failed gate_failed exit:3",
            "next": "change_strategy",
        })
    );
    scratch
        .kb(&["run", "show", "@last"])
        .code(0)
        .says(&["suggested for claims", "change strategy"]);
}

#[test]
fn an_unknown_field_of_an_error_is_reported_at_load() {
    let steps = "  - {id: a, run: exit 1, onError: continue}\n  - {id: b, set: {x: '{{a.error.partail}}'}}\n";
    let said = project(steps, "  none: []\n").kb(&["playbook", "validate"]).code(2);
    said.says(&["`a.error` has no field `partail`", "did you mean `partial`?"]);
}

#[test]
fn escalations_of_a_step_are_part_of_its_outcome() {
    let steps = "  - id: a
    specialist: climber
    task: Look.
    recovery: [{on: [validation_failed], do: escalateModel}]
";
    let script = format!("    a: {INVALID}\n    a#2: [{{output: {{summary: done}}}}]\n");
    let scratch = project(steps, &script);
    let said = scratch.kb(&["playbook", "run", "p", "--script", "script.yml", "--json"]).code(0);
    let events = said.events();
    assert_eq!(of_type(&events, "step:end")[0]["escalations"], 1);
    let shown = scratch.json(&["run", "show", "@last", "--json"]);
    let step = &shown["steps"][0];
    assert_eq!((&step["escalations"], &step["tier"]), (&json!(1), &json!("medium")));
}

/// A step whose gate cannot decide: its check reports no number of tests until `counts` exists.
const DOUBTFUL: &str = "  - id: a
    run: echo done
    verify: {checks: [{command: [sh, -c, \"cat counts || true\"], tests: {}}]}
  - {id: after, dependsOn: [a], run: cat counts}
";

fn doubtful() -> Scratch {
    let scratch = project(DOUBTFUL, "  none: []\n");
    scratch.write(".kb/kb.config.yml", "verifier: {inconclusivePolicy: askUser}\n");
    let said = scratch.kb(&["playbook", "run", "p"]).code(3);
    said.says(&["reports no number of tests", "run another attempt?"]);
    let shown = scratch.json(&["run", "show", "@last", "--json"]);
    assert_eq!(shown["status"], "waiting", "{shown}");
    assert_eq!(shown["steps"][0]["verdict"], "inconclusive", "{shown}");
    scratch
}

#[test]
fn an_approval_after_an_inconclusive_gate_starts_an_attempt_that_is_judged_again() {
    let scratch = doubtful();
    // Nothing has changed, so the gate cannot decide about the next attempt either.
    scratch.kb(&["run", "approve", "@last"]).code(3).says(&["run another attempt?"]);
    scratch.write("counts", "3 passed in 0.1s\n");
    scratch.kb(&["run", "approve", "@last"]).code(0);
    let shown = scratch.json(&["run", "show", "@last", "--json"]);
    assert_eq!(
        (&shown["steps"][0]["attempts"], &shown["steps"][0]["verdict"]),
        (&json!(3), &json!("passed"))
    );
    assert_eq!(shown["steps"][1]["status"], "succeeded");
}

#[test]
fn a_rejection_after_an_inconclusive_gate_fails_the_step_and_blocks_the_next() {
    let scratch = doubtful();
    let said = scratch.kb(&["run", "reject", "@last", "a", "--comment", "no proof"]).code(1);
    said.says(&["another attempt was rejected by", "no proof"]);
    let shown = scratch.json(&["run", "show", "@last", "--json"]);
    assert_eq!(
        (&shown["steps"][0]["status"], &shown["steps"][1]["status"]),
        (&json!("failed"), &json!("blocked"))
    );
}
