//! Results of an earlier run that the gates of a new run judge again, with the recorded calls that they
//! rest on.

use super::{BaseRun, Earlier, Frozen, InspectError};
use crate::engine::{VerifiedResult, VerifiedResults};
use crate::journal::Journal;
use kb_base::value::{Digest, OutcomeKind, RunId, Timestamp};
use kb_core::evidence::{CacheHit, Invocation, Record, ToolTrace};
use kb_core::run::{Event, InstanceIx, KeptResult};
use std::collections::{BTreeMap, BTreeSet};

/// What a run recorded about an instance.
#[derive(Default)]
pub(super) struct Recorded {
    trace: ToolTrace,
    /// Time at which the last attempt ended.
    at: Timestamp,
    /// The run and the instance that did the work, if the last attempt took their result.
    origin: Option<(RunId, String)>,
}

impl Earlier {
    /// The results that a new run verifies again; none for a run without an earlier one.
    pub fn verified_of(
        frozen: &Frozen,
        journal: &dyn Journal,
    ) -> Result<VerifiedResults, InspectError> {
        let base = frozen.base.as_ref().filter(|base| !base.verify.is_empty());
        let Some(base) = base else { return Ok(VerifiedResults::new()) };
        Earlier::read(journal, &base.run, base.seq)?.verified_results(journal, base)
    }

    /// The results that a run which is based on this one verifies again, by the name of the instance. An
    /// instance whose last attempt did not end with a result has none.
    pub fn verified_results(
        &self,
        journal: &dyn Journal,
        base: &BaseRun,
    ) -> Result<VerifiedResults, InspectError> {
        let mut chosen: BTreeMap<String, KeptResult> = BTreeMap::new();
        for (id, _) in &base.verify {
            let Some(step) = self.plan.find(id.as_str()) else { continue };
            let own = InstanceIx(step.0);
            let items = self.state.instance(own).items();
            let all = items.map_or_else(|| vec![own], |items| items.all().collect());
            for ix in all {
                let has_result = self.state.instance(ix).outcome == Some(OutcomeKind::Ok);
                let result = self.kept.get(&ix).cloned().or_else(|| self.own_result(ix));
                let name = self.state.key(&self.plan, ix).to_string();
                chosen.extend(result.filter(|_| has_result).map(|result| (name, result)));
            }
        }
        let mut by_run: BTreeMap<&RunId, BTreeSet<&str>> = BTreeMap::new();
        for result in chosen.values() {
            by_run.entry(&result.run).or_default().insert(&result.instance);
        }
        let mut recorded: BTreeMap<(RunId, String), Recorded> = BTreeMap::new();
        for (run, names) in by_run {
            // The record of a run that was removed cannot be judged again.
            let Ok(found) = recorded_by(journal, run, &names, &mut |_| {}) else { continue };
            recorded.extend(found.into_iter().map(|(name, found)| ((run.clone(), name), found)));
        }
        let with_record = |(name, result): (String, KeptResult)| {
            let key = (result.run.clone(), result.instance.clone());
            let Recorded { trace, at, origin } = recorded.remove(&key)?;
            let (run, instance) = origin.unwrap_or(key);
            let hit = CacheHit {
                key: result.head.unwrap_or_else(|| Digest::of(&result.instance)),
                run,
                instance,
                at,
                usage: Default::default(),
                duration_ms: 0,
                files: 0,
                restored: Vec::new(),
                kept: true,
                trace: trace.invocations().to_vec(),
            };
            Some((name, VerifiedResult { hit, result }))
        };
        Ok(chosen.into_iter().filter_map(with_record).collect())
    }
}

/// The end of an attempt, with what the instance had recorded until then.
pub(super) struct EndedAttempt<'a> {
    /// Name of the instance.
    pub(super) name: String,
    /// The recorded calls.
    pub(super) calls: &'a [Invocation],
    /// The event `attemptEnded`.
    pub(super) event: &'a Event,
}

/// What a run recorded about these instances. `ended` receives the end of each of their attempts.
pub(super) fn recorded_by(
    journal: &dyn Journal,
    run: &RunId,
    names: &BTreeSet<&str>,
    ended: &mut dyn FnMut(EndedAttempt<'_>),
) -> Result<BTreeMap<String, Recorded>, InspectError> {
    let mut there = Earlier::read(journal, run, 0)?;
    let mut all: BTreeMap<InstanceIx, Recorded> = BTreeMap::new();
    for stored in journal.events(run, 0)? {
        there.add(&stored);
        match &*stored.event {
            Event::Recorded { instance, record, .. } => {
                let own = all.entry(*instance).or_default();
                match &**record {
                    Record::CacheHit(hit) => {
                        own.trace.take(&hit.trace);
                        own.origin = hit.kept.then(|| (hit.run.clone(), hit.instance.clone()));
                    }
                    other => other.calls().iter().for_each(|call| own.trace.push(call.clone())),
                }
            }
            Event::Started { instance, .. } => all.entry(*instance).or_default().origin = None,
            Event::AttemptEnded { instance, .. } => {
                let own = all.entry(*instance).or_default();
                own.trace.end_attempt();
                own.at = stored.at;
                let name = there.state.key(&there.plan, *instance).to_string();
                if names.contains(name.as_str()) {
                    let calls = own.trace.invocations();
                    ended(EndedAttempt { name, calls, event: &stored.event });
                }
            }
            Event::RunResumed { in_flight, .. } => {
                for ix in in_flight {
                    all.entry(*ix).and_modify(|own| own.trace.interrupt());
                }
            }
            Event::Reset { closure, .. } | Event::SentBack { closure, .. } => {
                closure.iter().for_each(|ix| drop(all.remove(ix)));
            }
            _ => {}
        }
    }
    let named = all.into_iter().filter_map(|(ix, recorded)| {
        let name = there.state.key(&there.plan, ix).to_string();
        names.contains(name.as_str()).then_some((name, recorded))
    });
    Ok(named.collect())
}
