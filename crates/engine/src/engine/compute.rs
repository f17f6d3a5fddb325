//! Computations: conditions, loops, run outputs.

use super::items::{self, Listing};
use super::scope::RunScope;
use kb_base::value::{Json, JsonMap};
use kb_core::run::{Evaluation, InstanceIx};
use kb_language::definition::Until;
use kb_language::expression::EvalError;

/// Evaluates the condition and, if it is true, the items of the step.
pub(super) fn evaluate(scope: &RunScope<'_>, ix: InstanceIx) -> Result<Listing, EvalError> {
    let step = &scope.plan.step(scope.state.instance(ix).step).step;
    let holds = match &step.condition {
        Some(condition) => scope.check_reads(condition.truth(scope))?,
        None => true,
    };
    match &step.for_each {
        Some(for_each) if holds => items::list(scope, ix, for_each),
        _ => Ok(Listing::Done(Evaluation::Condition(holds))),
    }
}

/// Whether the loop of a step has ended, after a successful pass.
pub(super) fn until(scope: &RunScope<'_>, ix: InstanceIx) -> Result<bool, EvalError> {
    let instance = scope.state.instance(ix);
    let step = &scope.plan.step(instance.step).step;
    match step.details().repeat.as_ref().map(|repeat| &repeat.until) {
        Some(Until::Expression(until)) => scope.check_reads(until.truth(scope)),
        Some(Until::Checks) => Ok(instance.verification().is_some_and(|found| found.holds())),
        None => Ok(true),
    }
}

/// The outputs of the run. After a failure, and of a run that does not execute all steps on request,
/// the outputs that can be evaluated.
pub(super) fn conclude(scope: &RunScope<'_>) -> Result<Json, EvalError> {
    let state = scope.state;
    let partial = state.instances().any(|(_, instance)| instance.is_deselected());
    let lenient = partial || state.has_failed() || state.is_cancelled() || state.has_expired();
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
