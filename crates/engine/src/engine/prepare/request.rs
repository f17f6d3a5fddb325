//! The request of an attempt, and the check of its output.

use super::values::{attempt_timeout, cwd, env};
use super::work::{AttemptInputs, work};
use crate::engine::caching;
use crate::engine::relied::relied;
use crate::engine::scope::RunScope;
use crate::engine::trees::tree;
use kb_attempt::{CommandsBefore, Outcome, Request};
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, OutcomeKind};
use kb_core::redaction::Redactor;
use kb_core::verify::commands_before;
use kb_language::definition::{Check, ClaimPolicy, EvidenceMode, Step};
use kb_language::expression::EvalError;
use kb_language::plan::{Plan, PlanStep, StepIx};
use std::sync::Arc;

/// The request of an attempt. An error is the failure of the attempt.
pub(in crate::engine) fn request(
    scope: &RunScope<'_>,
    inputs: AttemptInputs<'_>,
) -> Result<Request, EvalError> {
    let ix = inputs.work.instance;
    let planned = scope.plan.step(scope.state.instance(ix).step);
    let step = &planned.step;
    Ok(Request {
        run: scope.run.clone(),
        instance: scope.state.key(scope.plan, ix),
        iteration: inputs.work.iteration,
        attempt: inputs.work.attempt,
        pass: scope.state.instance(ix).pass(),
        work: work(scope, planned, &inputs)?,
        timeout: attempt_timeout(scope.plan, scope.state, ix),
        idle: step.details().timeout.idle,
        env: env(scope, step)?,
        cwd: cwd(scope, step)?,
        evidence: takes_evidence(scope.plan, scope.state.instance(ix).step),
        tree: tree(scope, ix).map(Box::new),
        confined: inputs.known.confined(inputs.plan, scope.state.instance(ix).step),
        before: if inputs.is_fresh { before(scope, planned) } else { None },
        relied: if inputs.is_fresh { relied(scope, ix) } else { Vec::new() },
        left: inputs.left.clone().map(Box::new),
        callers: Arc::default(),
        cache: caching::request(scope, step, inputs.work, &inputs.history)?.map(Box::new),
    })
}

/// The commands of checks that run before the step.
fn before(scope: &RunScope<'_>, planned: &PlanStep) -> Option<Box<CommandsBefore>> {
    let commands = commands_before(planned.step.checks(), scope);
    let sandboxed = planned.specialist.as_ref().map(|specialist| specialist.network);
    (!commands.is_empty()).then(|| Box::new(CommandsBefore { commands, sandboxed }))
}

/// Whether file changes are recorded: for specialists, and for steps whose work a gate verifies, their own or a later one.
fn takes_evidence(plan: &Plan, ix: StepIx) -> bool {
    let step = &*plan.step(ix).step;
    // The files that a step changes belong to its stored result, unless it declares them.
    let stores_changes =
        || step.details().cache.as_ref().is_some_and(|cache| cache.outputs.is_empty());
    let reads_changes = || {
        step.verify().is_some_and(|verify| {
            verify.claims != ClaimPolicy::None || verify.checks.iter().any(Check::reads_changes)
        })
    };
    match step.details().evidence {
        Some(mode) => mode == EvidenceMode::Full,
        None => {
            step.kind.is_specialist()
                || stores_changes()
                || reads_changes()
                || plan.is_before_gate(ix)
        }
    }
}

/// Checks the output of a step against its `output.schema`. Specialists check theirs themselves.
pub(in crate::engine) fn check_output(
    step: &Step,
    outcome: Outcome,
    redactor: &Redactor,
) -> Outcome {
    let Some(schema) =
        step.details().output_schema.as_ref().filter(|_| outcome.kind == OutcomeKind::Ok)
    else {
        return outcome;
    };
    let masked = |text: &str| redactor.mask_text(text).into_owned();
    let violations = outcome.output.as_ref().map(|o| schema.violations_shown(o, &masked));
    let violations = violations.unwrap_or_default();
    if violations.is_empty() || step.kind.is_specialist() {
        return outcome;
    }
    let lines = violations.iter().map(|v| format!("output{}: {}", v.pointer, v.message));
    let message =
        format!("the output does not match its schema: {}", lines.collect::<Vec<_>>().join("; "));
    let failure = Failure::new(Code::OUTPUT_INVALID, message);
    Outcome { kind: OutcomeKind::ValidationFailed, output: None, failure: Some(failure), ..outcome }
}
