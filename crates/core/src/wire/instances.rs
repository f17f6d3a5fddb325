//! The states of step instances, folded from stored events.

use super::event::InstanceRef;
use super::instance_reason;
use crate::evidence::{Payload, Verdict};
use crate::run::{InstanceIx, Item, StepStatus};
use kb_base::value::{Failure, InstanceKey, OutcomeKind, StepId, Timestamp, Usage};
use kb_language::plan::{Plan, PlanStep, StepIx};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// State of one step instance, as far as the translation of later events needs it.
#[derive(Debug, Clone)]
pub(super) struct InstanceProgress {
    step: StepIx,
    item: Option<Item>,
    pub(super) iteration: u32,
    pub(super) attempt: u32,
    pub(super) status: StepStatus,
    active: Option<Box<ActiveInstance>>,
}

/// State of a step instance from its first event until it ends.
#[derive(Debug, Clone)]
pub(super) struct ActiveInstance {
    name: Arc<str>,
    pub(super) began: Option<Timestamp>,
    pub(super) attempt_began: Option<Timestamp>,
    /// Nothing while it waits, as thousands of steps can at the same time.
    work: Option<Box<Work>>,
}

// Each step that waits for a person has one.
const _: () = assert!(size_of::<ActiveInstance>() <= 56);

/// What the attempts of a step instance did so far.
#[derive(Debug, Clone)]
pub(super) struct Work {
    pub(super) usage: Usage,
    pub(super) output: Option<Box<Payload>>,
    pub(super) failure: Option<Box<Failure>>,
    /// Outcome of the last attempt.
    pub(super) outcome: Option<OutcomeKind>,
    pub(super) verdict: Option<Verdict>,
    pub(super) stdout_cut: Option<u64>,
    /// Tier that an escalation chose for its attempts.
    pub(super) tier: Option<&'static str>,
    /// Number of escalations.
    pub(super) escalations: u32,
    /// Specialist that recovery switched to.
    pub(super) specialist: Option<String>,
}

impl Default for Work {
    fn default() -> Work {
        Work {
            usage: Usage::NONE,
            output: None,
            failure: None,
            outcome: None,
            verdict: None,
            stdout_cut: None,
            tier: None,
            escalations: 0,
            specialist: None,
        }
    }
}

impl ActiveInstance {
    fn of(name: Arc<str>) -> ActiveInstance {
        ActiveInstance { name, began: None, attempt_began: None, work: None }
    }

    /// What its attempts did, to be changed.
    pub(super) fn work(&mut self) -> &mut Work {
        self.work.get_or_insert_default()
    }

    /// What its attempts did; `None` if nothing is known.
    pub(super) fn worked(&self) -> Option<&Work> {
        self.work.as_deref()
    }

    /// What its attempts did, at its end.
    pub(super) fn into_work(self) -> Work {
        self.work.map(|work| *work).unwrap_or_default()
    }
}

impl InstanceProgress {
    fn new(step: StepIx, item: Option<Item>, iteration: u32) -> InstanceProgress {
        let status = StepStatus::Pending;
        InstanceProgress { step, item, iteration, attempt: 0, status, active: None }
    }

    /// Starts the next iteration; the state of the last one is dropped.
    fn restart(&mut self) {
        *self = InstanceProgress::new(self.step, self.item.take(), self.iteration + 1);
    }

    fn name(&self, id: &StepId) -> Arc<str> {
        match (&self.active, &self.item) {
            (Some(active), _) => active.name.clone(),
            (None, Some(item)) => InstanceKey::item(id.clone(), item.key()).to_string().into(),
            (None, None) => id.shared(),
        }
    }
}

/// The states of all step instances of a run.
#[derive(Debug, Clone)]
pub(super) struct InstanceTable {
    plan: Arc<Plan>,
    instances: Vec<InstanceProgress>,
}

impl InstanceTable {
    pub(super) fn of(plan: Arc<Plan>) -> InstanceTable {
        let steps = (0..plan.steps().len() as u32).map(StepIx);
        let instances = steps.map(|step| InstanceProgress::new(step, None, 1)).collect();
        InstanceTable { plan, instances }
    }

    pub(super) fn get_mut(&mut self, ix: InstanceIx) -> Option<&mut InstanceProgress> {
        self.instances.get_mut(ix.at())
    }

