//! The decision which results of an earlier run are kept, as a pure function of two definitions.

use kb::definition::{FileRole, InputFile, StepTexts, content_digest, load};
use kb::plan::{Plan, StepIx};
use kb::run::{Choice, Comparison, Event, InstanceIx, Rules, State, StepStatus, Version, choose};
use kb::value::{Digest, JsonMap, Timestamp};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

const BEFORE: &str = "\
schema: kb.playbook/1
id: p
params: [{name: x, default: a}, {name: y, default: b}]
steps:
  - {id: one, set: {v: '{{x}}'}}
  - {id: two, set: {v: '{{one.output.v}}'}}
  - {id: three, set: {v: '{{params.y}}'}}
  - {id: four, set: {v: 4}, dependsOn: [three], condition: '{{two.output.v}} == \"a\"', timeout: 1s}
finally:
  - {id: last, set: {v: 5}}
";

struct Definition {
    plan: Plan,
    texts: StepTexts,
    files: BTreeMap<String, Digest>,
    params: JsonMap,
    task_files: JsonMap,
}

fn definition(text: &str, params: Value) -> Definition {
    let (path, role) = ("playbooks/p.yml".to_owned(), FileRole::Playbook);
    let file = InputFile { path, bytes: text.as_bytes().into(), role };
    let (catalog, problems) = load(vec![file.clone()]);
    let playbook = catalog.playbooks.get("p").unwrap_or_else(|| panic!("{problems:?}"));
    let (plan, problems) = Plan::build(playbook, &catalog);
    let Value::Object(params) = params else { panic!("parameters are a map") };
    Definition {
        plan: plan.unwrap_or_else(|| panic!("{problems:?}")),
        texts: StepTexts::of(&file),
        files: [(file.path.clone(), content_digest(&file))].into(),
        params,
        task_files: JsonMap::new(),
    }
}

impl Definition {
    fn version(&self) -> Version<'_> {
        let Definition { plan, texts, files, params, task_files } = self;
        Version { plan, texts, params, task_files, files }
    }
}

/// The choices for the edited text, as `keep` or the reason, after a run in which these steps ended in
/// another way than with success.
fn choices(after: &str, params: Value, ends: &[(&str, StepStatus)], again: &[&str]) -> Vec<String> {
    let before = definition(BEFORE, json!({"x": "a", "y": "b"}));
    let now = definition(after, params);
    let mut state = State::new(&before.plan, Rules::default());
    for (ix, planned) in before.plan.iter() {
        let id = planned.step.id.as_str();
        let own = ends.iter().find(|(step, _)| *step == id).map(|(_, status)| *status);
        let status = own.unwrap_or(StepStatus::Succeeded);
        let (instance, tolerated, output, failure) = (InstanceIx(ix.0), false, None, None);
        let ended = Event::Ended { instance, status, tolerated, output, failure };
        state.apply(&before.plan, Timestamp(1), &ended);
    }
    let again: BTreeSet<StepIx> = again.iter().map(|id| now.plan.find(id).unwrap()).collect();
    let facts = Comparison {
        before: before.version(),
        now: now.version(),
        state: &state,
        changed_files: &BTreeMap::new(),
        again: &again,
    };
    let text = |choice: Choice| match choice {
        Choice::Keep => "keep".to_owned(),
        Choice::KeepItems => "keep items".to_owned(),
        Choice::Verify(why) => format!("verify: {why}"),
        Choice::Again(why) | Choice::Continue(why) => why.to_string(),
    };
    choose(&facts).into_iter().map(text).collect()
}

const LAST: &str = "a `finally` step";

#[track_caller]
fn edited(from: &str, to: &str, expected: [&str; 4]) {
    assert!(BEFORE.contains(from), "{from}");
    let found = choices(&BEFORE.replace(from, to), json!({"x": "a", "y": "b"}), &[], &[]);
    assert_eq!(found, [&expected[..], &[LAST]].concat());
}

#[test]
fn an_edit_runs_the_step_and_those_after_it_again() {
    edited("id: p", "id: p # a comment", ["keep"; 4]);
    edited(
        "{v: '{{x}}'}",
        "{v: '{{x}}!'}",
        ["`set` changed", "after `one`", "keep", "after `two`"],
    );
    edited("{v: 4}", "{v: 5}", ["keep", "keep", "keep", "`set` changed"]);
    edited("== \"a\"", "== \"b\"", ["keep", "keep", "keep", "`condition` changed"]);
    edited("dependsOn: [three], ", "", ["keep"; 4]);
    edited("timeout: 1s", "timeout: 2s, onError: continue, retry: {max: 2}, name: x", ["keep"; 4]);
    edited("steps:", "defaults: {cwd: src}\nsteps:", ["`cwd` changed"; 4]);
    edited("steps:", "env: {A: b}\nsteps:", ["`env` of the playbook changed"; 4]);
    let renamed = BEFORE.replace("id: three", "id: drei").replace("[three]", "[drei]");
    let found = choices(&renamed, json!({"x": "a", "y": "b"}), &[], &[]);
    assert_eq!(found, ["keep", "keep", "new", "after `drei`", LAST]);
}

#[test]
fn values_ends_and_requests_count() {
    let with = |params: Value, ends: &[(&str, StepStatus)], again: &[&str]| {
        let found = choices(BEFORE, params, ends, again);
        assert_eq!(found[4], LAST);
        found[..4].to_vec()
    };
    let same = json!({"x": "a", "y": "b"});
    let x = with(json!({"x": "c", "y": "b"}), &[], &[]);
    assert_eq!(x, ["the parameter `x` changed", "after `one`", "keep", "after `two`"]);
    let y = with(json!({"x": "a"}), &[], &[]);
    assert_eq!(y, ["keep", "keep", "the parameter `y` changed", "after `three`"]);
    let again = with(same.clone(), &[], &["two"]);
    assert_eq!(again, ["keep", "requested", "keep", "after `two`"]);
    let skipped = [("four", StepStatus::Skipped)];
    assert_eq!(with(same.clone(), &skipped, &[]), ["keep"; 4]);
    for status in [StepStatus::Failed, StepStatus::Blocked, StepStatus::Cancelled] {
        let ended = with(same.clone(), &[("two", status)], &[]);
        let text = format!("{status} in the earlier run");
        assert_eq!(ended, ["keep", &text, "keep", "after `two`"]);
    }
}

/// What decides whether a step is skipped counts for a step that was skipped.
#[test]
fn an_edited_gate_alone_keeps_the_results_under_the_condition_that_it_accepts_them() {
    edited(
        "{id: one, set: {v: '{{x}}'}}",
        "{id: one, set: {v: '{{x}}'}, verify: {checks: [{expr: 'true'}]}}",
        ["verify: `verify` changed", "verify: after `one`", "keep", "verify: after `two`"],
    );
    edited(
        "{id: one, set: {v: '{{x}}'}}",
        "{id: one, set: {v: '{{x}}!'}, verify: {checks: [{expr: 'true'}]}}",
        ["`set`, `verify` changed", "after `one`", "keep", "after `two`"],
    );
}

#[test]
fn of_a_skipped_step_the_policies_count_too() {
    let after = BEFORE.replace("timeout: 1s", "timeout: 2s");
    let skipped = [("four", StepStatus::Skipped)];
    let found = choices(&after, json!({"x": "a", "y": "b"}), &skipped, &[]);
    assert_eq!(found[3], "`timeout` changed");
}
