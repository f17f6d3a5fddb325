//! The specialist that could write to the files of a child run while it runs.

use kb_language::definition::NetworkAccess;
use kb_language::plan::{Plan, StepIx, Touched};
use std::collections::BTreeSet;

/// The specialist that could write to the files of a child run while it runs: one of a step that has not ended and
/// does not wait for its end.
pub(in crate::engine) fn touched_meanwhile(
    plan: &Plan,
    child: StepIx,
    open: &BTreeSet<StepIx>,
) -> Option<Touched> {
    let (mut later, mut next) = (BTreeSet::from([child]), vec![child]);
    while let Some(step) = next.pop() {
        let dependents = plan.dependents(step).map(|dependent| dependent.step);
        next.extend(dependents.filter(|ix| later.insert(*ix)));
    }
    let beside = open.difference(&later).map(|ix| plan.step(*ix));
    let mut writing = beside.filter(|planned| planned.has_writing_specialist());
    let network = NetworkAccess::default();
    writing.next().map(|planned| Touched { step: planned.step.id.clone(), path: None, network })
}
