//! Reads of output keys that do not exist or are not described.

use super::subject::Subject;
use crate::definition::{ForEach, Property, Schema};
use crate::plan::output::Output;
use crate::plan::reads::Read;
use crate::plan::{PlanStep, StepIx};
use kb_base::diagnostic::{Code, Diagnostic, nearest};
use std::collections::BTreeSet;

/// Reads of output keys. A key that a described output does not have is an error. A read of an
/// undescribed output is a warning, one per step that is read.
pub(super) fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let mut undescribed_steps: BTreeSet<StepIx> = BTreeSet::new();
    let mut reported: BTreeSet<(StepIx, Vec<&str>)> = BTreeSet::new();
    let mut problems = Vec::new();
    let by_step = subject.reads.iter().enumerate();
    let of_steps =
        by_step.flat_map(|(i, reads)| reads.iter().map(move |read| (Some(StepIx(i as u32)), read)));
    for (reader, read) in of_steps.chain(subject.outputs.iter().map(|read| (None, read))) {
        let Some(target) = subject.plan.find(read.step.as_str()) else { continue };
        let step = subject.plan.step(target);
        // In its own texts, a step reads its current item.
        let each = step.step.for_each.as_deref().filter(|_| reader != Some(target));
        let (whole, path) = match keys_of_output(step, each, read) {
            Ok(Some(found)) => found,
            Ok(None) => continue,
            Err(problem) => {
                problems.push(*problem);
                continue;
            }
        };
        let Some(first) = path.first() else { continue };
        match Output::of(&step.step, step.specialist.as_ref(), step.child_playbook()) {
            Output::Undescribed if *first != "summary" && !read.reference.guarded => {
                if undescribed_steps.insert(target) {
                    problems.push(undescribed(step, read, first));
                }
            }
            output => {
                if let Some(missing_key) = missing(&output, &path)
                    && reported.insert((target, path[..=missing_key.at].to_vec()))
                {
                    problems.push(no_such_key(step, read, (&whole, &path), &output, missing_key));
                }
            }
        }
    }
    problems
}

/// The output that a reference reads, as messages name it, and the keys that are read from it.
type OutputKeys<'a> = Option<(String, Vec<&'a str>)>;

/// What a reference reads of the output of a step. The output of a step with items is a list, which has
/// no keys; with keys, its items are also below `byKey`.
fn keys_of_output<'a>(
    step: &PlanStep,
    each: Option<&ForEach>,
    read: &Read<'a>,
) -> Result<OutputKeys<'a>, Box<Diagnostic>> {
    let id = read.step;
    let path = read.reference.path();
    let wrong = |message: String, help: String| {
        let problem = Diagnostic::error(Code::UNKNOWN_OUTPUT_KEY, read.reference.span, message);
        let defined = format!("`{id}` is defined here");
        Err(Box::new(problem.label(step.step.span, defined).help(help)))
    };
    let root = id.as_str().replace('-', "_");
    match (each, path.as_slice()) {
        (None, ["output", path @ ..]) => Ok(Some((format!("{id}.output"), path.to_vec()))),
        (None, ["byKey", ..]) => wrong(
            format!("`{id}` has no `byKey`, because it has no `forEach`"),
            format!("write `{root}.output`"),
        ),
        (Some(each), ["byKey", ..]) if !each.can_have_keys() => wrong(
            format!("the items of `{id}` have no keys"),
            format!("give its `forEach` a `key`, or read `{root}.output[0]`"),
        ),
        (Some(each), ["byKey", _, path @ ..]) if each.collect.is_none() => {
            Ok(Some((format!("{id}.byKey[…]"), path.to_vec())))
        }
        (Some(_), ["output", key, ..]) => wrong(
            format!("`{id}.output` is a list, which has no key `{key}`"),
            format!(
                "write `{root}.output[0].{key}`, `{root}.output | map(attribute='{key}') | list`, or \
                 `{root}.byKey['…'].{key}`"
            ),
        ),
        (Some(each), ["output"]) if each.collect.is_none() => {
            let path = read.reference.path_of_element();
            Ok(path.map(|path| (format!("{id}.output[…]"), path)))
        }
        _ => Ok(None),
    }
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
    (whole, path): (&str, &[&str]),
    output: &Output<'_>,
    missing_key: MissingKey<'_>,
) -> Diagnostic {
    let name = path[missing_key.at];
    let parent =
        path[..missing_key.at].iter().fold(whole.to_owned(), |text, key| format!("{text}.{key}"));
    let message = format!("`{parent}` has no key `{name}`");
    let problem = Diagnostic::error(Code::UNKNOWN_OUTPUT_KEY, read.reference.span, message)
        .label(step.step.span, format!("`{}` is defined here", read.step));
    if matches!(output, Output::Text) {
        let help = match step.step.kind.name() {
            "run" => format!("give `{}` the key `parse: json` if it prints JSON", read.step),
            _ => format!("write `{whole}`, which is the whole text"),
        };
        return problem.caption("the output of this step is text").help(help);
    }
    match nearest(name, missing_key.existing.iter().copied()) {
        Some(near) => problem.help(format!("did you mean `{near}`?")),
        None if missing_key.existing.is_empty() => {
            problem.help(format!("see the output schema of `{}`", read.step))
        }
        None => problem.help(format!("it has {}", listed(&missing_key.existing))),
    }
}

pub(super) fn listed(names: &[&str]) -> String {
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
