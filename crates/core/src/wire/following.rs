//! What an approval permits: the steps that run because of it.

use crate::run::{Question, QuestionKind};
use kb_language::definition::Execution;
use kb_language::plan::{Plan, StepIx};
use schemars::JsonSchema;
use serde::Serialize;

/// Maximum number of steps that are named.
const MOST_NAMED: usize = 20;

/// A step that an approval lets run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FollowingStep {
    /// Id of the step.
    pub step: String,
    /// Its kind and what it does, in a few words, such as `run cargo publish`.
    pub does: String,
}

/// The steps that depend on an `approve` step, in plan order, at most 20; none for other questions.
pub(super) fn following(
    plan: &Plan,
    ix: StepIx,
    question: Option<&Question>,
) -> Vec<FollowingStep> {
    let asks =
        question.is_some_and(|asked| asked.kind == QuestionKind::Approve && asked.call.is_none());
    if !asks || !matches!(plan.step(ix).step.kind.execution(), Execution::Ask(_)) {
        return Vec::new();
    }
    let below = plan.downstream(&[ix]).into_iter().filter(|other| *other != ix);
    let steps = below.map(|ix| plan.step(ix)).filter(|step| !step.is_finally());
    let named = steps.map(|step| FollowingStep {
        step: step.step.id.to_string(),
        does: step.step.kind.summary(),
    });
    named.take(MOST_NAMED).collect()
}
