//! Rejections that send the work back to an earlier step.

use super::Decider;
use crate::run::event::{Event, InstanceIx};
use kb_language::definition::OnReject;
use kb_language::plan::StepIx;
use std::collections::BTreeSet;

impl Decider<'_> {
    /// Starts the next iteration of the step that `onReject` names, of the steps between it and the one
    /// that asked, and of their hooks that have ended. All of them have ended, except the one that asked.
    /// Returns false if the work went back as often as it may.
    pub(super) fn send_back(
        &mut self,
        ix: InstanceIx,
        back: &OnReject,
        (by, comment): (&str, &Option<String>),
    ) -> bool {
        let taken = self.state.returns.get(&ix).copied().unwrap_or(0) + 1;
        let chosen = |step: &StepIx| !self.instance(InstanceIx(step.0)).is_deselected();
        let to = self.plan.find(back.step.as_str());
        let Some(to) = to.filter(chosen).filter(|_| taken <= back.max) else { return false };
        let asked = self.instance(ix).step;
        let below = self.reached(to, |step| self.plan.dependents(step).map(|d| d.step).collect());
        let above =
            self.reached(asked, |step| self.plan.dependencies(step).map(|d| d.on).collect());
        let between: BTreeSet<InstanceIx> = below
            .intersection(&above)
            .filter(|step| chosen(step))
            .map(|s| InstanceIx(s.0))
            .collect();
        let hooks = (0..self.plan.steps().len()).map(|i| InstanceIx(i as u32)).filter(|at| {
            let of = self.hook(*at).and_then(|hook| self.of(hook));
            of.is_some_and(|of| between.contains(&of)) && self.instance(*at).status.has_ended()
        });
        let mut closure: BTreeSet<InstanceIx> = hooks.collect();
        closure.extend(between);
        let to = InstanceIx(to.0);
        self.emit(Event::SentBack {
            instance: ix,
            to,
            closure: closure.into_iter().collect(),
            by: by.to_owned(),
            comment: comment.clone(),
            taken,
            max: back.max,
        });
        // What it depends on has ended; the others wait for it.
        self.settle(to);
        true
    }

    /// A step and all steps that a relation leads to from there.
    fn reached(&self, from: StepIx, next: impl Fn(StepIx) -> Vec<StepIx>) -> BTreeSet<StepIx> {
        let (mut found, mut open) = (BTreeSet::from([from]), vec![from]);
        while let Some(step) = open.pop() {
            open.extend(next(step).into_iter().filter(|step| found.insert(*step)));
        }
        found
    }
}
