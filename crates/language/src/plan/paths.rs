//! Paths through a plan: critical path, downstream steps, levels.

use super::dag::node;
use super::{Plan, StepIx};
use petgraph::visit::{Dfs, Visitable};

impl Plan {
    /// The chain of dependent steps with the largest total weight, followed by that of `finally`. Of equal
    /// chains, the one that comes first in the file.
    pub fn critical_path(&self, weight: impl Fn(StepIx) -> u64) -> Vec<StepIx> {
        let (finally, main): (Vec<StepIx>, Vec<StepIx>) =
            self.order.iter().partition(|&&ix| self.step(ix).is_finally());
        let mut path = self.heaviest(&main, &weight);
        path.extend(self.heaviest(&finally, &weight));
        path
    }

    /// The heaviest chain among steps in topological order.
    fn heaviest(&self, order: &[StepIx], weight: &impl Fn(StepIx) -> u64) -> Vec<StepIx> {
        let mut total = vec![0u64; self.steps.len()];
        let mut before: Vec<Option<StepIx>> = vec![None; self.steps.len()];
        let mut last: Option<StepIx> = None;
        for &ix in order {
            let mut heaviest: Option<StepIx> = None;
            for on in self.dependencies(ix).map(|dependency| dependency.on) {
                if heaviest.is_none_or(|known| total[known.at()] < total[on.at()]) {
                    heaviest = Some(on);
                }
            }
            before[ix.at()] = heaviest;
            total[ix.at()] = heaviest.map_or(0, |on| total[on.at()]).saturating_add(weight(ix));
            if last.is_none_or(|known| total[known.at()] < total[ix.at()]) {
                last = Some(ix);
            }
        }
        let mut path: Vec<StepIx> = std::iter::successors(last, |ix| before[ix.at()]).collect();
        path.reverse();
        path
    }

    /// The given steps and all steps that depend on them, directly or not, in plan order. If one of them
    /// is a main step, all of `finally` is included.
    pub fn downstream(&self, roots: &[StepIx]) -> Vec<StepIx> {
        let stack = roots.iter().map(|&ix| node(ix)).collect();
        let mut walk = Dfs::from_parts(stack, self.graph.visit_map());
        let mut reached = vec![false; self.steps.len()];
        while let Some(next) = walk.next(&self.graph) {
            reached[next.index()] = true;
        }
        let any_main = self.iter().any(|(ix, step)| reached[ix.at()] && !step.is_finally());
        self.iter()
            .filter(|(ix, step)| reached[ix.at()] || (any_main && step.is_finally()))
            .map(|(ix, _)| ix)
            .collect()
    }

    /// The steps by the length of their longest chain of dependencies. Steps of one level do not depend
    /// on each other. `finally` has its own levels after the others.
    pub fn levels(&self) -> Vec<Vec<StepIx>> {
        let mut level = vec![0usize; self.steps.len()];
        let mut levels: Vec<Vec<StepIx>> = Vec::new();
        let mut mains = 0;
        for &ix in &self.order {
            let step = self.step(ix);
            let first = if step.is_finally() { mains } else { 0 };
            let above = self.dependencies(ix).map(|d| level[d.on.at()] + 1).max();
            level[ix.at()] = above.unwrap_or(first).max(first);
            if !step.is_finally() {
                mains = mains.max(level[ix.at()] + 1);
            }
            levels.resize_with(levels.len().max(level[ix.at()] + 1), Vec::new);
            levels[level[ix.at()]].push(ix);
        }
        levels.iter_mut().for_each(|steps| steps.sort());
        levels
    }
}
