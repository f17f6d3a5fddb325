//! Which runs are read.

use super::RunRow;
use kb_base::value::{RunId, Timestamp};
use kb_core::run::RunStatus;

/// Which runs are read, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunQuery {
    /// The statuses to include; empty includes all.
    pub statuses: Vec<RunStatus>,
    /// Only runs of the definition with this id.
    pub definition: Option<String>,
    /// Only runs that started at this time or later.
    pub since: Option<Timestamp>,
    /// Only runs that are older than this one.
    pub before: Option<RunId>,
    /// Maximum number.
    pub limit: usize,
}

impl RunQuery {
    /// Whether a run has the properties that are asked for; its place in the list does not count.
    pub fn includes(&self, row: &RunRow) -> bool {
        (self.statuses.is_empty() || self.statuses.contains(&row.status))
            && self.definition.as_ref().is_none_or(|definition| row.definition == *definition)
            && self.since.is_none_or(|since| row.started_at >= since)
    }

    /// The statuses as they are stored: an interrupted run is stored as running.
    pub(super) fn stored_statuses(&self) -> Vec<&'static str> {
        let stored = |status: &RunStatus| {
            if *status == RunStatus::Interrupted {
                RunStatus::Running.as_str()
            } else {
                status.as_str()
            }
        };
        self.statuses.iter().map(stored).collect()
    }
}
