//! An earlier run as the base of a new one: its state, the results of its steps with the place where
//! each was recorded, and the files that its steps read.

use super::BaseRun;
use super::file_facts::{FileFacts, FilesNow};
use super::{Frozen, InspectError};
use crate::journal::{Journal, StoredEvent};
use kb_base::value::{Digest, RunId, StepId, Timestamp};
use kb_core::evidence::Handoff;
use kb_core::run::{Event, Instance, InstanceIx, KeptItems, KeptResult, Preset, State, StepStatus};
use kb_language::definition::{Catalog, StepTexts, content_digest};
use kb_language::plan::{Plan, StepIx};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

/// An earlier run, read up to one of its events.
pub struct Earlier {
    /// Its id.
    pub run: RunId,
    /// The definitions and values that it was started with.
    pub frozen: Frozen,
    /// Its definitions.
    pub catalog: Catalog,
    /// The plan of the definitions that it froze.
    pub plan: Arc<Plan>,
    /// Its state after the last event that was read.
    pub state: State,
    /// Number of that event.
    pub seq: u64,
    /// Head of the hash chain up to that event.
    pub head: Option<Digest>,
    /// Time of that event.
    pub(super) last_at: Option<Timestamp>,
    /// Where each instance ended.
    ends: BTreeMap<InstanceIx, (u64, Option<Digest>)>,
    /// Results that this run kept from a run before it.
    pub(super) kept: BTreeMap<InstanceIx, KeptResult>,
    /// What the last attempt of each instance passed on.
    handoffs: BTreeMap<InstanceIx, Box<Handoff>>,
    pub(super) files: FileFacts,
    /// What the runs before tell about the results that this run kept, once it was read.
    before: OnceLock<Vec<KeptFacts>>,
}

/// The instances whose results a run kept, each with the one that executed it in a run before, and what that run tells about files.
pub(super) type KeptFacts = (Vec<(InstanceIx, InstanceIx)>, FileFacts);

impl Earlier {
    /// Reads a run up to the event with this number, or up to its last one.
    pub fn read(journal: &dyn Journal, run: &RunId, up_to: u64) -> Result<Earlier, InspectError> {
        let frozen = Frozen::of_run(journal, run)?;
        let (catalog, plan) = frozen.load()?;
        let rules = frozen.rules(catalog.settings.undecided());
        let state = State::new(&plan, rules);
        let (ends, kept, handoffs, files, before) = Default::default();
        let (run, seq, head, last_at) = (run.clone(), 0, None, None);
        let mut earlier = Earlier {
            run,
            frozen,
            catalog,
            plan,
            state,
            seq,
            head,
            last_at,
            ends,
            kept,
            handoffs,
            files,
            before,
        };
        for stored in journal.events(&earlier.run, 0)? {
            if stored.seq > up_to {
                break;
            }
            earlier.add(&stored);
        }
        Ok(earlier)
    }

    /// The results that a run recorded with these events, by the number of the event.
    pub(super) fn results_at(
        journal: &dyn Journal,
        run: &RunId,
        seqs: &BTreeSet<u64>,
    ) -> Result<BTreeMap<u64, KeptResult>, InspectError> {
        let mut earlier = Earlier::read(journal, run, 0)?;
        let mut found = BTreeMap::new();
        for stored in journal.events(run, 0)? {
            earlier.add(&stored);
            if let Event::Ended { instance, .. } = &*stored.event
                && seqs.contains(&stored.seq)
            {
                found.extend(earlier.any_result(*instance).map(|result| (stored.seq, result)));
            }
        }
        Ok(found)
    }

