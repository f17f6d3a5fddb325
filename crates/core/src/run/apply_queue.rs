//! Folding: the queues of ready instances, slots and locks.

use super::event::{InstanceIx, StepStatus};
use super::state::State;
use kb_language::plan::Plan;
use std::collections::btree_map::Entry;

impl State {
    /// Whether an instance starts although no slot is free: it only waits, or the definition says how many
    /// items of its step run at the same time and the limit of the run is only the number of processors.
    fn starts_without_slot(&self, plan: &Plan, ix: InstanceIx) -> bool {
        let instance = self.instance(ix);
        let planned = plan.step(instance.step);
        let own_limit = || {
            let for_each = planned.step.for_each.as_ref().filter(|_| instance.item.is_some());
            for_each.is_some_and(|for_each| for_each.max_parallel.is_some())
        };
        planned.step.kind.is_waiting()
            || (self.rules.limited_by_processors && !planned.has_locks() && own_limit())
    }

    /// Whether `maxParallel` permits one more instance.
    pub(super) fn has_free_slot(&self) -> bool {
        self.slots - self.unlimited_slots < self.rules.max_parallel
    }

    /// Puts an instance at the end of the queue that it waits in.
    pub(super) fn enqueue(&mut self, plan: &Plan, ix: InstanceIx) {
        self.queue += 1;
        let entry = (self.queue, ix);
        let instance = &mut self.instances[ix.at()];
        instance.status = StepStatus::Ready;
        instance.set_due(None);
        instance.queued = entry.0;
        let planned = plan.step(self.instance(ix).step);
        if self.starts_without_slot(plan, ix) {
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
        if self.starts_without_slot(plan, ix) {
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
        self.unlimited_slots += u32::from(self.starts_without_slot(plan, ix));
        let planned = plan.step(self.instance(ix).step);
        if planned.has_locks() && !planned.step.kind.is_waiting() {
            for lock in planned.locks() {
                match self.held.entry(lock) {
                    Entry::Vacant(free) => drop(free.insert(ix)),
                    // An attempt that only cancels a child run does not wait for its locks.
                    Entry::Occupied(taken) => self.shared.push((taken.key().clone(), ix)),
                }
            }
        }
    }

    /// Takes the slot and the locks of an instance.
    pub(super) fn leave_slot(&mut self, plan: &Plan, ix: InstanceIx) {
        if self.instance(ix).holds_slot() {
            self.slots -= 1;
            self.unlimited_slots -= u32::from(self.starts_without_slot(plan, ix));
        }
        self.shared.retain(|(_, owner)| *owner != ix);
        let shared = &mut self.shared;
        // Other steps wait for a lock until all attempts that share it have ended.
        self.held.retain(|lock, owner| {
            if *owner != ix {
                return true;
            }
            let next = shared.iter().position(|(name, _)| name == lock);
            next.map(|at| *owner = shared.remove(at).1).is_some()
        });
        self.dequeue(plan, ix);
    }
}
