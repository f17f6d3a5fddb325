//! GitHub Actions workflows: jobs become chains of steps.

use super::actions_defaults::{environment, run_defaults};
use super::actions_events::{concurrency, triggers};
use super::actions_expression::Scope;
use super::actions_job::{self, NEEDS, NEEDS_FAILED, any_failed};
use super::draft::{Draft, literal};
use super::fields::Fields;
use super::output::Out;
use crate::definition::Positioned;
use crate::value::Json;
use std::collections::BTreeMap;

pub(super) fn convert(root: &Positioned, draft: &mut Draft) {
    let fields = Fields::of(root, "");
    if let Some(text) = fields.text("name") {
        draft.set("name", literal(&text));
    }
    if let Some(on) = fields.take("on").or_else(|| fields.take("true")) {
        triggers(on, draft);
    }
    let scope = Scope { matrix: "matrix" };
    if let Some(env) = fields.take("env") {
        let variables = environment(env, &scope, draft);
        draft.head.extend(variables.out().map(|env| ("env", env)));
    }
    let cwd = run_defaults(&fields, "", draft);
    if let Some(group) = fields.take("concurrency") {
        concurrency(group, draft);
    }
    let jobs = fields.take("jobs").map(Positioned::entries).unwrap_or_default();
    let names: Vec<&str> = jobs.iter().map(|(id, _, _)| id.as_str()).collect();
    let mut ends: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (id, line, job) in jobs {
        let found = actions_job::add(id, *line, job, cwd.as_deref(), &names, draft);
        ends.insert(id.clone(), found);
    }
    fields.finish(draft);
    depend(draft, &ends);
}

/// Replaces `needs` of jobs by the last steps of these jobs, and the condition that one of them failed.
fn depend(draft: &mut Draft, ends: &BTreeMap<String, Vec<String>>) {
    let steps_of = |jobs: &Out| -> Vec<String> {
        let Out::Value(Json::Array(jobs)) = jobs else { return Vec::new() };
        let jobs = jobs.iter().filter_map(Json::as_str);
        jobs.flat_map(|job| ends.get(job).cloned().unwrap_or_default()).collect()
    };
    for step in &mut draft.steps {
        let Out::Map(entries) = step else { continue };
        if let Some(at) = entries.iter().position(|(key, _)| key == NEEDS_FAILED) {
            let failed = any_failed(&steps_of(&entries.remove(at).1));
            match entries.iter_mut().find(|(key, _)| key == "condition") {
                Some((_, Out::Value(Json::String(own)))) => {
                    *own = format!("({failed}) and ({own})")
                }
                _ => entries.insert(at, ("condition".to_owned(), failed.into())),
            }
        }
        for (key, value) in entries.iter_mut().filter(|(key, _)| key == NEEDS) {
            *key = "dependsOn".to_owned();
            *value = Out::texts(&steps_of(value));
        }
        entries.retain(|(key, value)| {
            key != "dependsOn" || *value != Out::Value(Json::Array(Vec::new()))
        });
    }
}