    pub(super) fn add(&mut self, stored: &StoredEvent) {
        self.state.apply(&self.plan, stored.at, &stored.event);
        (self.seq, self.head, self.last_at) = (stored.seq, stored.digest, Some(stored.at));
        match &*stored.event {
            Event::Ended { instance, .. } => {
                self.ends.insert(*instance, (stored.seq, stored.digest));
            }
            Event::AttemptEnded { instance, handoff, .. } => match handoff {
                Some(handoff) => drop(self.handoffs.insert(*instance, handoff.clone())),
                None => drop(self.handoffs.remove(instance)),
            },
            Event::Kept { instance, kept } => {
                self.kept.insert(*instance, (**kept).clone());
            }
            Event::Reset { closure, .. } | Event::SentBack { closure, .. } => {
                closure.iter().for_each(|ix| {
                    self.ends.remove(ix);
                    self.kept.remove(ix);
                    self.files.read.remove(ix);
                    self.files.written.remove(ix);
                })
            }
            Event::Recorded { instance, record, .. } => {
                record.calls().iter().for_each(|call| self.files.add(*instance, call));
            }
            _ => {}
        }
    }

    /// The steps as they are written in the definition of the run.
    pub fn texts(&self) -> StepTexts {
        let path = &self.plan.playbook().path;
        let inputs = self.frozen.inputs();
        inputs.iter().find(|file| file.path == *path).map(StepTexts::of).unwrap_or_default()
    }

    /// Digests of the content of the run's definition files, by path.
    pub fn file_digests(&self) -> BTreeMap<String, Digest> {
        let inputs = self.frozen.inputs();
        inputs.iter().map(|file| (file.path.clone(), content_digest(file))).collect()
    }

    /// Of each step that read files with its tools: a file that is different now.
    pub fn changed_reads(
        &self,
        journal: &dyn Journal,
        now: &dyn FilesNow,
    ) -> BTreeMap<StepIx, String> {
        let before = self.before(journal);
        let own = self.files.read.iter().map(|(ix, paths)| (*ix, paths, &self.files));
        let earlier = before.iter().flat_map(|(instances, facts)| {
            let read = move |(ix, there): &(InstanceIx, InstanceIx)| {
                Some((*ix, facts.read.get(there)?, facts))
            };
            instances.iter().filter_map(read)
        });
        let mut found = BTreeMap::new();
        for (ix, paths, facts) in own.chain(earlier) {
            let last = |path: &String| self.files.last.get(path).or_else(|| facts.last.get(path));
            let differs = |path: &&String| now.digest(path) != last(path).copied().flatten();
            let step = self.state.instance(ix).step;
            paths.iter().find(differs).and_then(|path| found.insert(step, path.clone()));
        }
        found
    }

    /// For the results that this run kept itself: their instances here and in the run that executed
    /// them, with what that run tells about files. A run that was removed tells nothing. Read once.
    pub(super) fn before(&self, journal: &dyn Journal) -> &[KeptFacts] {
        self.before.get_or_init(|| self.read_before(journal))
    }

    fn read_before(&self, journal: &dyn Journal) -> Vec<KeptFacts> {
        let runs: BTreeSet<&RunId> = self.kept.values().map(|kept| &kept.run).collect();
        let facts = |run: &RunId| {
            let there = Earlier::read(journal, run, u64::MAX).ok()?;
            let names: BTreeMap<String, InstanceIx> = there
                .state
                .instances()
                .map(|(ix, _)| (there.state.key(&there.plan, ix).to_string(), ix))
                .collect();
            let kept = self.kept.iter().filter(|(_, kept)| kept.run == *run);
            let pairs = kept.filter_map(|(ix, kept)| Some((*ix, *names.get(&kept.instance)?)));
            Some((pairs.collect(), there.files))
        };
        runs.into_iter().filter_map(facts).collect()
    }

    /// What is decided about the steps of a new run before it starts: results of an earlier run, and
    /// skipped steps.
    pub fn presets_of(
        frozen: &Frozen,
        journal: &dyn Journal,
        plan: &Plan,
    ) -> Result<Vec<Preset>, InspectError> {
        let skipped = frozen.skip.iter().filter_map(|id| plan.find(id.as_str()));
        let mut presets: Vec<Preset> = skipped.map(Preset::Skipped).collect();
        if let Some(base) = &frozen.base {
            presets.extend(base.revision.clone().map(Preset::Revised));
            let earlier = Earlier::read(journal, &base.run, base.seq)?;
            presets.extend(earlier.presets(plan, base));
        }
        Ok(presets)
    }

