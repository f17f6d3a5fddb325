//! Rules over the whole plan, one per file.

mod cycle;
mod gate_reads;
mod output_keys;
mod unguarded_reads;
mod writers;

pub(super) use cycle::cycle;

use super::reads::Read;
use super::{Plan, StepIx};
use crate::diagnostic::Diagnostic;

/// A plan with every read that its texts make, gathered once for all rules.
struct Subject<'a> {
    plan: &'a Plan,
    /// By step.
    reads: Vec<Vec<Read<'a>>>,
    /// Of the playbook's `outputs`.
    outputs: Vec<Read<'a>>,
    /// Where each step stands in the order.
    position: Vec<usize>,
}

/// Every problem of a plan. Where there is a circle, what is asked of the order is asked of the steps
/// that have a place in it.
pub(super) fn all<'a>(
    plan: &'a Plan,
    reads: Vec<Vec<Read<'a>>>,
    outputs: Vec<Read<'a>>,
) -> Vec<Diagnostic> {
    let mut position = vec![0; plan.steps().len()];
    plan.order().iter().enumerate().for_each(|(i, ix)| position[ix.at()] = i);
    let mut subject = Subject { plan, reads, outputs, position };
    let mut problems = output_keys::check(&subject);
    if plan.order().len() == plan.steps().len() {
        problems.extend(writers::check(plan));
    } else {
        subject.retain_ordered();
    }
    problems.extend(gate_reads::check(&subject));
    problems.extend(unguarded_reads::check(&subject));
    problems
}

impl Subject<'_> {
    /// Leaves out the reads by and of steps on or behind a circle.
    fn retain_ordered(&mut self) {
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

    /// Whether `target` is among the steps that `from` comes after.
    fn is_above(&self, target: StepIx, from: StepIx) -> bool {
        self.walk_back(target, from, |_, _| true)
    }

    /// Whether a walk back from `from` along edges of the given sort comes to `target`. It leaves
    /// alone what stands before the target in the order, so that near targets are found fast.
    fn walk_back(
        &self,
        target: StepIx,
        from: StepIx,
        takes: impl Fn(StepIx, super::Dependency) -> bool,
    ) -> bool {
        let mut seen = std::collections::BTreeSet::new();
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
