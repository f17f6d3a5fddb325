//! Attempts and gates that ended, and the recovery that follows.

use super::Decider;
use crate::evidence::{Record, Verdict, Verification};
use crate::run::event::{Event, InstanceIx, StepStatus};
use crate::run::input::AttemptReport;
use crate::run::question::Question;
use crate::run::recovery::{self, NextAttempt};
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, OutcomeKind};
use kb_language::definition::{
    ClaimPolicy, FailurePolicy, ForEach, InconclusivePolicy, OnItemError, RecoveryAction,
};
use std::time::Duration;

/// Iteration and number of an attempt.
type Attempt = (u32, u32);

impl Decider<'_> {
    /// Whether an input belongs to the current attempt of an instance with this status.
    pub(super) fn is_current(&self, ix: InstanceIx, attempt: Attempt, status: StepStatus) -> bool {
        self.exists(ix)
            && (self.instance(ix).iteration, self.instance(ix).attempt) == attempt
            && self.instance(ix).status == status
    }

    pub(super) fn recorded(&mut self, ix: InstanceIx, attempt: Attempt, record: Box<Record>) {
        let current = self.is_current(ix, attempt, StepStatus::Running)
            || self.is_current(ix, attempt, StepStatus::Verifying);
        if current {
            self.emit(Event::Recorded { instance: ix, attempt: attempt.1, record });
        }
    }

    pub(super) fn attempt_ended(
        &mut self,
        ix: InstanceIx,
        attempt: Attempt,
        report: AttemptReport,
    ) {
        if !self.is_current(ix, attempt, StepStatus::Running) {
            return;
        }
        let AttemptReport { outcome, output, streams, failure, retry_after_ms, usage, handoff } =
            report;
        self.emit(Event::AttemptEnded {
            instance: ix,
            attempt: attempt.1,
            outcome,
            output,
            streams,
            failure,
            usage,
            handoff,
        });
        match outcome {
            // Unverified work does not count as done, and a stopping run starts no gate.
            OutcomeKind::Ok if self.has_gate(ix) && self.stopping(ix) => {
                self.end(ix, StepStatus::Cancelled, None);
            }
            OutcomeKind::Ok if self.has_gate(ix) => self.verify(ix),
            OutcomeKind::Ok => self.passed(ix),
            OutcomeKind::Cancelled => self.end(ix, StepStatus::Cancelled, None),
            failed @ (OutcomeKind::Transient
            | OutcomeKind::Exit(_)
            | OutcomeKind::Timeout
            | OutcomeKind::ToolError
            | OutcomeKind::ValidationFailed
            | OutcomeKind::GateFailed
            | OutcomeKind::GateInconclusive
            | OutcomeKind::GateUnchecked
            | OutcomeKind::Stuck
            | OutcomeKind::PolicyDenied
            | OutcomeKind::Unknown) => match self.exhausted_budget(ix) {
                Some(reason) => self.emit(Event::Waiting { instance: ix, reason }),
                None => self.recover(ix, failed, retry_after_ms),
            },
        }
    }

    /// The message about the budget that ended the last attempt, unless the step is to stop.
    fn exhausted_budget(&self, ix: InstanceIx) -> Option<String> {
        let failure = self.instance(ix).failure()?;
        let exhausted = failure.code == Code::BUDGET_EXHAUSTED;
        let stops = self.stopping(ix) || self.parent_has_failed(ix);
        (exhausted && !stops).then(|| failure.message.clone())
    }

    /// Whether the instance has a gate: `verify` in the definition, or the claims of a specialist.
    pub(super) fn has_gate(&self, ix: InstanceIx) -> bool {
        let step = self.step(ix);
        match step.verify() {
            Some(verify) => {
                !verify.checks.is_empty()
                    || verify.claims != ClaimPolicy::None
                    || verify.expect_changes == Some(true)
            }
            None => step.kind.is_specialist(),
        }
    }

    /// Whether the verdict on the attempt is there, and its loop condition or its merge is awaited.
    fn has_verdict(&self, ix: InstanceIx) -> bool {
        let instance = self.instance(ix);
        let loops = self.step(ix).details().repeat.is_some();
        instance.verification().is_some() && (loops || instance.is_merging())
    }

    pub(super) fn judged(&mut self, ix: InstanceIx, attempt: Attempt, verification: Verification) {
        if !self.is_current(ix, attempt, StepStatus::Verifying) || self.has_verdict(ix) {
            return;
        }
        let verdict = verification.verdict;
        let is_not_done = verification.work_not_done().is_some();
        self.emit(Event::Judged { instance: ix, attempt: attempt.1, verification });
        if verdict == Verdict::Inconclusive && self.stopping(ix) {
            return self.end(ix, StepStatus::Cancelled, None);
        }
        if verdict == Verdict::Inconclusive
            && let Some(next) = recovery::follow_up(self.plan, self.state, ix)
            && !self.parent_has_failed(ix)
        {
            return self.try_again(ix, OutcomeKind::GateInconclusive, next, None);
        }
        let verify = self.step(ix).verify();
        let on_failed = verify.and_then(|v| v.on_failed);
        let undecided = recovery::undecided(self.step(ix), self.state.rules.undecided);
        let undecided = undecided.policy(verdict);
        let is_accepted = undecided.is_none_or(|policy| policy == InconclusivePolicy::Warn);
        match verdict {
            Verdict::Failed if on_failed != Some(FailurePolicy::Warn) => {
                self.recover(ix, OutcomeKind::GateFailed, None);
            }
            Verdict::Inconclusive if is_not_done && on_failed != Some(FailurePolicy::Warn) => {
                self.recover(ix, OutcomeKind::GateFailed, None);
            }
            Verdict::Inconclusive if !is_accepted => {
                self.recover(ix, OutcomeKind::GateInconclusive, None);
            }
            Verdict::Unchecked if !is_accepted => {
                self.recover(ix, OutcomeKind::GateUnchecked, None);
            }
            Verdict::Passed | Verdict::Failed | Verdict::Inconclusive | Verdict::Unchecked => {
                self.passed(ix);
            }
        }
    }

    fn recover(&mut self, ix: InstanceIx, outcome: OutcomeKind, retry_after_ms: Option<u64>) {
        let next = recovery::next(self.plan, self.state, ix, outcome, &self.jitter(ix));
        let stops = self.stopping(ix) || self.parent_has_failed(ix);
        let Some(next) = next.filter(|_| !stops) else {
            return self.end(ix, StepStatus::Failed, Some(self.failure_of(ix, outcome)));
        };
        self.try_again(ix, outcome, next, retry_after_ms);
    }

    /// Starts the next attempt, now, at its time, or after the approval of a person.
    fn try_again(
        &mut self,
        ix: InstanceIx,
        outcome: OutcomeKind,
        next: NextAttempt,
        retry_after_ms: Option<u64>,
    ) {
        let NextAttempt { index, row, delay, variation } = next;
        let delay = delay.max(Duration::from_millis(retry_after_ms.unwrap_or(0)));
        // The approval of a person is the time of the next attempt.
        let due = match row.action {
            RecoveryAction::AskUser => self.at,
            RecoveryAction::Retry
            | RecoveryAction::Rework
            | RecoveryAction::EscalateModel
            | RecoveryAction::ChangeStrategy
            | RecoveryAction::SwitchSpecialist(_)
            | RecoveryAction::Fail => self.at.after(delay),
        };
        let action = row.action.kind();
        let taken = self.instance(ix).row_use(index).0 + 1;
        let reason = self.failure_of(ix, outcome).message;
        self.emit(Event::Recovered {
            instance: ix,
            outcome,
            action,
            row: index as u32,
            taken,
            max: row.max,
            reason: reason.clone(),
            due,
            tier: variation.tier,
            specialist: variation.specialist,
        });
        if row.action == RecoveryAction::AskUser {
            let question = Box::new(Question::approval(format!("{reason}; run another attempt?")));
            self.emit(Event::Asked { instance: ix, question });
        } else if due <= self.at {
            self.ready(ix);
        } else {
            self.effect(crate::run::effect::Effect::Timer { instance: ix, due });
        }
    }

    /// Whether another item has already failed the `forEach` step, so that this one is not retried.
    pub(super) fn parent_has_failed(&self, ix: InstanceIx) -> bool {
        let Some(item) = &self.instance(ix).item else { return false };
        let failed = self.instance(item.parent).items().map_or(0, |items| items.failed);
        let stops = |for_each: &ForEach| for_each.on_item_error == OnItemError::Fail;
        failed > 0 && self.step(item.parent).for_each.as_deref().is_some_and(stops)
    }

    /// The failure that the last attempt or its gate ended with.
    pub(super) fn last_failure(&self, ix: InstanceIx) -> Failure {
        let instance = self.instance(ix);
        let judged = instance.verification().map(|found| found.verdict);
        let is_not_done = instance.verification().is_some_and(|v| v.work_not_done().is_some());
        let outcome = match (judged, instance.outcome) {
            _ if is_not_done => OutcomeKind::GateFailed,
            (Some(Verdict::Failed), _) => OutcomeKind::GateFailed,
            (Some(Verdict::Unchecked), _) => OutcomeKind::GateUnchecked,
            (Some(Verdict::Passed | Verdict::Inconclusive), _) => OutcomeKind::GateInconclusive,
            (None, outcome) => outcome.unwrap_or(OutcomeKind::Unknown),
        };
        self.failure_of(ix, outcome)
    }

    fn failure_of(&self, ix: InstanceIx, outcome: OutcomeKind) -> Failure {
        let instance = self.instance(ix);
        let reason = || {
            let verification = instance.verification();
            verification.and_then(|v| v.reason.clone()).unwrap_or_default()
        };
        match outcome {
            OutcomeKind::GateFailed => {
                let not_done = instance.verification().and_then(|v| v.work_not_done());
                let message = not_done.map(str::to_owned);
                let message = message.unwrap_or_else(|| format!("the gate failed: {}", reason()));
                Failure::new(Code::GATE_FAILED, message)
            }
            OutcomeKind::GateInconclusive => Failure::new(
                Code::GATE_INCONCLUSIVE,
                format!("the gate was inconclusive: {}", reason()),
            ),
            OutcomeKind::GateUnchecked => Failure::new(
                Code::GATE_UNCHECKED,
                format!("the gate left something unchecked: {}", reason()),
            ),
            OutcomeKind::Ok
            | OutcomeKind::Transient
            | OutcomeKind::Exit(_)
            | OutcomeKind::Timeout
            | OutcomeKind::ToolError
            | OutcomeKind::ValidationFailed
            | OutcomeKind::Stuck
            | OutcomeKind::PolicyDenied
            | OutcomeKind::Cancelled
            | OutcomeKind::Unknown => instance.failure().cloned().unwrap_or_else(|| {
                Failure::new(Code::ATTEMPT_FAILED, format!("the attempt ended with `{outcome}`"))
            }),
        }
    }
}
