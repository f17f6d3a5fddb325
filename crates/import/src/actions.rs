//! GitHub Actions workflows: jobs become chains of steps.

use super::actions_defaults::{environment, run_defaults};
use super::actions_events::{concurrency, triggers};
use super::actions_job;
use super::actions_machine::PERMISSIONS;
use super::actions_scope::Scope;
use super::actions_text::joined;
use super::draft::{Draft, literal, name};
use super::fields::Fields;
use super::output::Out;
use kb_language::definition::Positioned;
use std::collections::{BTreeMap, BTreeSet};

type Job = (String, u32, Positioned);

pub(super) fn convert(root: &Positioned, draft: &mut Draft) {
    let fields = Fields::of(root, "", draft);
    fields.left_out(&["permissions"], PERMISSIONS, draft);
    fields.left_out(&["run-name"], "a run has the name of its playbook", draft);
    if let Some(text) = fields.text("name") {
        draft.set("name", literal(&text));
    }
    let on = fields.take("on").or_else(|| fields.take("true"));
    let outputs = on.and_then(|on| triggers(on, draft));
    let mut scope = Scope::default();
    if let Some(env) = fields.take("env") {
        let variables = environment(env, &scope, draft);
        scope.env = variables.0.iter().map(|(name, _)| name.clone()).collect();
        draft.head.extend(variables.out().map(|env| ("env", env)));
    }
    let cwd = run_defaults(&fields, "", draft);
    if let Some(group) = fields.take("concurrency") {
        concurrency(group, draft);
    }
    let jobs = fields.take("jobs").map(Positioned::entries).unwrap_or_default();
    let ids: BTreeSet<&str> = jobs.iter().map(|(id, _, _)| id.as_str()).collect();
    for (id, line, job) in in_order(jobs) {
        scope.steps.clear();
        let found = draft.scope(id, None, |draft| {
            actions_job::add(id, *line, job, cwd.as_deref(), &ids, &mut scope, draft)
        });
        scope.jobs.insert(id.clone(), found);
    }
    if let Some(outputs) = outputs {
        set_outputs(outputs, &scope, draft);
    }
    for secret in scope.secrets.take() {
        draft
            .hint(1, format!("the secret `{secret}` is a parameter whose value is `env:{secret}`"));
        draft.params.push(Out::map(vec![
            ("name", name(&secret).into()),
            ("type", "secret".into()),
            ("default", format!("env:{secret}").into()),
        ]));
    }
}

/// The jobs, each after those that it needs; otherwise as in the file. Jobs that need each other are last.
fn in_order(jobs: &[Job]) -> Vec<&Job> {
    let places: BTreeMap<&str, usize> =
        jobs.iter().enumerate().map(|(at, (id, _, _))| (id.as_str(), at)).collect();
    let mut followers: Vec<Vec<usize>> = vec![Vec::new(); jobs.len()];
    let mut open: Vec<usize> = vec![0; jobs.len()];
    for (at, (_, _, job)) in jobs.iter().enumerate() {
        let needs = actions_job::needs_of(&Fields::ahead(job));
        for need in needs.iter().filter_map(|need| places.get(need.as_str())) {
            followers[*need].push(at);
            open[at] += 1;
        }
    }
    let mut ready: BTreeSet<usize> = (0..jobs.len()).filter(|at| open[*at] == 0).collect();
    let mut order = Vec::with_capacity(jobs.len());
    while let Some(at) = ready.pop_first() {
        order.push(at);
        for follower in &followers[at] {
            open[*follower] -= 1;
            if open[*follower] == 0 {
                ready.insert(*follower);
            }
        }
    }
    order.extend((0..jobs.len()).filter(|at| open[*at] > 0));
    order.into_iter().map(|at| &jobs[at]).collect()
}

/// The outputs of a workflow that others call.
fn set_outputs(outputs: &Positioned, scope: &Scope, draft: &mut Draft) {
    let mut map = Vec::new();
    for (key, line, output) in outputs.entries() {
        let fields = Fields::of(output, format!("on.workflow_call.outputs.{key}."), draft);
        fields.text("description");
        let text = fields.text("value").unwrap_or_default();
        match joined(&text, scope) {
            Ok(found) => map.push((key.clone(), Out::from(format!("{{{{{found}}}}}")))),
            Err(unknown) => {
                draft.left_out(*line, format!("the output `{key}` is not mapped (`{unknown}`)"))
            }
        }
    }
    if !map.is_empty() {
        draft.set("outputs", Out::Map(map));
    }
}
