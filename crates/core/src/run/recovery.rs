//! The recovery table: what follows a failed attempt. The first matching row applies.

use super::event::InstanceIx;
use super::extras::Variation;
use super::instance::Instance;
use super::state::State;
use crate::evidence::Verdict;
use crate::evidence::{Approach, Feedback, Verification};
use kb_base::diagnostic::Code;
use kb_base::value::{Digest, Failure, Json, OutcomeKind, OutcomeSelector, Tier};
use kb_language::definition::Step;
use kb_language::definition::{
    Backoff, Delays, FailurePolicy, InconclusivePolicy, RecoveryAction, RecoveryKind, RetryPolicy,
    Undecided,
};
use kb_language::plan::{Plan, PlanStep};
use std::time::Duration;

/// A row of the recovery table.
#[derive(Debug, Clone, PartialEq)]
pub struct RecoveryRow {
    /// Outcomes that the row matches.
    pub on: Vec<OutcomeSelector>,
    /// Action of the row.
    pub action: RecoveryAction,
    /// How often the row may be used.
    pub max: u32,
    /// Backoff before the attempt; `None`: no delay.
    pub delay: Option<Delays>,
}

impl RecoveryRow {
    fn new(on: &[OutcomeKind], action: RecoveryAction, max: u32) -> RecoveryRow {
        let on = on.iter().copied().map(OutcomeSelector::Kind).collect();
        RecoveryRow { on, action, max, delay: None }
    }
}

/// Retry policy of specialists: transient model errors such as 429, 5xx or an interrupted stream.
fn default_retry() -> RetryPolicy {
    RetryPolicy {
        max: 2,
        on: vec![OutcomeSelector::Kind(OutcomeKind::Transient)],
        delays: Delays {
            backoff: Backoff::Exponential,
            initial: Duration::from_secs(1),
            max_delay: Duration::from_secs(60),
        },
    }
}

/// The policies of a step for verdicts that do not decide. A row of `recovery` that names such a verdict says that the
/// attempt failed, unless the step says otherwise.
pub(super) fn undecided(step: &Step, above: Undecided) -> Undecided {
    let rows = || step.details().recovery.iter().flatten().flat_map(|row| &row.on);
    let failed = |outcome: OutcomeKind| {
        rows().any(|on| *on == OutcomeSelector::Kind(outcome)).then_some(InconclusivePolicy::Fail)
    };
    let named = Undecided {
        inconclusive: failed(OutcomeKind::GateInconclusive),
        unchecked: failed(OutcomeKind::GateUnchecked),
    };
    let own = step.verify().map(|verify| verify.undecided()).unwrap_or_default();
    own.or(named).or(above)
}

/// The recovery table of a step: `retry`, then the rows of `recovery`, then `verify.onFailed`, then
/// the default rows of specialists, then `onInconclusive: askUser` and
/// `onUnchecked: askUser`.
///
/// `ladder` is the ladder that the specialist or the settings name. The default rows escalate only
/// along such a ladder, because a larger model costs more.
pub fn table(step: &PlanStep, ladder: &[Tier], above: Undecided) -> Vec<RecoveryRow> {
    use OutcomeKind::{
        GateFailed, GateInconclusive, GateUnchecked, Stuck, Timeout, ToolError, ValidationFailed,
    };
    let step = &step.step;
    let details = step.details();
    let specialist = step.kind.is_specialist();
    let defaults = specialist && details.recovery.is_none();
    let mut rows = Vec::new();
    if let Some(policy) = details.retry.clone().or_else(|| defaults.then(default_retry)) {
        rows.push(RecoveryRow {
            on: policy.on,
            action: RecoveryAction::Retry,
            max: policy.max,
            delay: Some(policy.delays),
        });
    }
    rows.extend(details.recovery.iter().flatten().map(|rule| RecoveryRow {
        on: rule.on.clone(),
        action: rule.action.clone(),
        max: rule.max,
        delay: rule.delay,
    }));
    let written = step.verify().and_then(|verify| verify.on_failed);
    let default = if defaults { FailurePolicy::Rework } else { FailurePolicy::Fail };
    let action = match written.unwrap_or(default) {
        FailurePolicy::Rework if specialist => Some(RecoveryAction::Rework),
        FailurePolicy::Rework | FailurePolicy::Retry => Some(RecoveryAction::Retry),
        FailurePolicy::EscalateModel => Some(RecoveryAction::EscalateModel),
        FailurePolicy::Warn | FailurePolicy::Fail => None,
    };
    let max = step.verify().map_or(2, |verify| verify.max_reworks);
    rows.extend(
        action.map(|action| RecoveryRow::new(&[GateFailed, ValidationFailed], action, max)),
    );
    if defaults && details.retry.is_none() && written.is_none() {
        if !ladder.is_empty() {
            let on = [ValidationFailed, GateFailed, Stuck, Timeout];
            rows.push(RecoveryRow::new(&on, RecoveryAction::EscalateModel, 2));
        }
        rows.push(RecoveryRow::new(&[Stuck, ToolError], RecoveryAction::ChangeStrategy, 1));
    }
    let undecided = undecided(step, above);
    for (verdict, outcome) in
        [(Verdict::Inconclusive, GateInconclusive), (Verdict::Unchecked, GateUnchecked)]
    {
        if undecided.policy(verdict) == Some(InconclusivePolicy::AskUser) {
            let max = kb_language::definition::UNLIMITED_QUESTIONS;
            rows.push(RecoveryRow::new(&[outcome], RecoveryAction::AskUser, max));
        }
    }
    rows
}

