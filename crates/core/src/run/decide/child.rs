//! `playbook` steps whose child run waits.

use super::Decider;
use crate::run::effect::Effect;
use crate::run::event::{Event, InstanceIx, StepStatus};

impl Decider<'_> {
    /// The child run waits: the step leaves its slot. A resume of the run starts its next attempt.
    pub(super) fn child_waits(&mut self, ix: InstanceIx, attempt: (u32, u32), reason: String) {
        let current = self.is_in(ix, attempt.0)
            && self.instance(ix).attempt == attempt.1
            && self.instance(ix).status == StepStatus::Running;
        if !current {
            return;
        }
        self.emit(Event::Waiting { instance: ix, reason });
        if self.stopping(ix) {
            self.cancel_child(ix);
        }
    }

    /// The child run was answered elsewhere: the next attempt takes its result, or continues it.
    pub(super) fn child_moved(&mut self, ix: InstanceIx) {
        if self.exists(ix) && self.waits_for_child(ix) && !self.stopping(ix) {
            self.ready(ix);
        }
    }

    /// Whether the instance waits for a child run.
    pub(super) fn waits_for_child(&self, ix: InstanceIx) -> bool {
        self.state.waits_for_child(self.plan, ix)
    }

    /// Continues every step that waits for a child run.
    pub(super) fn continue_children(&mut self) {
        let all = (0..self.state.instances.len() as u32).map(InstanceIx);
        for ix in all.filter(|ix| self.waits_for_child(*ix)).collect::<Vec<_>>() {
            self.ready(ix);
        }
    }

    /// Starts an attempt that cancels the child run that the instance waits for.
    pub(super) fn cancel_child(&mut self, ix: InstanceIx) {
        let attempt = self.instance(ix).attempt + 1;
        self.emit(Event::Started { instance: ix, attempt });
        self.execute(ix, false);
        self.effect(Effect::Cancel { instance: ix });
    }
}
