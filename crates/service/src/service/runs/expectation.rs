//! How long a run is expected to take, from the last run of its definition that succeeded.

use kb_core::run::RunStatus;
use kb_engine::journal::Journal;
use kb_language::definition::{Execution, Step};
use kb_language::plan::Plan;
use std::sync::Arc;
use std::time::Duration;

/// What is needed to ask for the time of the last run. Nothing is read before [`Expectation::duration`].
pub struct Expectation {
    journal: Arc<dyn Journal>,
    definition: String,
    /// Whether the time of an earlier run says something about this one.
    is_comparable: bool,
}

impl Expectation {
    /// The expectation for a run of a plan. A run that continues another one, or that waits for a person or a
    /// moment, is not comparable.
    pub fn new(journal: Arc<dyn Journal>, plan: &Plan, is_new: bool) -> Expectation {
        let waits =
            |step: &Step| matches!(step.kind.execution(), Execution::Ask(_) | Execution::Wait(_));
        let is_comparable = is_new && !plan.steps().iter().any(|planned| waits(&planned.step));
        Expectation { journal, definition: plan.playbook().id.to_string(), is_comparable }
    }

    /// The time from start to end of the last run that succeeded; one query. `None` without such a run, or if
    /// that run was interrupted meanwhile.
    pub fn duration(&self) -> Option<Duration> {
        if !self.is_comparable {
            return None;
        }
        let last =
            self.journal.latest(Some(&self.definition), Some(RunStatus::Succeeded)).ok()??;
        (last.epoch == 1).then_some(last.ended_at?.since(last.started_at))
    }
}
