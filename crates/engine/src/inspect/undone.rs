//! Work of an earlier run, or of one that continues, that is not in the project any more.

use super::Earlier;
use super::earlier::KeptFacts;
use super::file_facts::{FileFacts, FilesNow};
use crate::journal::Journal;
use kb_base::value::{Digest, Timestamp};
use kb_core::run::{InstanceIx, StepStatus};
use kb_core::verify::ReliedFact;
use kb_language::definition::MergePolicy;
use kb_language::plan::StepIx;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Time from the last sign of life of a run to the end of what its processes changed, at most.
const SLACK: Duration = Duration::from_secs(2);

impl Earlier {
    /// Of each instance whose changes are in the project: a file whose change was undone, because it is gone or has the content
    /// or the mode of before again. Also a file of which a `file` check of its gate does not hold any more, unless a step after
    /// it succeeded: that one can have used it up. A step with a child run has the changes of that run.
    pub fn undone_files(
        &self,
        journal: &dyn Journal,
        now: &dyn FilesNow,
    ) -> BTreeMap<InstanceIx, String> {
        self.undone(journal, now, &|_| true)
    }

    /// A change of a run that has not ended, or of a child run that its steps wait for, that was undone after its last sign of
    /// life: the name of the step, and the file. What changed before then can be the work of a process that was killed.
    pub fn undone_since_it_stopped(
        &self,
        journal: &dyn Journal,
        now: &dyn FilesNow,
    ) -> Option<(String, String)> {
        let alive = journal.last_renewal(&self.run).max(self.last_at)?;
        let is_later = |path: &str| is_after(now.changed_at(path), alive);
        let found = self.undone(journal, now, &is_later).into_iter();
        // Changes of items in files of their own are merged when all have ended.
        let is_merged = |ix: &InstanceIx| {
            let instance = self.state.instance(*ix);
            let isolated = self.plan.step(instance.step).isolation().is_some();
            let parent = instance.item.as_ref().map(|item| self.state.instance(item.parent));
            !isolated || parent.is_none_or(|parent| parent.status == StepStatus::Succeeded)
        };
        if let Some((ix, path)) = found.into_iter().find(|(ix, _)| is_merged(ix)) {
            return Some((self.state.key(&self.plan, ix).to_string(), path));
        }
        let open = self.state.instances().filter(|(_, instance)| {
            !instance.status.has_ended() && self.plan.step(instance.step).isolation().is_none()
        });
        let below = open.filter_map(|(_, instance)| instance.child());
        below
            .filter_map(|child| Earlier::read(journal, &child.run, u64::MAX).ok())
            .find_map(|below| below.undone_since_it_stopped(journal, now))
    }

    /// Of each step with a verdict: a file that it, or of a `gate` step a step before it, changed, and that has another content
    /// now than the run left. What changed before the run ended can be the work of a step without a record.
    pub fn edited_files(
        &self,
        journal: &dyn Journal,
        now: &dyn FilesNow,
    ) -> BTreeMap<StepIx, String> {
        let Some(end) = self.last_at else { return BTreeMap::new() };
        let before = self.before(journal);
        let mut edited: BTreeMap<StepIx, &String> = BTreeMap::new();
        for (ix, _, paths, facts) in self.written(before) {
            let differs = |path: &&String| {
                let left = self.left_digest(path, facts);
                let is_edited =
                    |left| is_after(now.changed_at(path), end) && now.digest(path) != left;
                left.is_some_and(is_edited)
            };
            if let Some(path) = paths.iter().find(differs) {
                edited.entry(self.state.instance(ix).step).or_insert(path);
            }
        }
        let judged = self.plan.iter().filter(|(ix, _)| {
            let instance = self.state.instance(InstanceIx(ix.0));
            instance.status == StepStatus::Succeeded && instance.verification().is_some()
        });
        let read = |ix| {
            if self.is_gate(ix) {
                self.reached(ix, |own| self.plan.dependencies(own).map(|d| d.on).collect())
            } else {
                BTreeSet::from([ix])
            }
        };
        let found = judged.filter_map(|(ix, _)| {
            let path = read(ix).iter().find_map(|step| edited.get(step).copied())?;
            Some((ix, path.clone()))
        });
        found.collect()
    }

