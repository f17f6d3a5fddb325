//! Evaluates one gate: renders its checks, observes the workspace, and computes the verdict.
//!
//! `observer` makes the observations; [`kb_core::verify`] computes the verdict from them without effects.

mod before;
mod command_record;
mod committed;
mod definitions;
mod ignored_changes;
mod judge;
mod names;
mod observer;
mod relied;

pub(super) use before::run_before;
pub(super) use relied::recheck_relied_files;

use super::GateRequest;
use crate::executor::host_access::HostAccess;
pub use judge::Judges;
use kb_attempt::{Recorder, run_blocking};
use kb_base::value::{Failure, Json, Usage};
use kb_clock as clock;
use kb_core::evidence::{CheckDetail, Confidence, Verdict, Verification};
use kb_core::redaction::Redactor;
use kb_core::verify::{
    Basis, Criterion, Gate, Observation, ObservationQuery, Observations, ParsedGate, judge_question,
};
use kb_language::definition::Check;
use kb_language::expression::Scope;
use names::Material;
use observer::Observer;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Number of recorded changes from which the checks are computed as work that blocks.
const LARGE: usize = 1_000;

/// Observes the workspace and returns the verdict. Always ends: when all checks are observed, at the
/// timeout of the request, or when it is cancelled. Checks without an observation are `inconclusive`.
pub async fn run_gate(
    request: GateRequest,
    scope: &(dyn Scope + Sync),
    host: &HostAccess,
    (cancel, recorder): (&CancellationToken, Option<&dyn Recorder>),
    judges: Option<Judges<'_>>,
) -> Verification {
    let deadline = request.timeout.map(|timeout| clock::instant() + timeout);
    let gate = ParsedGate::of(Gate {
        criteria: criteria(&request.checks, scope, host),
        claims: request.claims,
        expect_changes: request.expect_changes,
        changes_declared: request.changes_declared,
        after_refuted: request.after_refuted,
        output: request.output,
        output_schema: request.output_schema,
        trace: request.trace,
        unwatched: request.unwatched,
        root: host.workspace.root().to_string_lossy().into_owned(),
        test_commands: host.test_commands.to_vec(),
        looks_up_names: request.received.as_ref().is_some_and(|received| received.looks_up),
        excused: request.excused,
        asked: request.asked,
        earlier: request.earlier,
        tools: request.tools,
    });
    let observer = Observer {
        host,
        env: &request.env,
        cwd: &request.cwd,
        sandboxed: request.sandboxed,
        confined: &request.confined,
        received: request.received.clone(),
        trace: &gate.gate().trace,
        deadline,
        cancel,
        recorder,
    };
    let mut seen = observer.observe(gate.queries()).await;
    let mut usage = Usage::NONE;
    let received = request.received.unwrap_or_default();
    let mut examined = compute(gate.gate(), || gate.examine(&seen));
    if let Some(question) = judge_question(&gate, &examined, &received.results) {
        let left = deadline.map(|end| end.saturating_duration_since(clock::instant()));
        let subject = request.judged.as_deref();
        let material = Material::of(&received, &gate.gate().trace);
        let answered = judge::Answered { question, material };
        let (reply, spent) = judge::ask(answered, subject, judges, host, cancel, left).await;
        seen.insert(ObservationQuery::Judge, Observation::Judge(reply));
        examined = gate.with_reply(examined, &seen);
        usage = spent;
    }
    let basis = compute(gate.gate(), || basis(gate.gate(), &seen, &host.redactor));
    Verification { usage, basis, ..examined.verdict() }
}

/// Computes something over a gate: as work that blocks if the gate is large.
fn compute<T>(gate: &Gate, work: impl FnOnce() -> T) -> T {
    let changes: usize = gate.trace.iter().map(|call| call.changes.len()).sum();
    let validates =
        gate.output_schema.is_some() || gate.trace.iter().any(|call| call.output.is_some());
    if changes < LARGE && !validates { work() } else { run_blocking(work) }
}

/// The checks with all placeholders evaluated, and the thresholds of the settings.
fn criteria(checks: &[Check], scope: &dyn Scope, host: &HostAccess) -> Vec<Criterion> {
    let resolved = checks.iter().map(|check| {
        if let Check::Judge(judge) = check {
            return Criterion::resolve(&Check::Judge(judge.or(&host.judge)), scope);
        }
        Criterion::resolve(check, scope)
    });
    resolved.collect()
}

/// The observations that a verdict is based on, for the journal.
fn basis(gate: &Gate, seen: &Observations, redactor: &Redactor) -> Option<Arc<Json>> {
    redactor.mask_serialized(&Basis::of(gate, seen)).map(|basis| Arc::new(basis.into_inner()))
}

/// The verdict of a gate that has no files to inspect.
pub(super) fn refused(failure: &Failure) -> Verification {
    let detail = CheckDetail {
        check: "gate".to_owned(),
        verdict: Verdict::Failed,
        warning: false,
        reason: Some(failure.message.clone()),
        evidence: None,
    };
    Verification::of(Confidence::Low, vec![detail])
}
