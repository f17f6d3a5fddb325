use super::event::{Event, InstanceIx, RunStatus, StepStatus};
use super::join::{JoinCounts, matters};
use super::record::Payload;
use crate::definition::{InconclusivePolicy, OnError, StepPhase};
use crate::evidence::Verification;
use crate::plan::{Plan, StepIx};
use crate::value::{Digest, Failure, InstanceKey, OutcomeKind, Timestamp, Usage};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What holds over a run and is not in its plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// Instances that run or verify at the same time; at least 1.
    pub max_parallel: u32,
    /// What an `inconclusive` verdict does where a step says nothing.
    pub inconclusive: InconclusivePolicy,
}

impl Default for Rules {
    fn default() -> Self {
        Rules { max_parallel: 2, inconclusive: InconclusivePolicy::Warn }
    }
}

/// One step or item, as it stands in its present iteration.
#[derive(Debug, Clone, PartialEq)]
pub struct Instance {
    /// Its step in the plan.
    pub step: StepIx,
    /// Its key below the step; `None` for the step itself.
    pub item: Option<Item>,
    /// Where it stands.
    pub status: StepStatus,
    /// From 1.
    pub iteration: u32,
    /// The last attempt begun; 0 before the first.
    pub attempt: u32,
    /// What it handed out.
    pub output: Option<Payload>,
    /// `exitCode`, `stdout`, `stderr` of a process.
    pub streams: Option<Payload>,
    /// Why its last attempt was not good enough, or why it ended so.
    pub failure: Option<Failure>,
    /// What its gate said last.
    pub verification: Option<Verification>,
    /// Whether its failure does not fail the run.
    pub tolerated: bool,
    /// What all its attempts took.
    pub usage: Usage,
    /// When its first attempt of this iteration began.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// The moment it waits for; `None` while it waits for a person.
    pub due: Option<Timestamp>,
    /// Its items, where it is a `forEach` step that has expanded.
    pub items: Option<Items>,
    /// How the last attempt ended.
    pub outcome: Option<OutcomeKind>,
    pub(super) open: u32,
    pub(super) counts: JoinCounts,
    pub(super) taken: [u32; 2],
    pub(super) fingerprint: Option<Digest>,
    pub(super) queued: u64,
}

/// The place of an item below its step.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// The step's own instance.
    pub parent: InstanceIx,
    /// From 0, in item order.
    pub index: u32,
    /// Unique below the step.
    pub key: Arc<str>,
}

/// The items of an expanded `forEach` step.
#[derive(Debug, Clone, PartialEq)]
pub struct Items {
    /// The number of the first; the others follow.
    pub first: InstanceIx,
    /// How many.
    pub count: u32,
    /// The list itself.
    pub values: Payload,
    /// Whether the output is a map by key.
    pub keyed: bool,
    pub(super) ended: u32,
    pub(super) failed: u32,
    pub(super) next: u32,
}

impl Items {
    /// The items' numbers.
    pub fn all(&self) -> impl Iterator<Item = InstanceIx> + Clone + use<> {
        (self.first.0..self.first.0 + self.count).map(InstanceIx)
    }
}

impl Instance {
    fn new(step: StepIx, item: Option<Item>) -> Self {
        Instance {
            step,
            item,
            status: StepStatus::Pending,
            iteration: 1,
            attempt: 0,
            output: None,
            streams: None,
            failure: None,
            verification: None,
            tolerated: false,
            usage: Usage::NONE,
            started_at: None,
            ended_at: None,
            due: None,
            items: None,
            outcome: None,
            open: 0,
            counts: JoinCounts::default(),
            taken: [0; 2],
            fingerprint: None,
            queued: 0,
        }
    }

    fn restart(&mut self) {
        // What earlier iterations took stays on the bill.
        let (iteration, usage) = (self.iteration + 1, self.usage);
        *self = Instance { iteration, usage, ..Instance::new(self.step, self.item.take()) };
    }

