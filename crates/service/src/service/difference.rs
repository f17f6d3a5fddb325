//! What a person reads before an approval: the recorded changes of a run, and of the runs that it belongs to.

use super::ServiceError;
use kb_base::value::Timestamp;
use kb_engine::inspect::{Reader, RunDiff, StepDiff, run_diff};
use kb_engine::journal::Journal;
use std::sync::Arc;

/// Maximum number of runs of which the changes are read.
const MOST_RUNS: usize = 32;

/// The changes that a person decides about.
#[derive(Debug, Clone, Default)]
pub struct Difference {
    /// The changes of the run, those of its child runs included, then those of the run that started it and of the
    /// run whose results it keeps, and so on.
    pub runs: Vec<RunDiff>,
    /// The number of the last event of the run before the changes were read.
    last: u64,
    is_complete: bool,
}

impl Difference {
    /// Reads the changes of a run.
    pub fn of(
        journal: &Arc<dyn Journal>,
        run: &str,
        now: Timestamp,
    ) -> Result<Difference, ServiceError> {
        let mut found = Difference { is_complete: true, ..Difference::default() };
        let (mut next, mut names) = (vec![run.to_owned()], Vec::new());
        while let Some(name) = next.pop() {
            if names.contains(&name) || names.len() == MOST_RUNS {
                continue;
            }
            let mut reader = match Reader::open(journal.clone(), &name) {
                Ok(reader) => reader,
                // An earlier run may be deleted.
                Err(_) if !names.is_empty() => continue,
                Err(error) => return Err(error.into()),
            };
            let view = reader.view(now)?;
            if names.is_empty() {
                found.last = reader.seq();
            }
            next.extend(view.base.iter().map(|base| base.run.clone()));
            next.extend(view.parent.iter().map(|parent| parent.run.clone()));
            names.push(view.run.clone());
            let by_specialist = |step: &StepDiff| {
                let planned = reader.plan().find(&step.step).map(|ix| reader.plan().step(ix));
                planned.is_none_or(|planned| planned.specialist.is_some())
            };
            let diff = run_diff(Reader::open(journal.clone(), &view.run)?, None)?;
            let is_complete =
                |step: &StepDiff| step.complete && (step.recorded || !by_specialist(step));
            found.is_complete &= diff.steps.iter().all(is_complete);
            found.runs.push(diff);
        }
        Ok(found)
    }

    /// The number that a reply names of a person who was shown the changes. `None`: not everything that a specialist
    /// changed was recorded, so no person was shown all, and an approval releases nothing.
    pub fn seen(&self) -> Option<u64> {
        self.is_complete.then_some(self.last)
    }

    /// Whether no change was recorded.
    pub fn is_empty(&self) -> bool {
        self.runs.iter().flat_map(|run| &run.steps).all(|step| step.files.is_empty())
    }
}
