//! Reads of a gate, of `until` and of `collect` whose steps may not have ended.

use super::subject::Subject;
use crate::plan::reads::Read;
use crate::plan::{PlanStep, StepIx};
use kb_base::diagnostic::{Code, Diagnostic};
use std::collections::BTreeSet;

/// These texts create no dependencies, so they can read only their own step, the steps that it depends on,
/// and in `finally` all main steps.
pub(super) fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    for (ix, step) in subject.plan.iter() {
        let mut reported = BTreeSet::new();
        for read in &subject.reads[ix.at()] {
            let Some(text) = read.context.after_work() else { continue };
            let Some(target) = subject.plan.find(read.step.as_str()) else { continue };
            if !has_ended(subject, ix, step, target) && reported.insert(target) {
                let later = subject.is_above(ix, target);
                problems.push(not_above(step, text, read, subject.plan.step(target), later));
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

/// `later`: the step that is read starts after this one.
fn not_above(
    step: &PlanStep,
    text: &str,
    read: &Read<'_>,
    target: &PlanStep,
    later: bool,
) -> Diagnostic {
    let (id, other) = (&step.step.id, &target.step.id);
    let message = format!("{text} of `{id}` reads `{other}`, which may not have ended by then");
    let problem = Diagnostic::error(Code::GATE_READ_UNORDERED, read.reference.span, message)
        .caption(format!("nothing orders `{id}` after `{other}`"))
        .label(target.step.span, format!("`{other}` is here"));
    if target.is_finally() && !step.is_finally() {
        problem.help("`finally` steps start after all of `steps` have ended")
    } else if later {
        problem.help(format!("`{other}` starts after `{id}`: read both in a step after them"))
    } else {
        problem.help(format!("add `dependsOn: [{other}]` to `{id}`"))
    }
}