/// What follows a failed attempt.
pub(super) struct NextAttempt {
    /// Index of the row in the table.
    pub(super) index: usize,
    /// The row that applies.
    pub(super) row: RecoveryRow,
    /// Delay before the attempt.
    pub(super) delay: Duration,
    /// Tier and specialist of the attempt.
    pub(super) variation: Variation,
}

/// The row that applies; `None` if the step fails.
///
/// A row whose action only makes sense with a changed failure ends early if it led to the same
/// failure. An escalation applies while a larger tier is left and the limits of the run permit it.
pub(super) fn next(
    plan: &Plan,
    state: &State,
    ix: InstanceIx,
    outcome: OutcomeKind,
    jitter: &Digest,
) -> Option<NextAttempt> {
    let instance = state.instance(ix);
    let planned = plan.step(instance.step);
    let ladder = state.specialist(plan, ix).map_or(&[][..], |found| plan.ladder(found));
    let rows = table(planned, ladder, state.rules.undecided);
    let verified = instance.verified_from().is_some();
    if instance.cached_from().is_some() || verified {
        // The gate refuted a stored result: the step has not done its work yet.
        let reworks = verified && planned.step.kind.is_specialist();
        let action = if reworks { RecoveryAction::Rework } else { RecoveryAction::Retry };
        let row = RecoveryRow::new(&[outcome], action, 1);
        let variation = instance.variation();
        return Some(NextAttempt { index: rows.len(), row, delay: Duration::ZERO, variation });
    }
    if is_last_attempt(planned, state, plan, ix) {
        return None;
    }
    let failure = fingerprint(instance);
    for (index, row) in rows.into_iter().enumerate() {
        let (taken, before) = instance.row_use(index);
        if !row.on.iter().any(|on| on.matches(outcome)) {
            continue;
        }
        if row.action == RecoveryAction::Fail {
            return None;
        }
        if taken >= row.max || (row.action.ends_early() && before == Some(failure)) {
            continue;
        }
        let Some(variation) = variation(plan, state, ix, &row.action, ladder) else { continue };
        let delay = row.delay.as_ref().map_or(Duration::ZERO, |p| backoff(p, taken, jitter));
        return Some(NextAttempt { index, row, delay, variation });
    }
    None
}

/// The rework for the gaps that a judge found in an incomplete answer: one, of a step whose gate permits reworks.
pub(super) fn follow_up(plan: &Plan, state: &State, ix: InstanceIx) -> Option<NextAttempt> {
    let instance = state.instance(ix);
    let planned = plan.step(instance.step);
    let ladder = state.specialist(plan, ix).map_or(&[][..], |found| plan.ladder(found));
    let rows = table(planned, ladder, state.rules.undecided);
    let reworks = |row: &RecoveryRow| {
        row.action == RecoveryAction::Rework
            && row.max > 0
            && row.on.iter().any(|on| on.matches(OutcomeKind::GateFailed))
    };
    // Behind the rows of the table and the row of a stored result.
    let index = rows.len() + 1;
    let asked = instance.verification().is_some_and(Verification::asks_for_follow_up);
    let is_first = instance.row_use(index).0 == 0 && !is_last_attempt(planned, state, plan, ix);
    let row = RecoveryRow::new(&[OutcomeKind::GateInconclusive], RecoveryAction::Rework, 1);
    let (delay, variation) = (Duration::ZERO, instance.variation());
    let next = NextAttempt { index, row, delay, variation };
    (asked && is_first && rows.iter().any(reworks)).then_some(next)
}

