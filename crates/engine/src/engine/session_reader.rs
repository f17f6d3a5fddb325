//! Which steps read what a specialist passes on.

use kb_language::definition::{SpecialistStep, StepKind, StepPhase};
use kb_language::expression::Root;
use kb_language::plan::{Plan, StepIx};
use std::collections::BTreeSet;

/// Whether a later step is a specialist that sees what a step passes on, or an expression reads it.
pub(super) fn has_reader(plan: &Plan, step: StepIx) -> bool {
    if is_read(plan, step) {
        return true;
    }
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

/// Whether an expression reads `STEP.handoff`.
fn is_read(plan: &Plan, step: StepIx) -> bool {
    let own = Root::Step(plan.step(step).step.id.clone());
    let steps = plan.iter().flat_map(|(_, planned)| planned.references());
    let outputs = plan.playbook().outputs.iter().flat_map(|(_, value)| value.references());
    steps.chain(outputs).any(|read| read.root == own && read.field() == Some("handoff"))
}

/// The specialist step at a place of the plan.
pub(super) fn reader(plan: &Plan, ix: StepIx) -> Option<&SpecialistStep> {
    let StepKind::Specialist(step) = &plan.step(ix).step.kind else { return None };
    Some(step)
}

fn includes(plan: &Plan, ix: StepIx) -> bool {
    reader(plan, ix).is_some_and(|step| !step.artifacts.is_empty())
}
