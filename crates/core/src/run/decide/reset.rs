//! Retries of a run: the next iteration of its steps.

use super::Decider;
use crate::run::event::{Event, InstanceIx, StepStatus};
use kb_language::definition::StepPhase;
use kb_language::plan::StepIx;
use std::collections::BTreeSet;

impl Decider<'_> {
    /// Starts the next iteration of these steps and of all that follow; without any, of all steps that
    /// did not succeed. Items that succeeded keep their results.
    ///
    /// With `alone`, the steps that follow keep their results, also `finally` steps.
    ///
    /// Only a run that has ended is reset. If two resets are requested at once, the second finds an
    /// open run and continues it.
    pub(super) fn reset(&mut self, roots: Vec<InstanceIx>, alone: bool, reason: String) {
        if !self.state.status.has_ended() {
            return self.recovered(None, None);
        }
        let chosen = if roots.is_empty() { self.state.unsuccessful(self.plan) } else { roots };
        if chosen.is_empty() {
            return;
        }
        let steps = chosen.iter().map(|ix| self.instance(*ix).step).collect::<Vec<_>>();
        let all = if alone { steps } else { self.downstream(&steps) };
        let mut closure: BTreeSet<InstanceIx> = all.into_iter().map(|s| InstanceIx(s.0)).collect();
        closure.extend(self.items_to_reset(&chosen, &closure));
        closure.extend(self.named_items(&chosen, &closure, alone));
        for (i, step) in self.plan.steps().iter().enumerate() {
            let ix = InstanceIx(i as u32);
            let hook = self.hook(ix).and_then(|hook| self.of(hook));
            let again = hook.map_or(!alone, |of| closure.contains(&of));
            if step.step.phase == StepPhase::Finally && again {
                closure.insert(ix);
            }
        }
        let closure = closure.into_iter().collect();
        self.emit(Event::Reset { roots: chosen, closure, reason });
        let reopened =
            self.state.instances().filter(|(_, i)| i.items().is_some() && !i.status.has_ended());
        for ix in reopened.map(|(ix, _)| ix).collect::<Vec<_>>() {
            self.items_changed(ix);
        }
        self.settle_open(StepPhase::Main);
        if self.state.open_main == 0 {
            self.settle_open(StepPhase::Finally);
        }
    }

    /// Items of failed `forEach` steps that did not succeed. If a dependency of the step is reset too,
    /// its list may change, so the whole step is reset. `finally` steps are always reset as a whole.
    fn items_to_reset(
        &self,
        chosen: &[InstanceIx],
        closure: &BTreeSet<InstanceIx>,
    ) -> Vec<InstanceIx> {
        let stays = |ix: &&InstanceIx| {
            let mut dependencies = self.plan.dependencies(self.instance(**ix).step);
            !dependencies.any(|d| closure.contains(&InstanceIx(d.on.0)))
        };
        chosen
            .iter()
            .filter(stays)
            .filter(|ix| self.step(**ix).phase == StepPhase::Main)
            .filter_map(|ix| self.instance(*ix).items())
            .flat_map(|items| items.all())
            .filter(|ix| self.instance(*ix).status != StepStatus::Succeeded)
            .collect()
    }

    /// The chosen items, and of their steps those that were cancelled because of them: without these the step could
    /// not end. `alone` names the chosen ones only.
    fn named_items(
        &self,
        chosen: &[InstanceIx],
        closure: &BTreeSet<InstanceIx>,
        alone: bool,
    ) -> Vec<InstanceIx> {
        let mut found = Vec::new();
        for ix in chosen {
            let Some(item) = &self.instance(*ix).item else { continue };
            let mut dependencies = self.plan.dependencies(self.instance(*ix).step);
            if dependencies.any(|d| closure.contains(&InstanceIx(d.on.0))) {
                continue;
            }
            found.push(*ix);
            let siblings = self.instance(item.parent).items().filter(|_| !alone);
            let cancelled = |ix: &InstanceIx| self.instance(*ix).status == StepStatus::Cancelled;
            found.extend(siblings.iter().flat_map(|items| items.all()).filter(cancelled));
        }
        found
    }

    fn downstream(&self, roots: &[StepIx]) -> Vec<StepIx> {
        let mut seen = vec![false; self.plan.steps().len()];
        let mut open: Vec<StepIx> = roots.to_vec();
        let mut found = Vec::new();
        while let Some(step) = open.pop() {
            if !std::mem::replace(&mut seen[step.at()], true) {
                found.push(step);
                open.extend(self.plan.dependents(step).map(|dependent| dependent.step));
            }
        }
        found
    }
}
