//! Folding: the queues of ready instances, slots and locks.

use super::event::{InstanceIx, StepStatus};
use super::state::State;
use crate::plan::Plan;

impl State {
    /// Puts an instance at the end of the queue that it waits in.
    pub(super) fn enqueue(&mut self, plan: &Plan, ix: InstanceIx) {
        self.queue += 1;
        let entry = (self.queue, ix);
        let instance = &mut self.instances[ix.at()];
        instance.status = StepStatus::Ready;
        instance.set_due(None);
        instance.queued = entry.0;
        let step = instance.step;
        let planned = plan.step(step);
        if planned.step.kind.is_waiting() {
            self.ready_slotless.insert(entry);
        } else if planned.has_locks() {
            self.ready_locked.entry(planned.locks()).or_default().insert(entry);
        } else {
            self.ready.insert(entry);
        }
    }

    /// Takes an instance out of its queue.
    pub(super) fn dequeue(&mut self, plan: &Plan, ix: InstanceIx) {
        let instance = self.instance(ix);
        if instance.status != StepStatus::Ready {
            return;
        }
        let (entry, step) = ((instance.queued, ix), instance.step);
        let planned = plan.step(step);
        if planned.step.kind.is_waiting() {
            self.ready_slotless.remove(&entry);
        } else if planned.has_locks() {
            let locks = planned.locks();
            let Some(queue) = self.ready_locked.get_mut(&locks) else { return };
            queue.remove(&entry);
            if queue.is_empty() {
                self.ready_locked.remove(&locks);
            }
        } else {
            self.ready.remove(&entry);
        }
    }

    /// Gives an instance a slot and its locks.
    pub(super) fn occupy(&mut self, plan: &Plan, ix: InstanceIx) {
        self.dequeue(plan, ix);
        self.slots += 1;
        let planned = plan.step(self.instance(ix).step);
        if planned.has_locks() && !planned.step.kind.is_waiting() {
            // An attempt that only cancels a child run does not wait for its locks.
            for lock in planned.locks() {
                self.held.entry(lock).or_insert(ix);
            }
        }
    }

    /// Takes the slot and the locks of an instance.
    pub(super) fn leave_slot(&mut self, plan: &Plan, ix: InstanceIx) {
        if self.instance(ix).holds_slot() {
            self.slots -= 1;
        }
        self.held.retain(|_, owner| *owner != ix);
        self.dequeue(plan, ix);
    }
}
