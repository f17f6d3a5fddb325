//! Whether a run is still what was recorded, before something of it is executed again.

use super::InspectError;
use crate::journal::Journal;
use kb_base::value::RunId;

/// Fails if the stored definitions or parameters of a run were changed after they were recorded, or its events do not
/// end with the head of its hash chain. `kb run verify` checks all events.
pub fn require_as_recorded(journal: &dyn Journal, run: &RunId) -> Result<(), InspectError> {
    let ledger = journal.ledger_ends(run)?;
    match ledger.break_of_ends().filter(|_| ledger.keeps_chain) {
        Some(found) => {
            let reason = found.to_string();
            Err(InspectError::NotAsRecorded { run: run.clone(), reason })
        }
        None => Ok(()),
    }
}
