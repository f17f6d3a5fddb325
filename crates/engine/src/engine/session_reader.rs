//! Which steps read the session state.

use kb_language::definition::{SpecialistStep, StepKind, StepPhase};
use kb_language::plan::{Plan, StepIx};
use std::collections::BTreeSet;

/// Whether a later step is a specialist that sees what a step passes on.
pub(super) fn has_reader(plan: &Plan, step: StepIx) -> bool {
    let reads = |ix: StepIx| reader(plan, ix).is_some_and(|step| step.session);
    let is_main = plan.step(step).step.phase == StepPhase::Main;
    let is_finally = |ix: StepIx| plan.step(ix).step.phase == StepPhase::Finally;
    if is_main && plan.iter().any(|(ix, _)| is_finally(ix) && reads(ix)) {
        return true;
    }
    let mut seen: BTreeSet<StepIx> = BTreeSet::new();
    let mut open = vec![step];
    while let Some(ix) = open.pop() {
        for dependent in plan.dependents(ix).map(|dependent| dependent.step) {
            if reads(dependent) || includes(plan, dependent) {
                return true;
            }
            if seen.insert(dependent) {
                open.push(dependent);
            }
        }
    }
    false
}

/// The specialist step at a place of the plan.
pub(super) fn reader(plan: &Plan, ix: StepIx) -> Option<&SpecialistStep> {
    let StepKind::Specialist(step) = &plan.step(ix).step.kind else { return None };
    Some(step)
}

fn includes(plan: &Plan, ix: StepIx) -> bool {
    reader(plan, ix).is_some_and(|step| !step.artifacts.is_empty())
}
