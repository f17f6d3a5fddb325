//! The verdicts of the last gates of a run as if no key of an output were commentary.

use super::replay::{Reading, replay};
use super::{Frozen, InspectError};
use crate::journal::Journal;
use kb_base::value::RunId;
use kb_core::evidence::Verification;
use kb_core::run::Event;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Most runs, each continued by the next one, that are read for the results which a run has kept.
const RUNS: usize = 20;

/// What the last gate of each instance says of the whole output, computed from the recorded observations: statements
/// that it did not have to read count, too. A result that was kept has the verdict of the run that did the work.
///
/// # Errors
///
/// The run cannot be read.
pub fn whole_verdicts(
    journal: &Arc<dyn Journal>,
    run: &RunId,
) -> Result<BTreeMap<String, Verification>, InspectError> {
    of_run(journal, run, RUNS)
}

fn of_run(
    journal: &Arc<dyn Journal>,
    run: &RunId,
    left: usize,
) -> Result<BTreeMap<String, Verification>, InspectError> {
    let (_, plan) = Frozen::of_run(&**journal, run)?.load()?;
    let events = journal.events(run, 0)?;
    let mut verdicts = BTreeMap::new();
    let mut earlier: BTreeMap<RunId, BTreeMap<String, Verification>> = BTreeMap::new();
    for stored in &events {
        let Event::Kept { kept, .. } = &*stored.event else { continue };
        if left > 0 && !earlier.contains_key(&kept.run) {
            // A run that was removed has no record that could be read.
            let found = of_run(journal, &kept.run, left - 1).unwrap_or_default();
            earlier.insert(kept.run.clone(), found);
        }
        let of = earlier.get(&kept.run).and_then(|own| own.get(&kept.instance));
        verdicts.extend(of.map(|of| (kept.instance.clone(), of.clone())));
    }
    let events = events.iter().map(|stored| (stored.seq, &*stored.event));
    replay(journal, plan, events, Reading::Whole, &mut |judgement| {
        match judgement.again {
            Some(Ok(again)) => verdicts.insert(judgement.name.to_owned(), again),
            Some(Err(_)) | None => verdicts.remove(judgement.name),
        };
    });
    Ok(verdicts)
}
