//! The start of a run: its first event, the results that it keeps from an earlier run, and the steps
//! that it skips.

use super::Decider;
use crate::run::event::{Event, InstanceIx};
use crate::run::kept::{KeptItems, KeptResult, Preset};
use kb_base::value::{Digest, Json};
use kb_language::definition::StepPhase;

impl Decider<'_> {
    pub(super) fn started(
        &mut self,
        digest: Digest,
        params: Json,
        environment: Json,
        presets: Vec<Preset>,
    ) {
        let definition = self.plan.playbook().id.to_string();
        self.emit(Event::RunStarted { definition, digest, params, environment });
        let mut expanded = Vec::new();
        // All results are there before the first step that may read them is settled.
        for preset in presets {
            match preset {
                Preset::Kept(step, kept) => self.keep(InstanceIx(step.0), *kept),
                Preset::Items(step, kept) => {
                    expanded.push(InstanceIx(step.0));
                    self.keep_items(InstanceIx(step.0), *kept);
                }
                Preset::Revised(revision) => self.emit(Event::PlanRevised { revision }),
                Preset::Skipped(step) => {
                    self.emit(Event::Skipped { instance: InstanceIx(step.0) });
                }
            }
        }
        expanded.into_iter().for_each(|ix| self.items_changed(ix));
        self.settle_open(StepPhase::Main);
        self.settle_early_hooks();
        if self.state.open_main == 0 {
            self.settle_open(StepPhase::Finally);
        }
    }

    fn keep(&mut self, instance: InstanceIx, kept: KeptResult) {
        self.emit(Event::Kept { instance, kept: Box::new(kept) });
    }

    fn keep_items(&mut self, step: InstanceIx, kept: KeptItems) {
        let KeptItems { keys, items, keyed, results, whole } = kept;
        let first = InstanceIx(self.state.instances.len() as u32);
        self.emit(Event::Expanded { instance: step, first, keys, items, keyed });
        for (ix, result) in (first.0..).map(InstanceIx).zip(results) {
            result.into_iter().for_each(|result| self.keep(ix, result));
        }
        whole.into_iter().for_each(|whole| self.keep(step, whole));
    }
}
