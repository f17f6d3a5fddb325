//! What follows from an attempt that was not good enough: one ordered table, read from the top.

use super::instance::Instance;
use crate::definition::{Backoff, FailurePolicy, RetryPolicy, Step, StepKind};
use crate::evidence::Feedback;
use crate::value::{Digest, OutcomeKind, OutcomeSelector};
use std::time::Duration;

/// What a row does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecoveryAction {
    /// The same work again after a delay.
    Retry,
    /// The same specialist, with the evidence of what failed.
    Rework,
}

impl RecoveryAction {
    /// The name in events.
    pub fn as_str(self) -> &'static str {
        match self {
            RecoveryAction::Retry => "retry",
            RecoveryAction::Rework => "rework",
        }
    }
}

/// A row of the table.
#[derive(Debug, Clone, PartialEq)]
pub struct RecoveryRow {
    /// After which outcomes.
    pub on: Vec<OutcomeSelector>,
    /// What it does.
    pub action: RecoveryAction,
    /// How often.
    pub max: u32,
    /// How long it waits first; none for a rework.
    pub delay: Option<RetryPolicy>,
}

/// Specialists are asked again when the model could not be had: 429, 5xx, a cut stream.
fn default_retry() -> RetryPolicy {
    RetryPolicy {
        max: 2,
        on: vec![OutcomeSelector::Kind(OutcomeKind::Transient)],
        backoff: Backoff::Exponential,
        initial: Duration::from_secs(1),
        max_delay: Duration::from_secs(60),
    }
}

/// The table of a step: `retry` first, then the gate's `onFailed`.
pub fn table(step: &Step) -> Vec<RecoveryRow> {
    let specialist = matches!(step.kind, StepKind::Specialist { .. });
    let mut rows = Vec::new();
    let retry = step.details().retry.clone().or_else(|| specialist.then(default_retry));
    if let Some(policy) = retry {
        rows.push(RecoveryRow {
            on: policy.on.clone(),
            action: RecoveryAction::Retry,
            max: policy.max,
            delay: Some(policy),
        });
    }
    let (policy, max) = match &step.verify {
        Some(verify) => (verify.on_failed, verify.max_reworks),
        None if specialist => (FailurePolicy::Rework, 2),
        None => (FailurePolicy::Fail, 0),
    };
    let on = vec![
        OutcomeSelector::Kind(OutcomeKind::GateFailed),
        OutcomeSelector::Kind(OutcomeKind::ValidationFailed),
    ];
    match policy {
        FailurePolicy::Rework if specialist => {
            rows.push(RecoveryRow { on, action: RecoveryAction::Rework, max, delay: None });
        }
        FailurePolicy::Rework | FailurePolicy::Retry => {
            rows.push(RecoveryRow { on, action: RecoveryAction::Retry, max, delay: None });
        }
        FailurePolicy::Warn | FailurePolicy::Fail | FailurePolicy::EscalateModel => {}
    }
    rows
}

/// The row that is taken next, if any, with its place in the table and the delay before it.
///
/// A rework that leads to the very same failure ends its row early: nothing was learnt. A `retry`
/// does not: the same 429 twice is what a backoff is for.
pub(super) fn next(
    step: &Step,
    instance: &Instance,
    outcome: OutcomeKind,
    jitter: &Digest,
) -> Option<(usize, RecoveryRow, Duration)> {
    if step.details().max_attempts.is_some_and(|max| instance.attempt >= max) {
        return None;
    }
    table(step).into_iter().enumerate().find_map(|(index, row)| {
        let taken = instance.taken(index);
        let speaks = row.on.iter().any(|on| on.matches(outcome));
        let learnt = row.action == RecoveryAction::Retry
            || instance.fingerprint().is_none_or(|before| before != fingerprint(instance));
        let delay = row.delay.as_ref().map_or(Duration::ZERO, |p| backoff(p, taken, jitter));
        (speaks && taken < row.max && learnt).then_some((index, row, delay))
    })
}

/// The delay before retry number `taken` + 1: grown, bounded, and spread over its upper half by the
/// hash of who retries, so that siblings do not come back together.
pub fn backoff(policy: &RetryPolicy, taken: u32, jitter: &Digest) -> Duration {
    let initial = policy.initial.as_millis() as u64;
    let grown = match policy.backoff {
        Backoff::Fixed => initial,
        Backoff::Linear => initial.saturating_mul(u64::from(taken) + 1),
        Backoff::Exponential => initial.saturating_mul(1u64 << taken.min(32)),
    };
    let bounded = grown.min(policy.max_delay.as_millis() as u64);
    let bytes = jitter.as_bytes();
    let spread = u64::from(u16::from_be_bytes([bytes[0], bytes[1]]));
    Duration::from_millis(bounded / 2 + (bounded - bounded / 2) * spread / u64::from(u16::MAX))
}

/// What makes two failures the same: the outcome, its code and words, and what the gate refuted.
pub(super) fn fingerprint(instance: &Instance) -> Digest {
    let outcome = instance.outcome.map(|o| o.to_string()).unwrap_or_default();
    let failure = instance.failure().map(|f| f.to_string()).unwrap_or_default();
    let gate = instance.verification().map(|v| {
        let checks = v.checks.iter().map(|c| (&c.check, c.verdict, &c.reason));
        format!("{:?}", checks.collect::<Vec<_>>())
    });
    Digest::of(format!("{outcome}\n{failure}\n{}", gate.unwrap_or_default()))
}

/// What the next attempt is told of the last one.
pub(super) fn feedback(instance: &Instance) -> Option<Feedback> {
    let refuted = instance.verification().cloned();
    let failure = instance.failure().cloned();
    (refuted.is_some() || failure.is_some()).then_some(Feedback { failure, verification: refuted })
}
