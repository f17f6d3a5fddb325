//! `onReject` of `approve` steps: the step that the work goes back to.

use super::subject::Subject;
use crate::definition::{OnReject, Step, StepPhase};
use crate::plan::StepIx;
use kb_base::diagnostic::{Code, Diagnostic, nearest};

/// The step that a rejection sends the work back to must lie above the approval, and every step that
/// depends on it must lie between them or below the approval: others could use rejected work.
pub(super) fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let plan = subject.plan;
    let asks = plan.iter().filter_map(|(ix, planned)| {
        let back = planned.step.kind.question()?.on_reject?;
        Some((ix, &*planned.step, back))
    });
    asks.filter_map(|(ix, step, back)| problem(subject, ix, step, back)).collect()
}

fn problem(
    subject: &Subject<'_>,
    asks: StepIx,
    step: &Step,
    back: &OnReject,
) -> Option<Diagnostic> {
    let (plan, id, to) = (subject.plan, &step.id, &back.step);
    let error = |message: String, help: String| {
        Some(Diagnostic::error(Code::SEND_BACK, back.span, message).help(help))
    };
    if step.phase != StepPhase::Main || step.for_each.is_some() {
        return error(
            format!(
                "`{id}` cannot send work back: it is a step with items, or one of `finally` or `hooks`"
            ),
            "remove `onReject`, or ask in a step of its own".to_owned(),
        );
    }
    let known = plan.steps().iter().map(|planned| planned.step.id.as_str());
    let Some(target) = plan.find(to.as_str()) else {
        let near = nearest(to.as_str(), known).map(|near| format!("did you mean `{near}`?"));
        let help = near.unwrap_or_else(|| format!("name a step that `{id}` depends on"));
        return error(format!("no step `{to}`"), help);
    };
    if target == asks || !subject.is_above(target, asks) {
        return error(
            format!(
                "`{id}` does not depend on `{to}`, so a rejection cannot send the work back to it"
            ),
            format!("add `dependsOn: [{to}]` to `{id}`, or name a step that it depends on"),
        );
    }
    let beside = plan.iter().find(|(ix, planned)| {
        planned.step.phase == StepPhase::Main
            && *ix != asks
            && subject.is_above(target, *ix)
            && !subject.is_above(*ix, asks)
            && !subject.is_above(asks, *ix)
    });
    let (_, beside) = beside?;
    let beside = &beside.step.id;
    error(
        format!(
            "`{beside}` depends on `{to}`, but not on the approval `{id}`, so it could use rejected work"
        ),
        format!("add `dependsOn: [{id}]` to `{beside}`, or `dependsOn: [{beside}]` to `{id}`"),
    )
}
