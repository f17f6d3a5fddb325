//! Follows the runs of fires: their ends, their interruptions, and processes that started no run.

use super::served::ServedProject;
use super::starts::{Processes, is_passing, take_errors};
use kb_base::value::{RunId, Timestamp};
use kb_core::run::RunStatus;
use kb_engine::journal::JournalError;
use kb_language::definition::RunEnd;
use kb_service::service::ServiceError;
use kb_service::trigger::{Fire, FireState};

/// How often the process of a run is started before the daemon gives up: a run that ends its process
/// every time would otherwise start for ever.
const ATTEMPTS: u32 = 5;

/// What the daemon has to do for a fire whose run has not ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Nothing: its process runs, or it waits for a person.
    Wait,
    /// Its process was never started, or ended before it created the run.
    Start,
    /// Its process was killed.
    Resume,
    /// Its process could do nothing, for a reason that passes by itself.
    Delay {
        /// What the process said.
        said: String,
        /// Whether the run exists.
        exists: bool,
    },
    /// It has ended and was recorded.
    Done,
}

/// Reads the status of the run of a started fire, and records its end.
pub(super) fn follow(
    served: &ServedProject,
    processes: &Processes,
    fire: &Fire,
    run: &RunId,
    ended_now: bool,
    now: Timestamp,
) -> Result<Next, ServiceError> {
    let status = match served.journal.run(run) {
        Ok(row) => Some(row.status),
        Err(JournalError::NoRun(_)) => None,
        Err(error) => return Err(error.into()),
    };
    let end = match status {
        Some(RunStatus::Succeeded) => RunEnd::Succeeded,
        Some(RunStatus::Failed) => RunEnd::Failed,
        Some(RunStatus::Cancelled) => RunEnd::Cancelled,
        Some(RunStatus::Running | RunStatus::Waiting) => return Ok(Next::Wait),
        Some(RunStatus::Interrupted) if processes.has(run) => return Ok(Next::Wait),
        None if processes.has(run) => return Ok(Next::Wait),
        Some(RunStatus::Interrupted) => {
            let said = if ended_now { take_errors(&served.context, run) } else { String::new() };
            if is_passing(&said) {
                return Ok(Next::Delay { said, exists: true });
            }
            return give_up(served, fire, run, now)
                .map(|gave_up| if gave_up { Next::Done } else { Next::Resume });
        }
        None => {
            let reason = take_errors(&served.context, run);
            if ended_now && is_passing(&reason) {
                return Ok(Next::Delay { said: reason, exists: false });
            }
            if ended_now && !reason.is_empty() {
                let reason = format!("the run did not start: {reason}");
                let state = FireState::Ended(RunEnd::Failed);
                served.store.ended(fire, state, Some(&reason), now)?;
                return Ok(Next::Done);
            }
            return give_up(served, fire, run, now)
                .map(|gave_up| if gave_up { Next::Done } else { Next::Start });
        }
    };
    take_errors(&served.context, run);
    served.store.ended(fire, FireState::Ended(end), None, now)?;
    Ok(Next::Done)
}

fn give_up(
    served: &ServedProject,
    fire: &Fire,
    run: &RunId,
    now: Timestamp,
) -> Result<bool, ServiceError> {
    if fire.attempts < ATTEMPTS {
        return Ok(false);
    }
    let reason = format!(
        "its process ended {ATTEMPTS} times before the run did; `kb run resume {run}` continues it"
    );
    served.store.ended(fire, FireState::Ended(RunEnd::Failed), Some(&reason), now)?;
    Ok(true)
}
