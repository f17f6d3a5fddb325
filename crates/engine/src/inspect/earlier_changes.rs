//! What the steps of an earlier run changed, for the run that continues it.

use super::{Earlier, Frozen, InspectError};
use crate::engine::{EarlierWork, Folded};
use crate::journal::Journal;
use kb_attempt::KilledWork;
use kb_core::run::Rules;

impl Earlier {
    /// What the run that this one continues recorded and left, and the runs before that one; nothing for a
    /// run without an earlier one.
    pub fn work_of(frozen: &Frozen, journal: &dyn Journal) -> Result<EarlierWork, InspectError> {
        let Some(base) = &frozen.base else { return Ok(EarlierWork::default()) };
        let there = Frozen::of_run(journal, &base.run)?;
        let (_, plan) = there.load()?;
        // A run before it that was removed left no record.
        let mut found = Earlier::work_of(&there, journal).unwrap_or_default();
        let mut events = journal.events(&base.run, 0)?;
        events.retain(|stored| stored.seq <= base.seq);
        let folded = Folded::of(&plan, Rules::default(), &events);
        let last = events.last().map(|stored| stored.at);
        if let Some(at) = journal.last_renewal(&base.run).max(last) {
            for ix in folded.working() {
                let killed = KilledWork { run: base.run.clone(), at };
                found.killed.insert(folded.state.key(&plan, ix).to_string(), killed);
            }
        }
        for (name, changes) in &folded.earlier.all() {
            found.changes.entry(name.clone()).or_default().then(changes);
        }
        Ok(found)
    }
}
