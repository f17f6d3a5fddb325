//! Cancellation, timeout, draining and leaving.

use super::Decider;
use crate::run::effect::Effect;
use crate::run::event::{Event, InstanceIx, StepStatus};
use kb_base::value::RunStatus;
use kb_language::definition::StepPhase;

impl Decider<'_> {
    pub(super) fn cancel_requested(&mut self, by: String) {
        if self.state.status.has_ended() {
            return;
        }
        let again = self.state.is_cancelled();
        if !again {
            self.emit(Event::CancelRequested { by });
        }
        let main_was_over = self.state.open_main == 0;
        self.stop_main();
        // A second request, or one after the main steps, also stops `finally`.
        if again || main_was_over {
            self.stop(StepPhase::Finally);
        }
    }

    /// Ends every main step that has not started, and stops the others.
    pub(super) fn stop_main(&mut self) {
        self.stop(StepPhase::Main);
    }

    fn stop(&mut self, phase: StepPhase) {
        for i in 0..self.state.instances.len() {
            let ix = InstanceIx(i as u32);
            if self.step(ix).phase != phase {
                continue;
            }
            let instance = self.instance(ix);
            match instance.status {
                StepStatus::Running | StepStatus::Verifying if instance.items().is_none() => {
                    self.effect(Effect::Cancel { instance: ix });
                }
                StepStatus::Waiting if self.waits_for_child(ix) => self.cancel_child(ix),
                StepStatus::Pending | StepStatus::Ready | StepStatus::Waiting => {
                    self.end(ix, StepStatus::Cancelled, None);
                }
                StepStatus::Running
                | StepStatus::Verifying
                | StepStatus::Succeeded
                | StepStatus::Failed
                | StepStatus::Skipped
                | StepStatus::Blocked
                | StepStatus::Cancelled => {}
            }
        }
    }

    /// The run exceeded its timeout: like a cancellation, but the run fails.
    pub(super) fn expired(&mut self, limit_ms: u64) {
        if self.state.status.has_ended()
            || self.state.open_main == 0
            || self.state.expired.is_some()
        {
            return;
        }
        self.emit(Event::TimedOut { limit_ms });
        self.stop_main();
    }

    pub(super) fn drain(&mut self, reason: String) {
        if !self.state.status.has_ended() && !self.state.is_draining() {
            self.emit(Event::Draining { reason });
        }
    }

    /// Leaves the run when nothing executes and only a person can continue it.
    pub(super) fn leave_if_idle(&mut self) {
        let state = &self.state;
        if state.status.has_ended() {
            return self.effect(Effect::Leave);
        }
        let busy = state.slots > 0
            || self.decision.effects.iter().any(|e| {
                matches!(
                    e,
                    Effect::Evaluate { .. } | Effect::Gather { .. } | Effect::Conclude { .. }
                )
            });
        if busy {
            return;
        }
        if state.is_draining() {
            return self.effect(Effect::Leave);
        }
        let idle = state.ready.is_empty()
            && state.ready_locked.is_empty()
            && state.ready_slotless.is_empty();
        if !idle || state.status == RunStatus::Waiting {
            return;
        }
        // The items have ended and hold no slot, but the merge of their changes has not.
        if state.instances.iter().any(|i| !i.status.has_ended() && i.is_merging()) {
            return;
        }
        let waits = |due: bool| {
            state
                .instances
                .iter()
                .any(|i| i.status == StepStatus::Waiting && i.due().is_some() == due)
        };
        if waits(false) && !waits(true) {
            self.effect(Effect::Leave);
        }
    }
}
