//! The last run of a definition, where continuing it may save work that a new run would repeat.

use crate::service::ServiceError;
use kb_core::run::{Instance, RunStatus, StepStatus};
use kb_engine::inspect::{Earlier, Frozen};
use kb_engine::journal::Journal;
use std::path::Path;

/// A run that did not succeed and whose definitions have changed since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Predecessor {
    /// Id of the earlier run.
    pub run: String,
    /// The status with which it ended.
    pub status: RunStatus,
    /// Number of its steps that succeeded, without `finally` steps.
    pub succeeded: usize,
    /// Definition files that changed since.
    pub changed: Vec<String>,
}

/// The last run of a definition, if it did not succeed, has finished steps, and a definition file has
/// changed since: `kb run retry RUN --with-current` would keep the finished steps.
pub(super) fn predecessor(
    journal: &dyn Journal,
    root: &Path,
    definition: &str,
) -> Result<Option<Predecessor>, ServiceError> {
    let Some(last) = journal.latest(Some(definition), None)? else { return Ok(None) };
    match last.status {
        RunStatus::Failed | RunStatus::Cancelled | RunStatus::Interrupted => {}
        RunStatus::Running | RunStatus::Waiting | RunStatus::Succeeded => return Ok(None),
    }
    let changed = Frozen::of_run(journal, &last.run)?.changed_since(root);
    if changed.is_empty() {
        return Ok(None);
    }
    // A run that cannot be read is no base for another one.
    let Ok(earlier) = Earlier::read(journal, &last.run, u64::MAX) else { return Ok(None) };
    let steps = earlier.state.instances().take(earlier.plan.steps().len());
    let is_main = |step: &Instance| !earlier.plan.step(step.step).is_finally();
    let succeeded = steps.filter(|(_, step)| step.status == StepStatus::Succeeded && is_main(step));
    let succeeded = succeeded.count();
    let (run, status) = (last.run.to_string(), last.status);
    let found = Predecessor { run, status, succeeded, changed };
    Ok((succeeded > 0).then_some(found))
}
