//! Starts of attempts and gates, within the slots and locks.

use super::Decider;
use crate::evidence::{Approach, Feedback};
use crate::run::effect::Effect;
use crate::run::event::{Event, InstanceIx, StepStatus};
use crate::run::recovery;
use kb_base::diagnostic::Code;
use kb_base::value::Failure;
use kb_language::definition::OnItemError;
use std::sync::Arc;

impl Decider<'_> {
    /// The instance waits only for a slot or a lock.
    pub(super) fn ready(&mut self, ix: InstanceIx) {
        self.emit(Event::Ready { instance: ix });
    }

    /// Starts ready instances in order while slots are free.
    pub(super) fn fill(&mut self) {
        while let Some((_, ix)) =
            self.state.ready_slotless.first().copied().filter(|_| !self.state.draining)
        {
            self.start(ix);
        }
        while !self.state.draining && self.state.has_free_slot() {
            let (free, locked) = (self.state.ready.first().copied(), self.state.next_locked());
            let Some((_, ix)) = [free, locked].into_iter().flatten().min() else { return };
            self.start(ix);
        }
    }

    /// Starts a ready instance, or continues what it began before a restart of the process.
    fn start(&mut self, ix: InstanceIx) {
        if self.instance(ix).continues() {
            let attempt = self.instance(ix).attempt;
            self.emit(Event::Continued { instance: ix, attempt });
            return self.execute(ix, true);
        }
        let attempt = self.instance(ix).attempt + 1;
        self.emit(Event::Started { instance: ix, attempt });
        if self.instance(ix).status == StepStatus::Verifying {
            self.verify(ix)
        } else {
            self.execute(ix, false)
        }
    }

    pub(super) fn execute(&mut self, ix: InstanceIx, resumed: bool) {
        let instance = self.instance(ix);
        let (attempt, iteration) = (instance.attempt, instance.iteration);
        let reworks = instance.attempts_of_pass() > 1 && self.step(ix).kind.is_specialist();
        let feedback = if reworks {
            recovery::feedback(instance)
        } else {
            self.rejected_work(ix).or_else(|| self.refuted_pass(ix))
        };
        let feedback = feedback.map(Arc::new);
        self.effect(Effect::Execute { instance: ix, attempt, iteration, resumed, feedback });
    }

    /// Why a person rejected the earlier work of a specialist, for its first attempt after that.
    fn rejected_work(&self, ix: InstanceIx) -> Option<Feedback> {
        let rejection = self.state.rejection().filter(|_| self.instance(ix).attempt == 1)?;
        let concerned = rejection.to.0 == self.instance(ix).step.0;
        (concerned && self.step(ix).kind.is_specialist()).then(|| Feedback {
            failure: Some(rejection.failure()),
            verification: None,
            approach: Approach::Correct,
            advice: None,
        })
    }

    /// What did not pass in the pass before of a specialist's loop, for the first attempt of the next one.
    fn refuted_pass(&self, ix: InstanceIx) -> Option<Feedback> {
        let last = self.instance(ix).previous_pass()?.verification.as_ref()?;
        let refuted = self.step(ix).kind.is_specialist() && !last.holds();
        refuted.then(|| Feedback {
            failure: None,
            verification: Some(last.clone()),
            approach: Approach::Correct,
            advice: None,
        })
    }

    pub(super) fn verify(&mut self, ix: InstanceIx) {
        let instance = self.instance(ix);
        let (attempt, iteration) = (instance.attempt, instance.iteration);
        self.effect(Effect::Verify { instance: ix, attempt, iteration });
    }

    pub(super) fn timer_due(&mut self, ix: InstanceIx) {
        if !self.exists(ix) {
            return;
        }
        let instance = self.instance(ix);
        let due = instance.due().is_some_and(|due| due <= self.at);
        if instance.status != StepStatus::Waiting || !due {
            return;
        }
        let asks_for_call = instance.question().is_some_and(|asked| asked.call.is_some());
        if asks_for_call || self.step(ix).kind.is_waiting() {
            self.wait_is_over(ix);
        } else {
            self.ready(ix);
        }
    }

    /// An item of a `forEach` step has ended, or the list is empty: the step may end.
    pub(super) fn items_changed(&mut self, parent: InstanceIx) {
        let Some(items) = self.instance(parent).items() else { return };
        if self.instance(parent).status.has_ended() {
            return;
        }
        let (count, failed, all) = (items.count, items.failed, items.all());
        let policy = self.step(parent).for_each.as_ref().map(|for_each| for_each.on_item_error);
        if policy == Some(OnItemError::Fail) && failed > 0 {
            self.cancel_unstarted(all.clone().collect());
        }
        let ended = self.instance(parent).items().map_or(0, |items| items.ended);
        if ended < count || self.instance(parent).status.has_ended() {
            return;
        }
        let cancelled = all.clone().any(|ix| self.instance(ix).status == StepStatus::Cancelled);
        if policy.is_some_and(OnItemError::fails_the_step) && failed > 0 {
            let message = format!("{failed} of {count} items failed");
            let failure = Failure::new(Code::ITEMS_FAILED, message).help(others(policy));
            self.end(parent, StepStatus::Failed, Some(failure));
        } else if cancelled {
            self.end(parent, StepStatus::Cancelled, None);
        } else if self.must_merge(parent) {
            self.merge(parent);
        } else {
            let iteration = self.instance(parent).iteration;
            self.effect(Effect::Gather { instance: parent, iteration });
        }
    }

    fn cancel_unstarted(&mut self, items: Vec<InstanceIx>) {
        for ix in items {
            let status = self.instance(ix).status;
            if matches!(status, StepStatus::Pending | StepStatus::Ready | StepStatus::Waiting) {
                let (failure, output) = (None, None);
                let status = StepStatus::Cancelled;
                self.emit(Event::Ended { instance: ix, status, tolerated: false, output, failure });
            }
        }
    }
}

/// What else can follow a failed item.
fn others(policy: Option<OnItemError>) -> &'static str {
    match policy {
        Some(OnItemError::Finish) => {
            "`kb run retry` repeats the failed items; with `onItemError: continue` the step succeeds"
        }
        Some(OnItemError::Fail | OnItemError::Continue) | None => {
            "`onItemError: finish` runs all items before the step fails; with `continue` the step succeeds"
        }
    }
}
