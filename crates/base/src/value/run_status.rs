//! The status of a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Where a run is between its start and its end.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// A lease owner drives it.
    Running,
    /// It waits for a person or a budget.
    Waiting,
    /// Its lease owner stopped or was killed. It can be resumed.
    Interrupted,
    /// Every failed step was tolerated.
    Succeeded,
    /// A step failed and was not tolerated.
    Failed,
    /// It was cancelled.
    Cancelled,
}

impl RunStatus {
    /// All statuses, in the order of their declaration.
    pub const ALL: [RunStatus; 6] = [
        RunStatus::Running,
        RunStatus::Waiting,
        RunStatus::Interrupted,
        RunStatus::Succeeded,
        RunStatus::Failed,
        RunStatus::Cancelled,
    ];

    /// The status as shown and serialised.
    pub fn as_str(self) -> &'static str {
        match self {
            RunStatus::Running => "running",
            RunStatus::Waiting => "waiting",
            RunStatus::Interrupted => "interrupted",
            RunStatus::Succeeded => "succeeded",
            RunStatus::Failed => "failed",
            RunStatus::Cancelled => "cancelled",
        }
    }

    /// How a sentence says the status of a run: its verb and its state, such as `has` and `succeeded`, `was` and `cancelled`.
    pub fn words(self) -> (&'static str, &'static str) {
        let verb = match self {
            RunStatus::Succeeded | RunStatus::Failed => "has",
            RunStatus::Cancelled => "was",
            RunStatus::Running | RunStatus::Waiting | RunStatus::Interrupted => "is",
        };
        (verb, self.as_str())
    }

    /// Parses the name of a status.
    pub fn parse(name: &str) -> Option<RunStatus> {
        RunStatus::ALL.into_iter().find(|status| status.as_str() == name)
    }

    /// Whether the run has ended; only a retry re-opens it.
    pub fn has_ended(self) -> bool {
        matches!(self, RunStatus::Succeeded | RunStatus::Failed | RunStatus::Cancelled)
    }
}

impl fmt::Display for RunStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
