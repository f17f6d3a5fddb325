//! Short texts for drawings.

use crate::expression::{Reference, Root, ValueTemplate};
use crate::plan::PlanStep;
use crate::value::one_line;

/// Maximum number of characters of a worker's name.
const MAX_WORKER: usize = 256;

/// The kind and what does the work: `specialist researcher`, `tool fs:write`, `set`.
pub(super) fn kind_and_worker(step: &PlanStep) -> String {
    let worker = one_line(&step.step.kind.worker(), MAX_WORKER);
    let kind = step.step.kind.name();
    if worker.is_empty() { kind.to_owned() } else { format!("{kind} {worker}") }
}

/// The items of a `forEach`: `plan.output.files`, or the number of literal items.
pub(super) fn items(items: &ValueTemplate) -> String {
    let literal = match items {
        ValueTemplate::Literal(value) => value.as_array(),
        _ => None,
    };
    match (items.references().first(), literal) {
        (Some(reference), _) => path(reference),
        (None, Some(list)) => format!("{} items", list.len()),
        (None, None) => "a list".to_owned(),
    }
}

fn path(reference: &Reference) -> String {
    let root = match &reference.root {
        Root::Step(step) => step.to_string(),
        Root::Param(name) => name.to_string(),
        Root::Params => "params".to_owned(),
        Root::Run => "run".to_owned(),
        Root::Env(name) => format!("env.{name}"),
        Root::Secret(name) => format!("secrets.{name}"),
        Root::Item => "item".to_owned(),
        Root::Index => "index".to_owned(),
        Root::Loop => "loop".to_owned(),
    };
    reference.path().iter().fold(root, |text, key| format!("{text}.{key}"))
}
