//! The request of a gate, with the values that its checks read and the subject of its judge.

use super::values::{attempt_timeout, cwd, env};
use super::work::{chosen_specialist, rendered_task};
use crate::engine::attempt::Attempt;
use crate::engine::known::LiveKnown;
use crate::engine::scope::{RunScope, Snapshot};
use crate::engine::trees::tree;
use kb_attempt::{GateRequest, JudgeSubject};
use kb_base::value::{Json, JsonMap};
use kb_core::evidence::{Invocation, Purpose, Record};
use kb_language::definition::{Check, ClaimPolicy, EvidenceMode, Step, StepKind, Verify};
use kb_language::expression::{EvalError, Reference};
use kb_language::plan::Plan;
use std::sync::Arc;

/// The inputs of a gate that are not in the definition.
pub(in crate::engine) struct GateInputs<'a> {
    pub(in crate::engine) work: Attempt,
    pub(in crate::engine) output: Arc<Json>,
    pub(in crate::engine) trace: Vec<Invocation>,
    /// The records since the end of the attempt.
    pub(in crate::engine) records: Vec<Record>,
    pub(in crate::engine) task_files: &'a JsonMap,
    /// What is known of the run.
    pub(in crate::engine) known: &'a LiveKnown,
    pub(in crate::engine) plan: &'a Arc<Plan>,
}

/// The request of a gate, with the values that its checks read.
pub(in crate::engine) fn gate(
    scope: &RunScope<'_>,
    inputs: GateInputs<'_>,
) -> Result<(GateRequest, Snapshot), EvalError> {
    let judged = judged(scope, &inputs)?;
    let GateInputs { work: Attempt { instance: ix, .. }, output, trace, known, plan, .. } = inputs;
    let planned = scope.plan.step(scope.state.instance(ix).step);
    let step = &planned.step;
    let writes = scope.state.specialist(scope.plan, ix).is_some_and(|s| s.writes());
    let is_specialist = planned.specialist.is_some();
    let (checks, claims, expect_changes) = match (step.kind.checks(), step.verify()) {
        (Some(checks), _) => (checks.to_vec(), ClaimPolicy::None, false),
        (None, Some(verify)) => (
            verify.checks.clone(),
            verify.claims,
            verify.expect_changes.unwrap_or(writes && claims_count(verify)),
        ),
        (None, None) if is_specialist => (Vec::new(), ClaimPolicy::Strict, writes),
        (None, None) => (Vec::new(), ClaimPolicy::None, false),
    };
    let references: Vec<Reference> = checks.iter().flat_map(references).collect();
    let snapshot = Snapshot::of(&references, scope);
    let request = GateRequest {
        checks,
        claims,
        expect_changes,
        changes_declared: step
            .verify()
            .as_ref()
            .is_some_and(|own| own.expect_changes == Some(true)),
        after_refuted: scope.state.instance(ix).was_refuted(),
        output,
        output_schema: step.details().output_schema.clone(),
        unwatched: is_unwatched(step, &trace),
        trace,
        env: env(scope, step)?,
        cwd: cwd(scope, step)?,
        tree: tree(scope, ix).map(Box::new),
        plugins: scope.plan.plugin_schemas(),
        sandboxed: planned.specialist.as_ref().map(|specialist| specialist.network),
        confined: known.confined(plan, scope.state.instance(ix).step),
        timeout: attempt_timeout(scope.plan, scope.state, ix),
        judged,
    };
    Ok((request, snapshot))
}

/// What the judge of a gate needs to know; `None` without a `judge` check or without a specialist.
fn judged(
    scope: &RunScope<'_>,
    inputs: &GateInputs<'_>,
) -> Result<Option<Box<JudgeSubject>>, EvalError> {
    let Attempt { instance: ix, attempt, .. } = inputs.work;
    let planned = scope.plan.step(scope.state.instance(ix).step);
    let (Some(_), StepKind::Specialist(step)) = (planned.step.judge(), &planned.step.kind) else {
        return Ok(None);
    };
    let Some(specialist) = chosen_specialist(scope.plan, scope.state, ix) else { return Ok(None) };
    let input =
        planned.step.details().input.as_ref().map(|input| input.evaluate(scope)).transpose()?;
    let (task, _) = rendered_task(scope, step.task.as_ref(), input.as_ref(), inputs.task_files)?;
    Ok(Some(Box::new(JudgeSubject {
        run: scope.run.clone(),
        instance: scope.state.key(scope.plan, ix),
        attempt,
        task,
        tier: specialist.model.tier,
        params: scope.params.clone(),
        records: inputs.records.clone(),
    })))
}

/// Whether a command of the step ran without a record of its changes, because the definition says so.
fn is_unwatched(step: &Step, trace: &[Invocation]) -> bool {
    let ran = |call: &Invocation| {
        let process = call.process.as_ref().filter(|_| call.purpose == Purpose::Execution);
        process.is_some_and(|process| !process.watched)
    };
    let is_off = step.details().evidence == Some(EvidenceMode::None);
    is_off && (matches!(step.kind, StepKind::Run(_)) || trace.iter().any(ran))
}

fn claims_count(verify: &Verify) -> bool {
    verify.claims != ClaimPolicy::None
}

fn references(check: &Check) -> Vec<Reference> {
    check.references().into_iter().flatten().cloned().collect()
}
