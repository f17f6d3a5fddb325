//! Evaluates one gate: renders its checks, observes the workspace, and computes the verdict.
//!
//! `observer` makes the observations; [`crate::verify`] computes the verdict from them without effects.

mod before;
mod observer;

pub use before::commands_before;
pub(super) use before::run_before;

use super::GateRequest;
use crate::clock;
use crate::evidence::{CheckDetail, Confidence, Verdict, Verification};
use crate::executor::host_access::HostAccess;
use crate::expression::Scope;
use crate::redaction::Redactor;
use crate::verify::{Basis, Criterion, Gate, Observations, VerdictRules, evaluate, queries};
use observer::Observer;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Number of recorded changes from which the verdict is computed on a blocking thread.
const LARGE: usize = 1_000;

/// Observes the workspace and returns the verdict. Always ends: when all checks are observed, at the
/// timeout of the request, or when it is cancelled. Checks without an observation are `inconclusive`.
pub async fn run_gate(
    request: GateRequest,
    scope: &(dyn Scope + Sync),
    host: &HostAccess,
    cancel: &CancellationToken,
) -> Verification {
    let deadline = request.timeout.map(|timeout| clock::instant() + timeout);
    let gate = Gate {
        criteria: request.checks.iter().map(|check| Criterion::resolve(check, scope)).collect(),
        claims: request.claims,
        expect_changes: request.expect_changes,
        output: request.output,
        output_schema: request.output_schema,
        trace: request.trace,
        root: host.workspace.root().to_string_lossy().into_owned(),
        test_commands: host.test_commands.to_vec(),
        rules: VerdictRules::CURRENT,
    };
    let observer = Observer {
        host,
        env: &request.env,
        cwd: &request.cwd,
        sandboxed: request.sandboxed,
        deadline,
        cancel,
    };
    let seen = observer.observe(queries(&gate)).await;
    let changes: usize = gate.trace.iter().map(|call| call.changes.len()).sum();
    if changes < LARGE {
        return evaluated(&gate, &seen, &host.redactor);
    }
    let redactor = host.redactor.clone();
    let evaluated = tokio::task::spawn_blocking(move || evaluated(&gate, &seen, &redactor)).await;
    evaluated.unwrap_or_else(|_| stopped())
}

/// The verdict with the observations that it is based on.
fn evaluated(gate: &Gate, seen: &Observations, redactor: &Redactor) -> Verification {
    let basis = redactor.mask_serialized(&Basis::of(gate, seen));
    let basis = basis.map(|basis| Arc::new(basis.into_inner()));
    Verification { basis, ..evaluate(gate, seen) }
}

/// The verdict of a gate whose evaluation was stopped.
fn stopped() -> Verification {
    let detail = CheckDetail {
        check: "gate".to_owned(),
        verdict: Verdict::Inconclusive,
        warning: false,
        reason: Some("the gate was stopped".to_owned()),
        evidence: None,
    };
    Verification::of(Confidence::Low, vec![detail])
}
