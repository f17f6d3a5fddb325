//! The public form of a revision of a plan.

use crate::run::{PlanRevision, StepFailure};
use schemars::JsonSchema;
use serde::Serialize;

/// A planner replaced steps of a plan whose run failed, and this run continues it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanRevisionView {
    /// The number of the revision, from 1.
    pub number: u32,
    /// Id of the run that failed.
    pub run: String,
    /// Id of the planning run that decided.
    pub planner: String,
    /// The new plan in a sentence, as the planner said it.
    pub reason: String,
    /// How sure the planner was, from 0 to 1.
    pub confidence: f64,
    /// The suggestion of a failure report that it follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub takes: Option<StepActionView>,
    /// The failures that the planner was told.
    pub evidence: Vec<StepFailureView>,
    /// Steps whose results are kept.
    pub kept: Vec<String>,
    /// Steps of the plan before it that the new one does not have.
    pub removed: Vec<String>,
    /// Steps that only the new plan has.
    pub added: Vec<String>,
}

/// What failed, as the planner was told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StepFailureView {
    /// Name of the step instance.
    pub step: String,
    /// The message of the failure, cut.
    pub message: String,
}

/// A suggestion of a failure report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StepActionView {
    /// Name of the step instance that failed.
    pub step: String,
    /// The action that was suggested, such as `switch_specialist`.
    pub action: String,
}

impl From<&PlanRevision> for PlanRevisionView {
    fn from(revision: &PlanRevision) -> PlanRevisionView {
        let failure = |failure: &StepFailure| StepFailureView {
            step: failure.step.clone(),
            message: failure.message.clone(),
        };
        PlanRevisionView {
            number: revision.number,
            run: revision.run.to_string(),
            planner: revision.planner.to_string(),
            reason: revision.reason.clone(),
            confidence: revision.confidence,
            takes: revision
                .takes
                .as_ref()
                .map(|own| StepActionView { step: own.step.clone(), action: own.action.clone() }),
            evidence: revision.evidence.iter().map(failure).collect(),
            kept: revision.kept.clone(),
            removed: revision.removed.clone(),
            added: revision.added.clone(),
        }
    }
}
