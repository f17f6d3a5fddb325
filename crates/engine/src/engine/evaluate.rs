//! Effects that only compute. They change nothing outside, so they do not wait for the journal.

use super::attempt::Attempt;
use super::context::RunContext;
use super::items::{self, Listing};
use super::{compute, prepare, report, waiting};
use kb_attempt::Outcome;
use kb_base::value::OutcomeKind;
use kb_core::evidence::Payload;
use kb_core::redaction::Masked;
use kb_core::run::{AttemptReport, Effect, Evaluation, Input, InstanceIx, State};
use kb_language::definition::Execution;
use kb_language::expression::EvalError;

/// Whether an effect can be evaluated when its turn comes in the queue. Many steps and items can begin in
/// one decision, and the values of all of them would be in memory at the same time. The start of an
/// attempt is no such effect: a cancellation that is decided later must find it.
pub(super) fn can_wait(context: &RunContext, state: &State, effect: &Effect) -> bool {
    match effect {
        Effect::Evaluate { .. } => true,
        Effect::Execute { instance, .. } => {
            match context.planned(state, *instance).step.kind.execution() {
                Execution::Ask(_) | Execution::Wait(_) | Execution::Compute(_) => true,
                Execution::Specialist(_)
                | Execution::Child(_)
                | Execution::Attempt(_)
                | Execution::Gate(_) => false,
            }
        }
        Effect::Gather { .. }
        | Effect::Conclude { .. }
        | Effect::EvaluateUntil { .. }
        | Effect::Verify { .. }
        | Effect::Merge { .. }
        | Effect::Timer { .. }
        | Effect::Cancel { .. }
        | Effect::Leave => false,
    }
}

/// Evaluates an effect and returns its answer; `None` if the effect changes something outside.
pub(super) fn evaluate(context: &RunContext, state: &State, effect: &Effect) -> Option<Input> {
    let redactor = &context.parts.redactor;
    Some(match effect {
        Effect::Evaluate { instance, iteration } => {
            let scope = context.scope(state, Some(*instance));
            let found = match compute::evaluate(&scope, *instance) {
                Ok(Listing::Done(found)) => Ok(found),
                // The files are listed once the events so far are stored.
                Ok(Listing::Files(_)) => return None,
                Err(failure) => Err(failure),
            };
            evaluated(context, *instance, *iteration, found)
        }
        Effect::Gather { instance, iteration } => {
            let output = items::gather(&context.scope(state, None), *instance, redactor)
                .map_err(|failure| context.masked(*failure));
            Input::Gathered { instance: *instance, iteration: *iteration, output }
        }
        Effect::Conclude { iteration } => {
            let outputs = compute::conclude(&context.scope(state, None))
                .map(|outputs| store(context, redactor.mask(Payload::inline(outputs))))
                .map_err(|failure| context.masked(*failure));
            Input::Concluded { iteration: *iteration, outputs }
        }
        Effect::Execute { instance, attempt, iteration, .. } => {
            let work = Attempt { instance: *instance, iteration: *iteration, attempt: *attempt };
            if let Some(input) = waiting::open(context, state, work) {
                return Some(input);
            }
            let report = computed(context, state, *instance)?;
            let (instance, iteration, attempt) = (*instance, *iteration, *attempt);
            Input::AttemptEnded { instance, iteration, attempt, report }
        }
        Effect::EvaluateUntil { instance, iteration, attempt } => {
            let done = compute::until(&context.scope(state, Some(*instance)), *instance)
                .map_err(|failure| context.masked(*failure));
            let (instance, iteration, attempt) = (*instance, *iteration, *attempt);
            Input::UntilEvaluated { instance, iteration, attempt, done }
        }
        Effect::Verify { .. }
        | Effect::Merge { .. }
        | Effect::Timer { .. }
        | Effect::Cancel { .. }
        | Effect::Leave => {
            return None;
        }
    })
}

/// The report of a step that the engine computes; `None` for other steps.
fn computed(context: &RunContext, state: &State, ix: InstanceIx) -> Option<Masked<AttemptReport>> {
    let step = &context.planned(state, ix).step;
    let computation = match step.kind.execution() {
        Execution::Compute(computation) => computation,
        Execution::Specialist(_)
        | Execution::Child(_)
        | Execution::Attempt(_)
        | Execution::Gate(_)
        | Execution::Ask(_)
        | Execution::Wait(_) => return None,
    };
    let scope = context.scope(state, Some(ix));
    let redactor = &context.parts.redactor;
    let outcome = match scope.check_reads(computation.compute(&scope)) {
        Ok(value) => prepare::check_output(step, Outcome::ok(value), redactor),
        Err(failure) => Outcome::failed(OutcomeKind::ToolError, *failure),
    };
    let report = report::report(outcome, redactor);
    // If a blob cannot be written, `Payloads::check` refuses the whole batch.
    Some(context.payloads.store_report(report.clone()).unwrap_or(report))
}

// If a blob cannot be written, `Payloads::check` refuses the whole batch.
fn store(context: &RunContext, payload: Masked<Payload>) -> Masked<Payload> {
    context.payloads.store(payload.clone()).unwrap_or(payload)
}

/// The answer to [`Effect::Evaluate`], with its items as a blob if they are large.
pub(super) fn evaluated(
    context: &RunContext,
    instance: InstanceIx,
    iteration: u32,
    found: Result<Evaluation, EvalError>,
) -> Input {
    let found = found
        .map(|found| store_evaluation(context, found))
        .map_err(|failure| context.masked(*failure));
    Input::Evaluated { instance, iteration, found }
}

fn store_evaluation(context: &RunContext, found: Evaluation) -> Masked<Evaluation> {
    let masked = context.parts.redactor.mask(found);
    let stored =
        masked.clone().rearrange(|found, parts| context.payloads.store_items(found, parts));
    stored.unwrap_or(masked)
}