    /// Whether a step is a gate, which can judge again what was edited.
    pub fn is_gate(&self, step: StepIx) -> bool {
        self.plan.step(step).step.kind.checks().is_some()
    }

    fn undone(
        &self,
        journal: &dyn Journal,
        now: &dyn FilesNow,
        counts: &dyn Fn(&str) -> bool,
    ) -> BTreeMap<InstanceIx, String> {
        let before = self.before(journal);
        let mut found = BTreeMap::new();
        for (ix, there, paths, facts) in self.written(before) {
            let is_undone = |path: &&String| {
                facts.is_undone(there, path, self.left_digest(path, facts).flatten(), now)
                    && counts(path)
            };
            if let Some(path) = paths.iter().find(is_undone) {
                found.insert(ix, path.clone());
            }
        }
        for (ix, instance) in self.state.instances().filter(|(ix, _)| self.is_in_project(*ix)) {
            let Some(child) = instance.child() else { continue };
            // A run that was removed tells nothing.
            let Ok(below) = Earlier::read(journal, &child.run, u64::MAX) else { continue };
            if let Some(path) = below.undone(journal, now, counts).into_values().next() {
                found.entry(ix).or_insert(path);
            }
        }
        let differs = |fact: &ReliedFact| match fact {
            ReliedFact::Exists(path) => now.mode(path).is_none(),
            ReliedFact::Check(check) => !now.meets(check),
            // Other steps, and people, may build on it.
            ReliedFact::Content { .. } => false,
        };
        for (ix, instance) in self.state.instances() {
            if found.contains_key(&ix) || !self.is_in_project(ix) || self.is_used(instance.step) {
                continue;
            }
            let mut facts = instance.verification().into_iter().flat_map(ReliedFact::of);
            if let Some(fact) = facts.find(|fact| differs(fact) && counts(fact.path())) {
                found.insert(ix, fact.path().to_owned());
            }
        }
        found
    }

    /// The instances whose changes are in the project, each with the one that executed it in the run of its record, the paths
    /// that it changed, and the record.
    fn written<'a>(
        &'a self,
        before: &'a [KeptFacts],
    ) -> impl Iterator<Item = (InstanceIx, InstanceIx, &'a BTreeSet<String>, &'a FileFacts)> {
        let own = self.files.written.iter().map(|(ix, paths)| (*ix, *ix, paths, &self.files));
        let earlier = before.iter().flat_map(|(instances, facts)| {
            let written = move |(ix, there): &(InstanceIx, InstanceIx)| {
                Some((*ix, *there, facts.written.get(there)?, facts))
            };
            instances.iter().filter_map(written)
        });
        own.chain(earlier).filter(|(ix, ..)| self.is_in_project(*ix))
    }

    /// The digest of the content that the run, or the one with this record, left in a file: `Some(None)` if it left none, and
    /// `None` if that is not known.
    fn left_digest(&self, path: &String, facts: &FileFacts) -> Option<Option<Digest>> {
        self.files.last.get(path).or_else(|| facts.last.get(path)).copied()
    }

    /// Whether an instance succeeded and its changes are in the project.
    fn is_in_project(&self, ix: InstanceIx) -> bool {
        let instance = self.state.instance(ix);
        let isolation = self.plan.step(instance.step).isolation();
        instance.status == StepStatus::Succeeded
            && isolation.is_none_or(|isolation| isolation.merge != MergePolicy::None)
    }

    /// Whether a step succeeded that depends on this one.
    pub fn is_used(&self, step: StepIx) -> bool {
        let after = self.reached(step, |own| self.plan.dependents(own).map(|d| d.step).collect());
        let status = |step: &StepIx| self.state.instance(InstanceIx(step.0)).status;
        after.iter().any(|step| status(step) == StepStatus::Succeeded)
    }

    /// The steps that a relation leads to from one, which is not among them.
    fn reached(&self, from: StepIx, next: impl Fn(StepIx) -> Vec<StepIx>) -> BTreeSet<StepIx> {
        let (mut found, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(step) = open.pop() {
            open.extend(next(step).into_iter().filter(|step| found.insert(*step)));
        }
        found
    }
}

/// Whether a file changed so late that no process of a run changed it that ended, or last lived, then.
fn is_after(changed: Option<Timestamp>, end: Timestamp) -> bool {
    changed.is_some_and(|at| at > end.after(SLACK))
}
