//! Why a run executes a revised plan, and how it differs from the plan before it.

use kb_base::value::RunId;
use serde::{Deserialize, Serialize};

/// A decision of a planner about a plan whose run failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanRevision {
    /// The number of the revision, from 1.
    pub number: u32,
    /// The run that failed.
    pub run: RunId,
    /// The planning run that decided.
    pub planner: RunId,
    /// The new plan in a sentence, as the planner said it.
    pub reason: String,
    /// How sure the planner was, from 0 to 1.
    pub confidence: f64,
    /// The suggestion of a failure report that it follows: a failed step, and the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub takes: Option<StepAction>,
    /// The failures that the planner was told.
    pub evidence: Vec<StepFailure>,
    /// Steps whose results are kept.
    pub kept: Vec<String>,
    /// Steps of the plan before it that the new one does not have.
    pub removed: Vec<String>,
    /// Steps that only the new plan has.
    pub added: Vec<String>,
}

/// What failed, as the planner was told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepFailure {
    /// Name of the step instance.
    pub step: String,
    /// The message of the failure, cut.
    pub message: String,
}

/// A suggestion of a failure report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepAction {
    /// Name of the step instance that failed.
    pub step: String,
    /// The action that was suggested, such as `switch_specialist`.
    pub action: String,
}
