//! The items of `forEach` and `matrix` steps: their lists, keys and collected outputs.

use super::item_list::too_many;
use super::matrix;
use super::payloads::journal_failure;
use super::read_faults::ReadFaults;
use super::scope::RunScope;
use kb_attempt::FileItems;
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, Json, limits};
use kb_core::evidence::Payload;
use kb_core::redaction::{Masked, Redactor};
use kb_core::run::{Evaluation, InstanceIx, StepStatus};
use kb_language::definition::{ForEach, ItemSource};
use kb_language::expression::{EvalError, Template};
use serde_json::json;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The result of listing the items of a step.
pub(super) enum Listing {
    /// The condition is false, or these are the items.
    Done(Evaluation),
    /// The items must be read from files first; then [`listed`] continues.
    Files(FileItems),
}

/// Items with the keys that their source gives, if it gives any.
type Found = (Vec<Json>, Option<Vec<String>>);

/// Lists the items of a step.
pub(super) fn list(
    scope: &RunScope<'_>,
    ix: InstanceIx,
    for_each: &ForEach,
) -> Result<Listing, EvalError> {
    let render = |template: &Template| scope.check_reads(template.render(scope));
    let found = match &for_each.items {
        ItemSource::Value(value) => of_value(scope.check_reads(value.evaluate(scope))?)?,
        ItemSource::Matrix(matrix) => matrix::combinations(scope, matrix)?,
        ItemSource::Files(globs) => {
            let globs = globs.iter().map(render).collect::<Result<_, EvalError>>()?;
            return Ok(Listing::Files(FileItems::Matching(globs)));
        }
        ItemSource::Lines(path) => return Ok(Listing::Files(FileItems::Lines(render(path)?))),
    };
    evaluation(scope, ix, for_each, found).map(Listing::Done)
}

/// The items that were read from files.
pub(super) fn listed(
    scope: &RunScope<'_>,
    ix: InstanceIx,
    texts: Vec<String>,
) -> Result<Evaluation, EvalError> {
    let step = &scope.plan.step(scope.state.instance(ix).step).step;
    let Some(for_each) = &step.for_each else { return Ok(Evaluation::Condition(true)) };
    let keys = matches!(for_each.items, ItemSource::Files(_)).then(|| texts.clone());
    let items = texts.into_iter().map(Json::String).collect();
    evaluation(scope, ix, for_each, (items, keys))
}

fn of_value(value: Json) -> Result<Found, EvalError> {
    match value {
        Json::Array(items) => Ok((items, None)),
        Json::Object(map) => {
            let keys = map.keys().cloned().collect();
            let item = |(key, value)| json!({"key": key, "value": value});
            Ok((map.into_iter().map(item).collect(), Some(keys)))
        }
        Json::Number(count) => match count.as_u64() {
            Some(count) if count <= limits::FOR_EACH_ITEMS as u64 => {
                Ok(((1..=count).map(Json::from).collect(), None))
            }
            Some(count) => Err(too_many(count as usize)),
            None => {
                let message = format!("`forEach` got the number {count}");
                Err(Box::new(
                    Failure::new(Code::NOT_A_LIST, message)
                        .help("a number of items is whole and not negative"),
                ))
            }
        },
        other => {
            let kind = kb_base::value::kind_of(&other);
            let message = format!("`forEach` needs a list and got a value of kind `{kind}`");
            Err(Box::new(Failure::new(Code::NOT_A_LIST, message)
                .help("name an output that is a list, or use `parse: lines` or `parse: json` on the step that makes it")))
        }
    }
}

fn evaluation(
    scope: &RunScope<'_>,
    ix: InstanceIx,
    for_each: &ForEach,
    (items, given): Found,
) -> Result<Evaluation, EvalError> {
    if items.len() > limits::FOR_EACH_ITEMS {
        return Err(too_many(items.len()));
    }
    let (keys, keyed) = match (&for_each.key, given) {
        (Some(template), _) => (unique(keys(scope, ix, template, &items)?)?, true),
        (None, Some(given)) => (unique(given)?, true),
        (None, None) => ((0..items.len()).map(|i| i.to_string()).collect(), false),
    };
    Ok(Evaluation::Items { keys, items: Payload::inline(Json::Array(items)), keyed })
}

fn keys(
    scope: &RunScope<'_>,
    ix: InstanceIx,
    key: &Template,
    values: &[Json],
) -> Result<Vec<String>, EvalError> {
    let key = |(index, value): (usize, &Json)| {
        let item = Some((Arc::new(value.clone()), index as u32));
        let scope = RunScope {
            instance: Some(ix),
            item,
            depth: Cell::default(),
            faults: ReadFaults::default(),
            ..*scope
        };
        scope.check_reads(key.render(&scope))
    };
    values.iter().enumerate().map(key).collect()
}

fn unique(keys: Vec<String>) -> Result<Vec<String>, EvalError> {
    let mut seen = BTreeSet::new();
    match keys.iter().find(|key| !seen.insert(key.as_str())) {
        None => Ok(keys),
        Some(twice) => {
            let message = format!("`forEach` has two items with the key `{twice}`");
            Err(Box::new(Failure::new(Code::NOT_A_LIST, message).help(
                "make `key` something that tells the items apart, or leave it out to use the index",
            )))
        }
    }
}

/// The output of a `forEach` step: the list of what was collected, with null for failed items. It is
/// built from JSON texts, because the values of all items would dominate the memory of a run.
pub(super) fn gather(
    scope: &RunScope<'_>,
    ix: InstanceIx,
    redactor: &Redactor,
) -> Result<Masked<Payload>, EvalError> {
    let Some(items) = scope.state.instance(ix).items() else {
        return Ok(redactor.mask(Payload::inline(Json::Null)));
    };
    let step = &scope.plan.step(scope.state.instance(ix).step).step;
    let collect = step.for_each.as_ref().and_then(|each| each.collect.as_ref());
    let mut text = String::from("[");
    for ix in items.all() {
        if text.len() > 1 {
            text.push(',');
        }
        let instance = scope.state.instance(ix);
        match (&instance.output, collect) {
            (_, Some(value)) if instance.status == StepStatus::Succeeded => {
                let scope = RunScope {
                    instance: Some(ix),
                    item: None,
                    depth: Cell::default(),
                    faults: ReadFaults::default(),
                    ..*scope
                };
                let value = scope.check_reads(value.evaluate(&scope));
                text.push_str(&value.map_err(|error| in_collect(error, &scope, ix))?.to_string());
            }
            (Some(output), None) if instance.status == StepStatus::Succeeded => {
                scope.payloads.write(output, &mut text).map_err(journal_failure)?;
            }
            _ => text.push_str("null"),
        }
    }
    text.push(']');
    scope.payloads.store_text(text, redactor).map_err(journal_failure)
}

fn in_collect(mut error: EvalError, scope: &RunScope<'_>, ix: InstanceIx) -> EvalError {
    let key = scope.state.key(scope.plan, ix);
    error.message = format!("`collect` of {key}: {}", error.message);
    error
}
