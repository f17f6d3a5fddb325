//! What a person reads before an approval: the recorded changes of a run, and of the runs that it belongs to.

use super::ServiceError;
use super::runs::facts_of;
use kb_base::value::{RunId, Timestamp};
use kb_engine::inspect::{Earlier, Reader, RunDiff, StepDiff, run_diff};
use kb_engine::journal::Journal;
use kb_language::plan::Facts;
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
    unshown: Option<Unshown>,
}

/// Why a person was not shown all changes, so that an approval releases nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unshown {
    /// Not everything that a specialist changed was recorded.
    Unrecorded,
    /// The sandbox opened data of the repository, or files outside of the project, for writing.
    Opened,
}

impl Unshown {
    /// What a person is told.
    pub fn as_str(self) -> &'static str {
        match self {
            Unshown::Unrecorded => {
                "not all changes of specialists were recorded, so an approval releases nothing: later commands stay in \
                 the sandbox"
            }
            Unshown::Opened => {
                "`sandbox.write` opened `.git` or files outside of the project, whose changes are not shown, so an \
                 approval releases nothing: later commands stay in the sandbox; `sandbox: never` on a step frees it"
            }
        }
    }
}

impl Difference {
    /// Reads the changes of a run.
    pub fn of(
        journal: &Arc<dyn Journal>,
        run: &str,
        now: Timestamp,
    ) -> Result<Difference, ServiceError> {
        let mut found = Difference::default();
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
                found.unshown = opened(journal, &view.run);
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
            if !diff.steps.iter().all(is_complete) {
                found.unshown = Some(Unshown::Unrecorded);
            }
            found.runs.push(diff);
        }
        Ok(found)
    }

    /// The number that a reply names of a person who was shown the changes. `None`: no person was shown all, and an
    /// approval releases nothing.
    pub fn seen(&self) -> Option<u64> {
        self.unshown.is_none().then_some(self.last)
    }

    /// Why it does not have all changes, if it does not.
    pub fn unshown(&self) -> Option<Unshown> {
        self.unshown
    }

    /// Whether no change was recorded.
    pub fn is_empty(&self) -> bool {
        self.runs.iter().flat_map(|run| &run.steps).all(|step| step.files.is_empty())
    }
}

/// Whether commands in the sandbox could write what no difference shows. A run that cannot be read counts as one.
fn opened(journal: &Arc<dyn Journal>, run: &str) -> Option<Unshown> {
    let run = RunId::new(run).ok();
    let earlier = run.and_then(|run| Earlier::read(&**journal, &run, u64::MAX).ok());
    let facts = earlier.and_then(|earlier| facts_of(journal, &earlier).ok());
    let is_opened = |facts: Facts| facts.touched.is_some_and(|touched| touched.unshown);
    facts.is_none_or(is_opened).then_some(Unshown::Opened)
}
