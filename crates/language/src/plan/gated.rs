//! The steps whose changes a later gate reads.

use super::{Plan, StepIx};
use crate::definition::{Check, ClaimPolicy, Step};

impl Plan {
    /// Whether a step that depends on this one, directly or through others, has a gate that reads files: what this step changes
    /// is then part of what that gate verifies.
    pub fn is_before_gate(&self, ix: StepIx) -> bool {
        let before = self.before_gates.get_or_init(|| {
            let mut before = vec![false; self.steps().len()];
            for &step in self.order().iter().rev() {
                let mut later = self.dependents(step).map(|dependent| dependent.step);
                let leads =
                    later.any(|later| before[later.at()] || reads_files(&self.step(later).step));
                before[step.at()] = leads;
            }
            before
        });
        before[ix.at()]
    }
}

fn reads_files(step: &Step) -> bool {
    let of_files = |check: &Check| check.reads_changes() || matches!(check, Check::File(_));
    step.checks().iter().any(of_files)
        || step.verify().is_some_and(|verify| verify.claims != ClaimPolicy::None)
}
