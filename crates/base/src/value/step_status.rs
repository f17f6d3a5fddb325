//! The status of a step instance.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Status of an instance.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum StepStatus {
    /// Not all of its dependencies have ended.
    Pending,
    /// It waits for a slot or a lock.
    Ready,
    /// An attempt is executing.
    Running,
    /// Its gate is executing.
    Verifying,
    /// It waits for a time or a person, without a slot.
    Waiting,
    /// It is done and its gate passed.
    Succeeded,
    /// Its last attempt failed.
    Failed,
    /// Its condition was false, or a step that it needs was skipped.
    Skipped,
    /// A step that it needs failed.
    Blocked,
    /// It was cancelled, or did not start because the run was cancelled.
    Cancelled,
}

impl StepStatus {
    /// All statuses, in the order of their declaration.
    pub const ALL: [StepStatus; 10] = [
        StepStatus::Pending,
        StepStatus::Ready,
        StepStatus::Running,
        StepStatus::Verifying,
        StepStatus::Waiting,
        StepStatus::Succeeded,
        StepStatus::Failed,
        StepStatus::Skipped,
        StepStatus::Blocked,
        StepStatus::Cancelled,
    ];

    /// The status as shown and serialised.
    pub fn as_str(self) -> &'static str {
        match self {
            StepStatus::Pending => "pending",
            StepStatus::Ready => "ready",
            StepStatus::Running => "running",
            StepStatus::Verifying => "verifying",
            StepStatus::Waiting => "waiting",
            StepStatus::Succeeded => "succeeded",
            StepStatus::Failed => "failed",
            StepStatus::Skipped => "skipped",
            StepStatus::Blocked => "blocked",
            StepStatus::Cancelled => "cancelled",
        }
    }

    /// Whether the step is done, well or not. One that is blocked or cancelled was not.
    pub fn is_done(self) -> bool {
        matches!(self, StepStatus::Succeeded | StepStatus::Failed | StepStatus::Skipped)
    }

    /// Whether the status is final in this iteration.
    pub fn has_ended(self) -> bool {
        self >= StepStatus::Succeeded
    }
}

impl fmt::Display for StepStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
