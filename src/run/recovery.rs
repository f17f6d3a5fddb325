//! The recovery table: what follows a failed attempt. The first matching row applies.

use super::instance::Instance;
use crate::definition::{Backoff, FailurePolicy, RetryPolicy, Step, StepKind};
use crate::evidence::Feedback;
use crate::value::{Digest, OutcomeKind, OutcomeSelector};
use std::time::Duration;

/// Action of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecoveryAction {
    /// Another attempt with the same work, after a delay.
    Retry,
    /// Another attempt of the same specialist, with the evidence of what failed.
    Rework,
}

impl RecoveryAction {
    /// Name in events.
    pub fn as_str(self) -> &'static str {
        match self {
            RecoveryAction::Retry => "retry",
            RecoveryAction::Rework => "rework",
        }
    }
}

/// A row of the recovery table.
#[derive(Debug, Clone, PartialEq)]
pub struct RecoveryRow {
    /// Outcomes that the row matches.
    pub on: Vec<OutcomeSelector>,
    /// Action of the row.
    pub action: RecoveryAction,
    /// How often the row may be used.
    pub max: u32,
    /// Backoff before the attempt; `None` for a rework.
    pub delay: Option<RetryPolicy>,
}

/// Retry policy of specialists: transient model errors such as 429, 5xx or an interrupted stream.
fn default_retry() -> RetryPolicy {
    RetryPolicy {
        max: 2,
        on: vec![OutcomeSelector::Kind(OutcomeKind::Transient)],
        backoff: Backoff::Exponential,
        initial: Duration::from_secs(1),
        max_delay: Duration::from_secs(60),
    }
}

/// The recovery table of a step: first `retry`, then `onFailed` of its gate.
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

/// The row that applies, with its index and the delay before the next attempt; `None` if the step
/// fails.
///
/// A rework row ends early if the rework led to the same failure. A retry row does not: repeated 429
/// responses are normal.
pub(super) fn next(
    step: &Step,
    instance: &Instance,
    outcome: OutcomeKind,
    jitter: &Digest,
) -> Option<(usize, RecoveryRow, Duration)> {
    if step.details().max_attempts.is_some_and(|max| instance.attempts_of_pass() >= max) {
        return None;
    }
    table(step).into_iter().enumerate().find_map(|(index, row)| {
        let taken = instance.taken(index);
        let matches = row.on.iter().any(|on| on.matches(outcome));
        let changed = row.action == RecoveryAction::Retry
            || instance.fingerprint().is_none_or(|before| before != fingerprint(instance));
        let delay = row.delay.as_ref().map_or(Duration::ZERO, |p| backoff(p, taken, jitter));
        (matches && taken < row.max && changed).then_some((index, row, delay))
    })
}

/// The delay before retry `taken + 1`. It grows up to the maximum, and its upper half is spread by
/// `jitter`, so that parallel steps do not retry at the same time.
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

/// Identifies a failure: outcome, code, message, and failed checks of the gate.
pub(super) fn fingerprint(instance: &Instance) -> Digest {
    let outcome = instance.outcome.map(|o| o.to_string()).unwrap_or_default();
    let failure = instance.failure().map(|f| f.to_string()).unwrap_or_default();
    let gate = instance.verification().map(|v| {
        let checks = v.checks.iter().map(|c| (&c.check, c.verdict, &c.reason));
        format!("{:?}", checks.collect::<Vec<_>>())
    });
    Digest::of(format!("{outcome}\n{failure}\n{}", gate.unwrap_or_default()))
}

/// Feedback for the next attempt about the last one.
pub(super) fn feedback(instance: &Instance) -> Option<Feedback> {
    let verification = instance.verification().cloned();
    let failure = instance.failure().cloned();
    (verification.is_some() || failure.is_some()).then_some(Feedback { failure, verification })
}
