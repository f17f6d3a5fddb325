//! Whether the last commit has what a step changed.

use super::gate::Gate;
use super::observation::{Observation, ObservationQuery, Observations};
use super::recorded_changes::RecordedChanges;
use super::statement::{Act, Statement};

/// Most changed files that are compared with a commit.
const FILES: usize = 200;

/// The query for the files that a step changed, if a statement says that something was committed.
pub(super) fn committed_query(statements: &[Statement], gate: &Gate) -> Option<ObservationQuery> {
    let is_said = statements.iter().any(|said| said.act == Some(Act::Committed));
    is_said.then(|| query(&RecordedChanges::of(&gate.trace, gate.unwatched)))
}

fn query(changes: &RecordedChanges<'_>) -> ObservationQuery {
    ObservationQuery::Committed(changes.changed().take(FILES + 1).map(str::to_owned).collect())
}

/// Whether the last commit has every changed file as it is on disk.
pub(super) fn is_all_committed(changes: &RecordedChanges<'_>, seen: &Observations) -> bool {
    let Some(Observation::Committed(known)) = seen.get(&query(changes)) else { return false };
    changes.changed().count() <= FILES
        && changes.changed().all(|path| known.iter().any(|own| own == path))
}