/// Whether the limits on attempts permit no further one.
fn is_last_attempt(planned: &PlanStep, state: &State, plan: &Plan, ix: InstanceIx) -> bool {
    let retries = state.specialist(plan, ix).and_then(|found| found.limits.max_retries);
    let own = retries.map(|retries| retries.saturating_add(1));
    let max = [planned.step.details().max_attempts, own].into_iter().flatten().min();
    max.is_some_and(|max| state.instance(ix).attempts_of_pass() >= max)
}

/// The tier and specialist of the attempt that an action starts; `None` if the action is not possible.
fn variation(
    plan: &Plan,
    state: &State,
    ix: InstanceIx,
    action: &RecoveryAction,
    ladder: &[Tier],
) -> Option<Variation> {
    let current = state.instance(ix).variation();
    match action {
        RecoveryAction::EscalateModel => {
            let tier = next_tier(plan, state, ix, ladder)?;
            Some(Variation { tier: Some(tier), ..current })
        }
        RecoveryAction::SwitchSpecialist(to) => {
            Some(Variation { specialist: Some(to.clone()), tier: None })
        }
        RecoveryAction::Retry
        | RecoveryAction::Rework
        | RecoveryAction::ChangeStrategy
        | RecoveryAction::AskUser
        | RecoveryAction::Fail => Some(current),
    }
}

/// The tier above the one of the last attempt, within the limits of `orchestrator.escalation`.
fn next_tier(plan: &Plan, state: &State, ix: InstanceIx, ladder: &[Tier]) -> Option<Tier> {
    let specialist = state.specialist(plan, ix)?;
    let current = state.instance(ix).variation().tier.unwrap_or(specialist.model.tier);
    let ladder = if ladder.is_empty() { &Tier::ALL[..] } else { ladder };
    let next = ladder.iter().copied().find(|tier| *tier > current)?;
    let limits = plan.escalation();
    let escalations = state.escalations.get(&specialist.id).copied().unwrap_or(0);
    let exhausted = limits.per_specialist.is_some_and(|max| escalations >= max)
        || next == Tier::Large && limits.large_uses.is_some_and(|max| state.large_uses >= max);
    (!exhausted).then_some(next)
}

/// The delay before retry `taken + 1`. It grows up to the maximum, and its upper half is spread by
/// `jitter`, so that parallel steps do not retry at the same time.
pub fn backoff(delays: &Delays, taken: u32, jitter: &Digest) -> Duration {
    let initial = delays.initial.as_millis() as u64;
    let grown = match delays.backoff {
        Backoff::Fixed => initial,
        Backoff::Linear => initial.saturating_mul(u64::from(taken) + 1),
        Backoff::Exponential => initial.saturating_mul(1u64 << taken.min(32)),
    };
    let bounded = grown.min(delays.max_delay.as_millis() as u64);
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

/// Feedback for the next attempt about the last one. A stored result that was refuted was not its work, and an
/// attempt that does the same work again is told only of files that the last one changed.
pub(super) fn feedback(instance: &Instance) -> Option<Feedback> {
    if instance.cached_from().is_some() {
        return None;
    }
    let failure = instance.failure();
    let over_budget = failure.is_some_and(|failure| failure.code == Code::BUDGET_EXHAUSTED);
    let approach = match instance.last_action() {
        Some(RecoveryKind::Retry) => Approach::Same,
        Some(RecoveryKind::ChangeStrategy) => Approach::Another,
        Some(
            RecoveryKind::Rework
            | RecoveryKind::EscalateModel
            | RecoveryKind::SwitchSpecialist
            | RecoveryKind::AskUser
            | RecoveryKind::Fail,
        )
        | None => Approach::Correct,
    };
    let approach = if over_budget { Approach::Same } else { approach };
    let same = approach == Approach::Same;
    let verification = instance.verification().filter(|_| !same).cloned();
    let failure = failure.filter(|failure| !same || has_changed_files(failure)).cloned();
    let advice = instance.advice().map(str::to_owned);
    let any = verification.is_some() || failure.is_some() || advice.is_some();
    any.then_some(Feedback { failure, verification, approach, advice })
}

/// Whether the partial results of a failure list files that the attempt changed.
fn has_changed_files(failure: &Failure) -> bool {
    let changed = failure.details.as_ref().and_then(|details| details.pointer("/partial/changed"));
    changed.and_then(Json::as_array).is_some_and(|paths| !paths.is_empty())
}
