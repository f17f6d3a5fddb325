//! A plan with its reads, as the rules over plans need it.

use crate::plan::reads::Read;
use crate::plan::{Dependency, Plan, StepIx};
use std::collections::BTreeSet;

/// A plan with the reads of all its texts, collected once for all rules.
pub(super) struct Subject<'a> {
    pub(super) plan: &'a Plan,
    /// Reads of each step.
    pub(super) reads: Vec<Vec<Read<'a>>>,
    /// Reads in the `outputs` of the playbook.
    pub(super) outputs: Vec<Read<'a>>,
    /// Position of each step in the topological order.
    pub(super) position: Vec<usize>,
}

impl Subject<'_> {
    /// Removes the reads by and of steps without a position in the order.
    pub(super) fn retain_ordered(&mut self) {
        let mut ordered = vec![false; self.plan.steps().len()];
        self.plan.order().iter().for_each(|ix| ordered[ix.at()] = true);
        let plan = self.plan;
        let known = |read: &Read<'_>| {
            plan.find(read.step.as_str()).is_some_and(|target| ordered[target.at()])
        };
        for (reads, _) in self.reads.iter_mut().zip(&ordered).filter(|(_, ordered)| !**ordered) {
            reads.clear();
        }
        self.reads.iter_mut().for_each(|reads| reads.retain(known));
        self.outputs.retain(known);
    }

    /// Whether `from` depends on `target`, directly or not.
    pub(super) fn is_above(&self, target: StepIx, from: StepIx) -> bool {
        self.walk_back(target, from, |_, _| true)
    }

    /// A step with those that it depends on and those that depend on it, directly or not.
    pub(super) fn ordered_with(&self, step: StepIx) -> BTreeSet<StepIx> {
        let before = |ix| self.plan.dependencies(ix).map(|own| own.on).collect::<Vec<_>>();
        let after = |ix| self.plan.dependents(ix).map(|own| own.step).collect::<Vec<_>>();
        let mut all = reached(step, before);
        all.extend(reached(step, after));
        all
    }

    /// Whether `target` is reachable from `from` along the dependencies that `takes` accepts. Steps before
    /// the target in the order are not visited.
    pub(super) fn walk_back(
        &self,
        target: StepIx,
        from: StepIx,
        takes: impl Fn(StepIx, Dependency) -> bool,
    ) -> bool {
        let mut seen = BTreeSet::new();
        let mut open = vec![from];
        while let Some(at) = open.pop() {
            for dependency in self.plan.dependencies(at) {
                if self.position[dependency.on.at()] < self.position[target.at()]
                    || !takes(at, dependency)
                {
                    continue;
                }
                if dependency.on == target {
                    return true;
                }
                if seen.insert(dependency.on) {
                    open.push(dependency.on);
                }
            }
        }
        false
    }
}

/// A step and all that are reached from it.
fn reached(start: StepIx, next: impl Fn(StepIx) -> Vec<StepIx>) -> BTreeSet<StepIx> {
    let mut seen = BTreeSet::from([start]);
    let mut open = vec![start];
    while let Some(at) = open.pop() {
        open.extend(next(at).into_iter().filter(|ix| seen.insert(*ix)));
    }
    seen
}