    /// Whether it holds a slot.
    pub fn holds_slot(&self) -> bool {
        matches!(self.status, StepStatus::Running | StepStatus::Verifying) && self.items.is_none()
    }
}

/// Everything that the events of a run add up to. `apply` folds them; only `decide` makes them.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    pub(super) rules: Rules,
    pub(super) status: RunStatus,
    pub(super) instances: Vec<Instance>,
    pub(super) ready: BTreeSet<(u64, InstanceIx)>,
    pub(super) ready_locked: BTreeSet<(u64, InstanceIx)>,
    pub(super) queue: u64,
    pub(super) slots: u32,
    pub(super) lock: Option<InstanceIx>,
    pub(super) open_main: u32,
    pub(super) open_finally: u32,
    pub(super) failed: bool,
    pub(super) cancel: Option<String>,
    pub(super) draining: bool,
    pub(super) expired: Option<u64>,
    pub(super) seed: Digest,
    pub(super) failure: Option<Failure>,
    pub(super) outputs: Option<Payload>,
    pub(super) started_at: Timestamp,
}

impl State {
    /// The state before the first event.
    pub fn new(plan: &Plan, rules: Rules) -> Self {
        let steps = plan.steps();
        let instances: Vec<Instance> = (0..steps.len())
            .map(|i| {
                let mut instance = Instance::new(StepIx(i as u32), None);
                instance.open = steps[i].dependencies.len() as u32;
                instance
            })
            .collect();
        let finally = steps.iter().filter(|s| s.step.phase == StepPhase::Finally).count() as u32;
        State {
            rules,
            status: RunStatus::Running,
            open_main: instances.len() as u32 - finally,
            open_finally: finally,
            instances,
            ready: BTreeSet::new(),
            ready_locked: BTreeSet::new(),
            queue: 0,
            slots: 0,
            lock: None,
            failed: false,
            cancel: None,
            draining: false,
            expired: None,
            seed: Digest::of(""),
            failure: None,
            outputs: None,
            started_at: Timestamp::default(),
        }
    }

    /// Where the run stands. `Waiting` where nothing can go on but by a person.
    pub fn status(&self) -> RunStatus {
        self.status
    }

    /// One instance.
    pub fn instance(&self, ix: InstanceIx) -> &Instance {
        &self.instances[ix.at()]
    }

    /// All instances: the plan's steps first, then items.
    pub fn instances(&self) -> impl Iterator<Item = (InstanceIx, &Instance)> {
        self.instances.iter().enumerate().map(|(i, instance)| (InstanceIx(i as u32), instance))
    }

    /// Its name.
    pub fn key(&self, plan: &Plan, ix: InstanceIx) -> InstanceKey {
        let instance = self.instance(ix);
        let step = plan.step(instance.step).step.id.clone();
        match &instance.item {
            Some(item) => InstanceKey::item(step, &*item.key),
            None => InstanceKey::root(step),
        }
    }

