//! Steps with files of their own: the merge of their changes, once their work is accepted.

use super::Decider;
use crate::evidence::Merged;
use crate::run::effect::Effect;
use crate::run::event::{Event, InstanceIx, StepStatus};
use crate::run::extras::MergeState;
use kb_language::definition::MergePolicy;

impl Decider<'_> {
    /// Whether the changes of an instance must be merged before it ends. Those of items are merged when
    /// all items have ended.
    pub(super) fn must_merge(&self, ix: InstanceIx) -> bool {
        let instance = self.instance(ix);
        let isolation = self.plan.step(instance.step).isolation();
        instance.item.is_none()
            && instance.merge() != MergeState::Merged
            && isolation.is_some_and(|isolation| isolation.merge != MergePolicy::None)
    }

    /// Merges the changes of an instance whose work is accepted.
    pub(super) fn merge(&mut self, ix: InstanceIx) {
        if self.instance(ix).merge() == MergeState::Open {
            self.emit(Event::Merging { instance: ix });
        }
        let iteration = self.instance(ix).iteration;
        self.effect(Effect::Merge { instance: ix, iteration });
    }

    /// The changes of an instance were merged, or could not be.
    pub(super) fn merged(&mut self, ix: InstanceIx, iteration: u32, merged: Merged) {
        let expected = self.is_in(ix, iteration)
            && !self.instance(ix).status.has_ended()
            && self.instance(ix).merge() == MergeState::Merging;
        if !expected {
            return;
        }
        let Merged { trees, failure } = merged;
        self.emit(Event::Merged { instance: ix, trees });
        match failure {
            Some(failure) => self.end(ix, StepStatus::Failed, Some(failure)),
            None if self.instance(ix).items().is_some() => self.items_changed(ix),
            None => self.succeed(ix),
        }
    }
}
