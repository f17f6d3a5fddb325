//! Compares the results that a run kept of earlier runs with the records of those runs.

use super::Audit;
use crate::diagnostic::Code;
use crate::inspect::Earlier;
use crate::journal::{Journal, JournalError};
use crate::run::{Event, KeptResult};
use crate::value::RunId;
use std::collections::BTreeMap;

impl Audit {
    /// Checks every result that was kept: the event of the earlier run that it refers to must exist,
    /// with the same head of the hash chain and the same result. Results of runs that were removed
    /// are counted.
    pub(super) fn kept(&mut self, journal: &dyn Journal, events: &[(u64, Event)]) {
        let mut by_run: BTreeMap<&RunId, Vec<(u64, &KeptResult)>> = BTreeMap::new();
        for (seq, event) in events {
            if let Event::Kept { kept, .. } = event {
                by_run.entry(&kept.run).or_default().push((*seq, kept));
            }
        }
        for (run, all) in by_run {
            if matches!(journal.run(run), Err(JournalError::NoRun(_))) {
                self.kept_of_removed += all.len() as u64;
                continue;
            }
            let seqs = all.iter().map(|(_, kept)| kept.seq).collect();
            match Earlier::results_at(journal, run, &seqs) {
                Ok(found) => all.iter().for_each(|(seq, kept)| {
                    let same = found.get(&kept.seq).is_some_and(|found| {
                        found.head == kept.head
                            && found.instance == kept.instance
                            && found.agrees_with(kept)
                    });
                    self.note_kept(*seq, kept, same);
                }),
                Err(error) => {
                    let message =
                        format!("run `{run}`, whose results were kept, cannot be read: {error}");
                    self.fault(Code::RECORD_INCONSISTENT, None, message);
                }
            }
        }
    }

    fn note_kept(&mut self, seq: u64, kept: &KeptResult, same: bool) {
        if same {
            self.kept += 1;
            return;
        }
        let KeptResult { run, instance, .. } = kept;
        let message = format!(
            "the result of `{instance}` is not the one that event {} of run `{run}` recorded",
            kept.seq
        );
        self.fault(Code::RECORD_INCONSISTENT, Some(seq), message);
    }
}