    /// Whether a cancellation was asked for.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_some()
    }

    /// Whether the run's own time is up.
    pub fn has_expired(&self) -> bool {
        self.expired.is_some()
    }

    /// Whether nothing new starts.
    pub fn is_draining(&self) -> bool {
        self.draining
    }

    /// Whether a step failed that was not tolerated.
    pub fn has_failed(&self) -> bool {
        self.failed
    }

    /// How many instances hold a slot.
    pub fn running(&self) -> u32 {
        self.slots
    }

    /// What the run handed out, once it has ended.
    pub fn outputs(&self) -> Option<&Payload> {
        self.outputs.as_ref()
    }

    /// Why the run did not succeed, where that is not a step's own failure.
    pub fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    /// When the run began.
    pub fn started_at(&self) -> Timestamp {
        self.started_at
    }

    /// What the run took.
    pub fn usage(&self) -> Usage {
        let mut sum = Usage::NONE;
        self.instances.iter().for_each(|instance| sum += instance.usage);
        sum
    }

    /// Sets the live bound on parallel instances; never stored.
    pub fn set_max_parallel(&mut self, n: u32) {
        self.rules.max_parallel = n.max(1);
    }

    /// Folds one event. Total: an event that makes no sense here changes nothing that matters.
    pub fn apply(&mut self, plan: &Plan, at: Timestamp, event: &Event) {
        match event {
            Event::RunStarted { digest, .. } => {
                self.seed = *digest;
                self.started_at = at;
            }
            Event::RunResumed { .. } => {
                self.draining = false;
                self.status = RunStatus::Running;
            }
            Event::Evaluated { .. } | Event::Recorded { .. } => {}
            Event::Expanded { instance, first, keys, items, keyed } => {
                self.expand(plan, *instance, *first, keys, items, *keyed, at);
            }
            Event::Ready { instance } => self.enqueue(plan, *instance),
            Event::Started { instance, attempt } => self.start(plan, *instance, *attempt, at),
            Event::AttemptEnded { instance, outcome, output, streams, failure, usage, .. } => {
                let target = &mut self.instances[instance.at()];
                target.outcome = Some(*outcome);
                target.usage += *usage;
                target.output.clone_from(output);
                target.streams.clone_from(streams);
                target.failure.clone_from(failure);
                target.verification = None;
                if *outcome == OutcomeKind::Ok {
                    target.status = StepStatus::Verifying;
                }
            }
            Event::Judged { instance, verification, .. } => {
                self.instances[instance.at()].verification = Some(verification.clone());
            }
            Event::Recovered { instance, row, due, .. } => {
                let fingerprint = super::recovery::fingerprint(self.instance(*instance));
                self.leave_slot(plan, *instance);
                let target = &mut self.instances[instance.at()];
                target.status = StepStatus::Waiting;
                target.due = Some(*due);
                target.fingerprint = Some(fingerprint);
                if let Some(taken) = target.taken.get_mut(*row as usize) {
                    *taken += 1;
                }
            }
            Event::Waiting { instance, .. } => {
                self.leave_slot(plan, *instance);
                let target = &mut self.instances[instance.at()];
                target.status = StepStatus::Waiting;
                target.due = None;
            }
            Event::Answered { instance, approved, .. } => {
                if *approved {
                    self.enqueue(plan, *instance);
                }
            }
            Event::Ended { instance, status, tolerated, output, failure } => {
                self.end(plan, *instance, *status, *tolerated, at);
                let target = &mut self.instances[instance.at()];
                if output.is_some() {
                    target.output.clone_from(output);
                }
                if failure.is_some() {
                    target.failure.clone_from(failure);
                }
            }
            Event::Reset { closure, .. } => self.reset(plan, closure),
            Event::CancelRequested { by } => self.cancel = Some(by.clone()),
            Event::TimedOut { limit_ms } => self.expired = Some(*limit_ms),
            Event::Draining { .. } => self.draining = true,
            Event::RunEnded { status, outputs, failure } => {
                self.status = *status;
                self.outputs = Some(outputs.clone());
                self.failure.clone_from(failure);
            }
        }
    }

    fn enqueue(&mut self, plan: &Plan, ix: InstanceIx) {
        self.queue += 1;
        let entry = (self.queue, ix);
        let locked = plan.step(self.instance(ix).step).locks_workspace;
        let instance = &mut self.instances[ix.at()];
        instance.status = StepStatus::Ready;
        instance.due = None;
        instance.queued = entry.0;
        if locked {
            self.ready_locked.insert(entry)
        } else {
            self.ready.insert(entry)
        };
    }

    fn dequeue(&mut self, plan: &Plan, ix: InstanceIx) {
        let instance = self.instance(ix);
        if instance.status != StepStatus::Ready {
            return;
        }
        let entry = (instance.queued, ix);
        if plan.step(instance.step).locks_workspace {
            self.ready_locked.remove(&entry)
        } else {
            self.ready.remove(&entry)
        };
    }

    fn start(&mut self, plan: &Plan, ix: InstanceIx, attempt: u32, at: Timestamp) {
        self.dequeue(plan, ix);
        self.slots += 1;
        if plan.step(self.instance(ix).step).locks_workspace {
            self.lock = Some(ix);
        }
        let instance = &mut self.instances[ix.at()];
        instance.status = StepStatus::Running;
        instance.attempt = attempt;
        instance.started_at.get_or_insert(at);
        // A gate step has nothing to execute: it verifies from the start.
        if matches!(plan.step(instance.step).step.kind, crate::definition::StepKind::Gate(_)) {
            instance.status = StepStatus::Verifying;
        }
    }

    fn leave_slot(&mut self, plan: &Plan, ix: InstanceIx) {
        if self.instance(ix).holds_slot() {
            self.slots -= 1;
        }
        if self.lock == Some(ix) {
            self.lock = None;
        }
        self.dequeue(plan, ix);
    }

    #[allow(clippy::too_many_arguments)] // The fields of one event.
    fn expand(
        &mut self,
        plan: &Plan,
        parent: InstanceIx,
        first: InstanceIx,
        keys: &[String],
        values: &Payload,
        keyed: bool,
        at: Timestamp,
    ) {
        let step = self.instance(parent).step;
        let iteration = self.instance(parent).iteration;
        debug_assert_eq!(first.at(), self.instances.len());
        for (index, key) in keys.iter().enumerate() {
            let item = Item { parent, index: index as u32, key: key.as_str().into() };
            self.instances.push(Instance { iteration, ..Instance::new(step, Some(item)) });
        }
        let count = keys.len() as u32;
        let values = values.clone();
        let target = &mut self.instances[parent.at()];
        target.status = StepStatus::Running;
        target.started_at.get_or_insert(at);
        target.items = Some(Items { first, count, values, keyed, ended: 0, failed: 0, next: 0 });
        let limit = plan.step(step).step.for_each.as_ref().and_then(|f| f.max_parallel);
        (0..limit.unwrap_or(count).min(count)).for_each(|_| self.enqueue_next_item(plan, parent));
    }

    /// Lets the next item of a `forEach` step queue for a slot; its own bound lets only some do.
    fn enqueue_next_item(&mut self, plan: &Plan, parent: InstanceIx) {
        loop {
            let Some(items) = &mut self.instances[parent.at()].items else { return };
            if items.next >= items.count {
                return;
            }
            let ix = InstanceIx(items.first.0 + items.next);
            items.next += 1;
            if self.instance(ix).status == StepStatus::Pending {
                self.enqueue(plan, ix);
                return;
            }
        }
    }

    fn end(
        &mut self,
        plan: &Plan,
        ix: InstanceIx,
        status: StepStatus,
        tolerated: bool,
        at: Timestamp,
    ) {
        if self.instance(ix).status.has_ended() {
            return;
        }
        self.leave_slot(plan, ix);
        let instance = &mut self.instances[ix.at()];
        instance.status = status;
        instance.tolerated = tolerated;
        instance.ended_at = Some(at);
        instance.due = None;
        let step = instance.step;
        if let Some(item) = &instance.item {
            let parent = item.parent;
            if let Some(items) = &mut self.instances[parent.at()].items {
                items.ended += 1;
                items.failed += u32::from(status == StepStatus::Failed);
            }
            if !self.instance(parent).status.has_ended() {
                self.enqueue_next_item(plan, parent);
            }
            return;
        }
        match plan.step(step).step.phase {
            StepPhase::Main => self.open_main -= 1,
            StepPhase::Finally => self.open_finally -= 1,
        }
        let main = plan.step(step).step.phase == StepPhase::Main;
        self.failed |= status == StepStatus::Failed && !tolerated && main;
        for dependent in &plan.step(step).dependents {
            let strength = strength_between(plan, *dependent, step);
            let target = &mut self.instances[dependent.at()];
            target.open = target.open.saturating_sub(1);
            if matters(strength, status) {
                target.counts.add(status, tolerated);
            }
        }
    }

    fn reset(&mut self, plan: &Plan, closure: &[InstanceIx]) {
        self.status = RunStatus::Running;
        self.cancel = None;
        self.draining = false;
        self.expired = None;
        self.failure = None;
        self.outputs = None;
        let chosen: BTreeSet<InstanceIx> = closure.iter().copied().collect();
        for &ix in closure {
            if self.instance(ix).item.is_some() {
                continue;
            }
            let kept = self
                .instance(ix)
                .items
                .clone()
                .filter(|items| items.all().any(|item| chosen.contains(&item)));
            self.leave_slot(plan, ix);
            self.instances[ix.at()].restart();
            if let Some(items) = kept {
                self.reopen_items(plan, ix, items, &chosen);
            }
        }
        self.recount(plan);
    }

    /// Goes on with an expansion of which only some items start again.
    fn reopen_items(
        &mut self,
        plan: &Plan,
        parent: InstanceIx,
        mut items: Items,
        chosen: &BTreeSet<InstanceIx>,
    ) {
        for item in items.all().filter(|item| chosen.contains(item)) {
            self.leave_slot(plan, item);
            self.instances[item.at()].restart();
        }
        let all = || items.all().map(|item| self.instance(item));
        let ended = all().filter(|item| item.status.has_ended()).count() as u32;
        let failed = all().filter(|item| item.status == StepStatus::Failed).count() as u32;
        (items.ended, items.failed, items.next) = (ended, failed, 0);
        let open = items.count - ended;
        let step = plan.step(self.instance(parent).step);
        let limit = step.step.for_each.as_ref().and_then(|f| f.max_parallel).unwrap_or(open);
        let target = &mut self.instances[parent.at()];
        target.status = StepStatus::Running;
        target.items = Some(items);
        (0..limit.min(open)).for_each(|_| self.enqueue_next_item(plan, parent));
    }

    /// Takes every sum over the steps anew; after a reset that is simpler than undoing.
    fn recount(&mut self, plan: &Plan) {
        (self.open_main, self.open_finally, self.failed) = (0, 0, false);
        for (i, step) in plan.steps().iter().enumerate() {
            let mut counts = JoinCounts::default();
            let mut open = 0;
            for dependency in &step.dependencies {
                let on = &self.instances[dependency.on.at()];
                if !on.status.has_ended() {
                    open += 1;
                } else if matters(dependency.strength, on.status) {
                    counts.add(on.status, on.tolerated);
                }
            }
            let main = step.step.phase == StepPhase::Main;
            let instance = &mut self.instances[i];
            (instance.open, instance.counts) = (open, counts);
            let unfinished = u32::from(!instance.status.has_ended());
            if main {
                self.open_main += unfinished
            } else {
                self.open_finally += unfinished
            }
            self.failed |= main && instance.status == StepStatus::Failed && !instance.tolerated;
        }
    }
}

fn strength_between(plan: &Plan, dependent: StepIx, on: StepIx) -> crate::expression::Strength {
    // Dependencies are in step order, so that a join over thousands of steps stays cheap.
    let dependencies = &plan.step(dependent).dependencies;
    dependencies
        .binary_search_by_key(&on, |d| d.on)
        .map_or(crate::expression::Strength::Needs, |i| dependencies[i].strength)
}

/// Whether a step's failure is tolerated.
pub(super) fn tolerates(plan: &Plan, instance: &Instance) -> bool {
    let step = &plan.step(instance.step).step;
    match (&instance.item, &step.for_each) {
        (Some(_), Some(for_each)) => for_each.on_item_error == OnError::Continue,
        _ => step.on_error == OnError::Continue,
    }
}
