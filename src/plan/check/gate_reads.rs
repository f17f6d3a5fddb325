//! Reads of a gate whose steps may not have ended.

use super::subject::Subject;
use crate::diagnostic::{Code, Diagnostic};
use crate::plan::reads::{Read, ReadContext};
use crate::plan::{PlanStep, StepIx};
use std::collections::BTreeSet;

/// A gate creates no dependencies, so it can read only its own step, the steps that its step depends on,
/// and in `finally` all main steps.
pub(super) fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    for (ix, step) in subject.plan.iter() {
        let mut reported = BTreeSet::new();
        for read in subject.reads[ix.at()].iter().filter(|read| read.context == ReadContext::Verify)
        {
            let Some(target) = subject.plan.find(read.step.as_str()) else { continue };
            if !has_ended(subject, ix, step, target) && reported.insert(target) {
                problems.push(not_above(step, read, subject.plan.step(target)));
            }
        }
    }
    problems
}

fn has_ended(subject: &Subject<'_>, ix: StepIx, step: &PlanStep, target: StepIx) -> bool {
    target == ix
        || (step.is_finally() && !subject.plan.step(target).is_finally())
        || subject.is_above(target, ix)
}

fn not_above(step: &PlanStep, read: &Read<'_>, target: &PlanStep) -> Diagnostic {
    let (id, other) = (&step.step.id, &target.step.id);
    let message = format!("the gate of `{id}` reads `{other}`, which may not have ended by then");
    let problem = Diagnostic::error(Code::GATE_READ_UNORDERED, read.reference.span, message)
        .caption(format!("nothing orders `{id}` after `{other}`"))
        .label(target.step.span, format!("`{other}` is here"));
    match target.is_finally() && !step.is_finally() {
        true => problem.help("`finally` steps start after all of `steps` have ended"),
        false => problem.help(format!("add `dependsOn: [{other}]` to `{id}`")),
    }
}
