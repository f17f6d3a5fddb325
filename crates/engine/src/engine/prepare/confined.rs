//! Whether the commands of a step of the author run in the sandbox.

use kb_attempt::{Confined, Touched};
use kb_language::definition::{AuthorSandbox, NetworkAccess};
use kb_language::plan::{Plan, PlanStep, StepIx};
use std::collections::BTreeSet;

/// Whether the commands of a step of the author run in the sandbox. Those of a specialist always do.
pub(super) fn confined(planned: &PlanStep, touched: Option<&Touched>) -> Option<Confined> {
    if planned.specialist.is_some() {
        return None;
    }
    match planned.step.details().sandbox.unwrap_or(AuthorSandbox::Auto) {
        AuthorSandbox::Auto => touched.cloned().map(Confined::Touched),
        AuthorSandbox::Always => Some(Confined::Always),
        AuthorSandbox::Never => None,
    }
}

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
