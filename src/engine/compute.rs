//! Computations: conditions, `forEach` lists, collected item outputs, run outputs.

use super::prepare::journal_failure;
use super::scope::RunScope;
use crate::definition::ForEach;
use crate::diagnostic::Code;
use crate::evidence::Payload;
use crate::expression::{EvalError, Template};
use crate::redaction::{Masked, Redactor};
use crate::run::{Evaluation, InstanceIx, Items, StepStatus};
use crate::value::{Failure, Json, JsonMap, limits};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Evaluates the condition and, if it is true, the `forEach` list.
pub(super) fn evaluate(scope: &RunScope<'_>, ix: InstanceIx) -> Result<Evaluation, EvalError> {
    let step = &scope.plan.step(scope.state.instance(ix).step).step;
    let holds = match &step.condition {
        Some(condition) => scope.check_reads(condition.truth(scope))?,
        None => true,
    };
    match &step.for_each {
        Some(for_each) if holds => items(scope, ix, for_each),
        _ => Ok(Evaluation::Condition(holds)),
    }
}

/// Whether the loop of a step has ended, after a successful pass.
pub(super) fn until(scope: &RunScope<'_>, ix: InstanceIx) -> Result<bool, EvalError> {
    let step = &scope.plan.step(scope.state.instance(ix).step).step;
    match &step.details().repeat {
        Some(repeat) => scope.check_reads(repeat.until.truth(scope)),
        None => Ok(true),
    }
}

fn items(
    scope: &RunScope<'_>,
    ix: InstanceIx,
    for_each: &ForEach,
) -> Result<Evaluation, EvalError> {
    let list = scope.check_reads(for_each.items.evaluate(scope))?;
    let Json::Array(values) = &list else {
        let kind = crate::value::kind_of(&list);
        let message = format!("`forEach` needs a list and got a value of kind `{kind}`");
        return Err(Box::new(Failure::new(Code::NOT_A_LIST, message)
            .help("name an output that is a list, or use `parse: lines` or `parse: json` on the step that makes it")));
    };
    if values.len() > limits::FOR_EACH_ITEMS {
        let message = format!(
            "`forEach` got {} items; at most {} are allowed",
            values.len(),
            limits::FOR_EACH_ITEMS
        );
        return Err(Box::new(Failure::new(Code::NOT_A_LIST, message)));
    }
    let (keys, keyed) = match &for_each.key {
        Some(template) => (keys(scope, ix, template, values)?, true),
        None => ((0..values.len()).map(|i| i.to_string()).collect(), false),
    };
    Ok(Evaluation::Items { keys, items: Payload::inline(list), keyed })
}

fn keys(
    scope: &RunScope<'_>,
    ix: InstanceIx,
    key: &Template,
    values: &[Json],
) -> Result<Vec<String>, EvalError> {
    let mut keys = Vec::with_capacity(values.len());
    let mut seen = BTreeSet::new();
    for (index, value) in values.iter().enumerate() {
        let item = Some((Arc::new(value.clone()), index as u32));
        let scope = RunScope {
            instance: Some(ix),
            item,
            depth: Cell::default(),
            read_error: Cell::default(),
            ..*scope
        };
        let text = scope.check_reads(key.render(&scope))?;
        if !seen.insert(text.clone()) {
            let message = format!("`forEach` has two items with the key `{text}`");
            return Err(Box::new(Failure::new(Code::NOT_A_LIST, message).help(
                "make `key` something that tells the items apart, or leave it out to use the index",
            )));
        }
        keys.push(text);
    }
    Ok(keys)
}

/// The output of a `forEach` step: a list or a map of the item outputs, with null for failed items.
/// It is built from JSON texts, because the values of all items would dominate the memory of a run.
pub(super) fn gather(
    scope: &RunScope<'_>,
    ix: InstanceIx,
    redactor: &Redactor,
) -> Result<Masked<Payload>, EvalError> {
    let Some(items) = scope.state.instance(ix).items() else {
        return Ok(redactor.mask(Payload::inline(Json::Null)));
    };
    let mut text = String::from(if items.keyed { "{" } else { "[" });
    for (key, ix) in keyed(scope, items) {
        if text.len() > 1 {
            text.push(',');
        }
        if let Some(key) = key {
            text.push_str(&format!("{}:", Json::from(key)));
        }
        let instance = scope.state.instance(ix);
        match &instance.output {
            Some(output) if instance.status == StepStatus::Succeeded => {
                scope.payloads.write(output, &mut text).map_err(journal_failure)?;
            }
            _ => text.push_str("null"),
        }
    }
    text.push(if items.keyed { '}' } else { ']' });
    scope.payloads.store_text(text, redactor).map_err(journal_failure)
}

/// Items in order, with their keys if the output is a map. Masked keys may be equal; then the last
/// item replaces the first.
fn keyed(scope: &RunScope<'_>, items: &Items) -> Vec<(Option<String>, InstanceIx)> {
    let mut positions = BTreeMap::new();
    let mut found: Vec<(Option<String>, InstanceIx)> = Vec::new();
    for ix in items.all() {
        let item = scope.state.instance(ix).item.as_ref();
        let Some(key) = item.filter(|_| items.keyed).map(|item| item.key().into_owned()) else {
            found.push((None, ix));
            continue;
        };
        let position = *positions.entry(key.clone()).or_insert(found.len());
        match found.get_mut(position) {
            Some((_, last)) => *last = ix,
            None => found.push((Some(key), ix)),
        }
    }
    found
}

/// The outputs of the run. After a failure, the outputs that can be evaluated.
pub(super) fn conclude(scope: &RunScope<'_>) -> Result<Json, EvalError> {
    let state = scope.state;
    let lenient = state.has_failed() || state.is_cancelled() || state.has_expired();
    let mut outputs = JsonMap::new();
    for (name, template) in &scope.plan.playbook().outputs {
        match scope.check_reads(template.evaluate(scope)) {
            Ok(value) => drop(outputs.insert(name.to_string(), value)),
            Err(_) if lenient => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Json::Object(outputs))
}