    /// The state of an instance that has not ended.
    pub(super) fn active(&mut self, ix: InstanceIx) -> Option<&mut ActiveInstance> {
        let progress = self.instances.get_mut(ix.at())?;
        if progress.active.is_none() {
            let name = progress.name(&self.plan.step(progress.step).step.id);
            progress.active = Some(Box::new(ActiveInstance::of(name)));
        }
        progress.active.as_deref_mut()
    }

    /// Ends an instance and returns its state.
    pub(super) fn end(
        &mut self,
        ix: InstanceIx,
        status: StepStatus,
    ) -> Option<Box<ActiveInstance>> {
        self.active(ix)?;
        let progress = self.get_mut(ix)?;
        progress.status = status;
        progress.active.take()
    }

    /// Notes that no process worked on these instances, and on the steps that they are items of.
    pub(super) fn lose(&mut self, in_flight: &[InstanceIx], lost_ms: u64) {
        let parent = |ix: &InstanceIx| Some(self.instances.get(ix.at())?.item.as_ref()?.parent);
        let parents: BTreeSet<InstanceIx> = in_flight.iter().filter_map(parent).collect();
        for ix in parents.into_iter().chain(in_flight.iter().copied()) {
            let Some(active) = self.active(ix) else { continue };
            let later = |at: Timestamp| at.after(Duration::from_millis(lost_ms));
            active.began = active.began.map(later);
            active.attempt_began = active.attempt_began.map(later);
        }
    }

    /// Why an instance that has ended was skipped or blocked.
    pub(super) fn not_run(&self, ix: InstanceIx) -> Option<String> {
        let ended = self.instances.get(ix.at())?;
        let status_of = |step: StepIx| self.instances[step.at()].status;
        instance_reason::not_run(&self.plan, ended.step, ended.status, status_of)
    }

    pub(super) fn restart(&mut self, all: &[InstanceIx]) {
        for ix in all {
            self.instances.get_mut(ix.at()).into_iter().for_each(InstanceProgress::restart);
        }
    }

    /// Adds the items of an expansion. They start in the iteration of their step.
    pub(super) fn expand(&mut self, parent: InstanceIx, keys: &[String]) {
        let Some(above) = self.instances.get(parent.at()) else { return };
        let (step, iteration) = (above.step, above.iteration);
        let item = |(index, key): (usize, &String)| {
            InstanceProgress::new(step, Some(Item::new(parent, index as u32, key)), iteration)
        };
        self.instances.reserve_exact(keys.len());
        self.instances.extend(keys.iter().enumerate().map(item));
    }

    /// Adds usage to an instance and, for an item, to its step.
    pub(super) fn spend(&mut self, ix: InstanceIx, usage: Usage) {
        let mut at = Some(ix);
        while let Some(ix) = at {
            if usage != Usage::NONE {
                self.active(ix).into_iter().for_each(|active| active.work().usage += usage);
            }
            let item = self.instances.get(ix.at()).and_then(|progress| progress.item.as_ref());
            at = item.map(|item| item.parent);
        }
    }

    /// The planned step of an instance.
    pub(super) fn step(&self, ix: InstanceIx) -> Option<&PlanStep> {
        Some(self.plan.step(self.instances.get(ix.at())?.step))
    }

    pub(super) fn names(&self, all: &[InstanceIx]) -> Vec<String> {
        let name = |ix: &InstanceIx| match self.place(*ix) {
            Some(place) => place.instance.to_string(),
            None => format!("#{}", ix.0),
        };
        all.iter().map(name).collect()
    }

    pub(super) fn place(&self, ix: InstanceIx) -> Option<InstanceRef> {
        let progress = self.instances.get(ix.at())?;
        let step = self.plan.step(progress.step).step.id.clone();
        Some(InstanceRef {
            instance: progress.name(&step),
            step,
            iteration: progress.iteration,
            attempt: (progress.attempt > 0).then_some(progress.attempt),
        })
    }

    /// Number of steps by status, without items.
    pub(super) fn counts(&self) -> BTreeMap<StepStatus, u32> {
        let mut counts = BTreeMap::new();
        for progress in &self.instances[..self.plan.steps().len()] {
            *counts.entry(progress.status).or_default() += 1;
        }
        counts
    }

    /// The instances with this status.
    pub(super) fn with_status(&self, status: StepStatus) -> Vec<InstanceIx> {
        let all = (0..).map(InstanceIx).zip(&self.instances);
        all.filter(|(_, progress)| progress.status == status).map(|(ix, _)| ix).collect()
    }
}