    /// The presets of a new run with this plan that is based on this run.
    pub fn presets(&self, now: &Plan, base: &BaseRun) -> Vec<Preset> {
        let keep: BTreeSet<&StepId> = base.keep.iter().collect();
        let verified: BTreeSet<&StepId> = base.verify.iter().map(|(id, _)| id).collect();
        let expanded = now.iter().filter_map(|(ix, planned)| {
            let id = Some(&planned.step.id).filter(|id| verified.contains(id))?;
            let old = InstanceIx(self.plan.find(id.as_str())?.0);
            let items = self.items(old, self.state.instance(old))?;
            let results = vec![None; items.results.len()];
            Some(Preset::Items(ix, Box::new(KeptItems { results, whole: None, ..items })))
        });
        let steps = now.iter().filter(|(_, planned)| keep.contains(&planned.step.id));
        let preset = |(ix, id): (StepIx, &StepId)| {
            let old = InstanceIx(self.plan.find(id.as_str())?.0);
            let instance = self.state.instance(old);
            match instance.items() {
                None => Some(Preset::Kept(ix, Box::new(self.result(old)?))),
                Some(_) => Some(Preset::Items(ix, Box::new(self.items(old, instance)?))),
            }
        };
        steps.filter_map(|(ix, planned)| preset((ix, &planned.step.id))).chain(expanded).collect()
    }

    fn items(&self, step: InstanceIx, instance: &Instance) -> Option<KeptItems> {
        let items = instance.items()?;
        let key = |ix| self.state.instance(ix).item.as_ref().map(|item| item.key().into_owned());
        let whole = self.result(step);
        // The items of a step that succeeded do not run again, not even those whose failure it
        // tolerated.
        let result = |ix| match whole {
            Some(_) => self.any_result(ix),
            None => self.result(ix),
        };
        Some(KeptItems {
            keys: items.all().filter_map(key).collect(),
            items: items.values.clone(),
            keyed: items.keyed,
            results: items.all().map(result).collect(),
            whole: whole.clone(),
        })
    }

    /// The result of an instance that succeeded or was skipped.
    fn result(&self, ix: InstanceIx) -> Option<KeptResult> {
        self.any_result(ix).filter(|kept| kept.status != StepStatus::Failed)
    }

    /// The result of an instance that succeeded or was skipped, or whose failure was tolerated.
    fn any_result(&self, ix: InstanceIx) -> Option<KeptResult> {
        let instance = self.state.instance(ix);
        let usable = match instance.status {
            StepStatus::Succeeded | StepStatus::Skipped => true,
            StepStatus::Failed => instance.tolerated,
            StepStatus::Pending
            | StepStatus::Ready
            | StepStatus::Running
            | StepStatus::Verifying
            | StepStatus::Waiting
            | StepStatus::Blocked
            | StepStatus::Cancelled => false,
        };
        if let Some(kept) = self.kept.get(&ix).filter(|_| usable) {
            return Some(kept.clone());
        }
        self.own_result(ix).filter(|_| usable)
    }

    /// The result that the run itself recorded, whatever its status.
    pub(super) fn own_result(&self, ix: InstanceIx) -> Option<KeptResult> {
        let instance = self.state.instance(ix);
        let (seq, head) = *self.ends.get(&ix)?;
        Some(KeptResult {
            run: self.run.clone(),
            instance: self.state.key(&self.plan, ix).to_string(),
            seq,
            head,
            status: instance.status,
            attempts: instance.attempt,
            outcome: instance.outcome,
            output: instance.output.as_ref().map(|output| output.payload()),
            streams: instance.streams.as_ref().map(|streams| streams.payload()),
            verification: instance.verification().cloned(),
            failure: instance.failure().filter(|_| instance.tolerated).cloned(),
            handoff: self.handoffs.get(&ix).cloned(),
            child_verdicts: instance.child_verdicts(),
        })
    }
}
