//! Compares the results that a run kept of earlier runs with the records of those runs.

use super::Audit;
use crate::inspect::verified::{EndedAttempt, recorded_by};
use crate::inspect::{Earlier, InspectError};
use crate::journal::{Journal, JournalError};
use kb_base::diagnostic::Code;
use kb_base::value::RunId;
use kb_core::evidence::{CacheHit, Payload, Record};
use kb_core::run::{Event, InstanceIx, KeptResult};
use std::collections::{BTreeMap, BTreeSet};

/// A result of an earlier run that a gate of the audited run judged again.
struct Judged<'e> {
    /// Number of the event with which the attempt took it.
    seq: u64,
    hit: &'e CacheHit,
    output: &'e Option<Payload>,
    streams: &'e Option<Payload>,
}

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
        self.judged(journal, events);
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
                Err(error) => self.unreadable(run, &error),
            }
        }
    }

    /// Checks every result that a gate judged again: an attempt of the earlier run must have ended with
    /// the same result and the same recorded calls.
    fn judged(&mut self, journal: &dyn Journal, events: &[(u64, Event)]) {
        let mut by_run: BTreeMap<&RunId, Vec<Judged<'_>>> = BTreeMap::new();
        for judged in judged_in(events) {
            by_run.entry(&judged.hit.run).or_default().push(judged);
        }
        for (run, all) in by_run {
            if matches!(journal.run(run), Err(JournalError::NoRun(_))) {
                self.kept_of_removed += all.len() as u64;
                continue;
            }
            let names: BTreeSet<&str> = all.iter().map(|one| one.hit.instance.as_str()).collect();
            let mut same: BTreeSet<u64> = BTreeSet::new();
            let read = recorded_by(journal, run, &names, &mut |ended| {
                same.extend(all.iter().filter(|one| one.is(&ended)).map(|one| one.seq));
            });
            if let Err(error) = read {
                self.unreadable(run, &error);
                continue;
            }
            for Judged { seq, hit, .. } in all {
                if same.contains(&seq) {
                    self.kept += 1;
                    continue;
                }
                let message = format!(
                    "the result of `{}`, which a gate of this run judged again, is not one that run `{run}` recorded",
                    hit.instance
                );
                self.fault(Code::RECORD_INCONSISTENT, Some(seq), message);
            }
        }
    }

    fn unreadable(&mut self, run: &RunId, error: &InspectError) {
        let message = format!("run `{run}`, whose results were kept, cannot be read: {error}");
        self.fault(Code::RECORD_INCONSISTENT, None, message);
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

impl Judged<'_> {
    fn is(&self, ended: &EndedAttempt<'_>) -> bool {
        let Event::AttemptEnded { output, streams, .. } = ended.event else { return false };
        ended.name == self.hit.instance
            && (output, streams) == (self.output, self.streams)
            && ended.calls == self.hit.trace
    }
}

/// The results of earlier runs with which attempts ended. An attempt that was interrupted has none.
fn judged_in(events: &[(u64, Event)]) -> Vec<Judged<'_>> {
    let mut open: BTreeMap<InstanceIx, (u64, &CacheHit)> = BTreeMap::new();
    let mut found = Vec::new();
    for (seq, event) in events {
        match event {
            Event::Recorded { instance, record, .. } => {
                if let Record::CacheHit(hit) = &**record
                    && hit.kept
                {
                    open.insert(*instance, (*seq, &**hit));
                }
            }
            Event::Started { instance, .. } => drop(open.remove(instance)),
            Event::AttemptEnded { instance, output, streams, .. } => {
                let taken = open.remove(instance);
                found.extend(taken.map(|(seq, hit)| Judged { seq, hit, output, streams }));
            }
            _ => {}
        }
    }
    found
}
