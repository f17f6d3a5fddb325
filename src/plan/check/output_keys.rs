//! Reads of output keys that do not exist or are not described.

use super::subject::Subject;
use crate::definition::{Property, Schema};
use crate::diagnostic::{Code, Diagnostic, nearest};
use crate::plan::output::Output;
use crate::plan::reads::Read;
use crate::plan::{PlanStep, StepIx};
use std::collections::BTreeSet;

/// Reads of output keys. A key that a described output does not have is an error. A read of an
/// undescribed output is a warning, one per step that is read.
pub(super) fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let mut undescribed_steps: BTreeSet<StepIx> = BTreeSet::new();
    let mut reported: BTreeSet<(StepIx, Vec<&str>)> = BTreeSet::new();
    let mut problems = Vec::new();
    for read in subject.reads.iter().flatten().chain(&subject.outputs) {
        let Some(target) = subject.plan.find(read.step.as_str()) else { continue };
        let step = subject.plan.step(target);
        let path = read.reference.path();
        let ["output", path @ ..] = path.as_slice() else { continue };
        let Some(first) = path.first() else { continue };
        match Output::of(&step.step, step.specialist.as_ref(), step.child_playbook()) {
            Output::Undescribed if *first != "summary" && !read.reference.guarded => {
                if undescribed_steps.insert(target) {
                    problems.push(undescribed(step, read, first));
                }
            }
            output => {
                if let Some(missing_key) = missing(&output, path)
                    && reported.insert((target, path[..=missing_key.at].to_vec()))
                {
                    problems.push(no_such_key(step, read, path, &output, missing_key));
                }
            }
        }
    }
    problems
}

/// The first key of a path that does not exist.
struct MissingKey<'a> {
    at: usize,
    existing: Vec<&'a str>,
}

fn missing<'a>(output: &Output<'a>, path: &[&str]) -> Option<MissingKey<'a>> {
    match output {
        Output::Text => Some(MissingKey { at: 0, existing: Vec::new() }),
        Output::Keys(known) if !known.contains(&path[0]) => {
            Some(MissingKey { at: 0, existing: known.clone() })
        }
        Output::Schema { summary: true, .. } if path[0] == "summary" => None,
        Output::Schema { schema, .. } => missing_in(schema, path),
        Output::Keys(_) | Output::Undescribed | Output::Open => None,
    }
}

fn missing_in<'a>(schema: &'a Schema, path: &[&str]) -> Option<MissingKey<'a>> {
    let at = (0..path.len()).find(|&at| schema.property(&path[..=at]) == Property::Unknown)?;
    Some(MissingKey { at, existing: if at == 0 { schema.keys() } else { Vec::new() } })
}

fn no_such_key(
    step: &PlanStep,
    read: &Read<'_>,
    path: &[&str],
    output: &Output<'_>,
    missing_key: MissingKey<'_>,
) -> Diagnostic {
    let name = path[missing_key.at];
    let parent = path[..missing_key.at]
        .iter()
        .fold(format!("{}.output", read.step), |text, key| format!("{text}.{key}"));
    let message = format!("`{parent}` has no key `{name}`");
    let problem = Diagnostic::error(Code::UNKNOWN_OUTPUT_KEY, read.reference.span, message)
        .label(step.step.span, format!("`{}` is defined here", read.step));
    if matches!(output, Output::Text) {
        return problem
            .caption("the output of this step is text")
            .help(format!("give `{}` the key `parse: json` if it prints JSON", read.step));
    }
    match nearest(name, missing_key.existing.iter().copied()) {
        Some(near) => problem.help(format!("did you mean `{near}`?")),
        None if missing_key.existing.is_empty() => {
            problem.help(format!("see the output schema of `{}`", read.step))
        }
        None => problem.help(format!("it has {}", listed(&missing_key.existing))),
    }
}

fn listed(names: &[&str]) -> String {
    let shown: Vec<String> = names.iter().take(8).map(|name| format!("`{name}`")).collect();
    let more = if names.len() > shown.len() { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}

fn undescribed(step: &PlanStep, read: &Read<'_>, key: &str) -> Diagnostic {
    let id = &read.step;
    let message = format!("nothing says whether `{id}.output` has a key `{key}`");
    let who = step.specialist.as_ref().map_or("its specialist", |specialist| &specialist.name);
    Diagnostic::warning(Code::OUTPUT_UNDESCRIBED, read.reference.span, message)
        .label(step.step.span, format!("neither this step nor `{who}` has an `output.schema`"))
        .help(format!("add `output: {{schema: {{{key}: string}}}}` to `{id}` or to its specialist"))
}
