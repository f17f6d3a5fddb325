//! Short texts for drawings.

use crate::definition::ItemSource;
use crate::expression::{Reference, Root, Template, ValueTemplate};
use crate::plan::PlanStep;
use kb_base::value::{Json, one_line};

/// Maximum number of characters of a worker's name.
const MAX_WORKER: usize = 256;

/// The kind and what does the work: `specialist researcher`, `tool fs:write`, `set`.
pub(super) fn kind_and_worker(step: &PlanStep) -> String {
    let worker = one_line(&step.step.kind.worker(), MAX_WORKER);
    let kind = step.step.kind.name();
    if worker.is_empty() { kind.to_owned() } else { format!("{kind} {worker}") }
}

/// The items of a `forEach`: `plan.output.files`, the number of literal items, the globs or the axes.
pub(super) fn items(items: &ItemSource) -> String {
    let literal = |text: &Template| text.as_literal().unwrap_or("…").to_owned();
    match items {
        ItemSource::Value(value) => value_items(value),
        ItemSource::Files(globs) => {
            one_line(&globs.iter().map(literal).collect::<Vec<_>>().join(" "), MAX_WORKER)
        }
        ItemSource::Lines(path) => format!("the lines of {}", one_line(&literal(path), MAX_WORKER)),
        ItemSource::Matrix(matrix) => {
            let axes: Vec<&str> = matrix.axes.iter().map(|(name, _)| name.as_str()).collect();
            one_line(&axes.join(" × "), MAX_WORKER)
        }
    }
}

fn value_items(items: &ValueTemplate) -> String {
    let literal = match items {
        ValueTemplate::Literal(value) => match &**value {
            Json::Array(list) => Some(list.len() as u64),
            Json::Object(map) => Some(map.len() as u64),
            other => other.as_u64(),
        },
        _ => None,
    };
    match (items.references().first(), literal) {
        (Some(reference), _) => path(reference),
        (None, Some(1)) => "1 item".to_owned(),
        (None, Some(count)) => format!("{count} items"),
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
