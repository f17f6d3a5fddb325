//! Folding: how each event changes the state. Nothing is decided or evaluated here.

use super::compact::CompactPayload;
use super::event::{Event, InstanceIx, StepStatus};
use super::extras::{MergeState, Variation};
use super::instance::Instance;
use super::items::{Item, Items};
use super::join::{DependencyEnds, affects_join};
use super::state::{Rejection, State};
use crate::evidence::{MergedTree, Payload};
use kb_base::value::{RunStatus, Timestamp};
use kb_language::definition::StepPhase;
use kb_language::plan::{Plan, StepIx};
use std::collections::BTreeSet;

impl State {
    /// Folds one event. Never fails: an event that does not fit the state has no relevant effect.
    pub fn apply(&mut self, plan: &Plan, at: Timestamp, event: &Event) {
        self.last_event_at = at;
        match event {
            Event::RunStarted { digest, .. } => {
                self.seed = *digest;
                self.started_at = at;
            }
            Event::RunResumed { in_flight, lost_ms, .. } => {
                self.resume(in_flight, *lost_ms);
                self.draining = false;
                self.status = RunStatus::Running;
            }
            Event::Evaluated { .. } => {}
            Event::Recorded { instance, record, .. } => self.record(*instance, record),
            Event::Exchanged { instance, call, exchange, seq, .. } => {
                let author = self.key(plan, *instance).to_string();
                let bus = self.bus.get_or_insert_default();
                bus.apply((*instance, &author), call, exchange, *seq);
            }
            Event::Expanded { instance, first, keys, items, keyed } => {
                self.expand(plan, *instance, *first, keys, items, *keyed, at);
            }
            Event::Ready { instance } => self.enqueue(plan, *instance),
            Event::Started { instance, attempt } => self.start(plan, *instance, *attempt, at),
            Event::Continued { instance, .. } => {
                self.occupy(plan, *instance);
                let target = &mut self.instances[instance.at()];
                target.status = StepStatus::Running;
                target.set_continues(false);
            }
            Event::AttemptEnded { instance, .. } => self.end_attempt(*instance, event),
            Event::Judged { instance, verification, .. } => {
                let target = &mut self.instances[instance.at()];
                target.spend(verification.usage);
                target.set_verification(Some(verification.clone()));
            }
            Event::Recovered { instance, action, row, due, tier, specialist, .. } => {
                let variation = Variation { tier: *tier, specialist: specialist.clone() };
                self.recover(plan, *instance, (*action, *row), *due, variation);
            }
            Event::Waiting { instance, .. } => {
                self.wait(plan, *instance, None);
            }
            Event::PassEnded { instance, due, .. } => {
                if due.is_some() {
                    self.wait(plan, *instance, *due);
                    self.instances[instance.at()].next_pass();
                }
            }
            Event::TimerSet { instance, due } => self.wait(plan, *instance, Some(*due)),
            Event::Asked { instance, question } => {
                self.wait(plan, *instance, question.due);
                self.instances[instance.at()].set_question(Some(question.clone()));
            }
            Event::Answered { instance, approved, comment, .. } => {
                self.answer(plan, *instance, *approved, comment.as_deref());
            }
            Event::Merging { instance } => {
                self.instances[instance.at()].set_merge(MergeState::Merging);
            }
            Event::Merged { instance, trees } => self.merged(plan, *instance, trees),
            Event::Ended { instance, status, tolerated, output, failure } => {
                self.end(plan, *instance, *status, *tolerated, at);
                let target = &mut self.instances[instance.at()];
                if let Some(output) = output {
                    target.output = Some(CompactPayload::of(output));
                }
                if failure.is_some() {
                    target.set_failure(failure.clone());
                }
            }
            Event::Kept { instance, kept } => self.keep(plan, *instance, kept, at),
            Event::PlanRevised { .. } => {}
            Event::Skipped { instance } => self.deselect(plan, *instance, at),
            Event::Reset { closure, .. } => self.reset(plan, closure, at),
            Event::SentBack { instance, to, closure, by, comment, taken, max: _ } => {
                self.returns.insert(*instance, *taken);
                let (by, comment) = (by.clone(), comment.clone());
                let (asked_by, to, taken) = (*instance, *to, *taken);
                self.rejection = Some(Box::new(Rejection { asked_by, to, by, comment, taken }));
                self.restart(plan, closure, at);
            }
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

    /// Leaves the slot and waits: for that moment, else for a person.
    pub(super) fn wait(&mut self, plan: &Plan, ix: InstanceIx, due: Option<Timestamp>) {
        self.leave_slot(plan, ix);
        let target = &mut self.instances[ix.at()];
        target.status = StepStatus::Waiting;
        target.set_due(due);
    }

    fn start(&mut self, plan: &Plan, ix: InstanceIx, attempt: u32, at: Timestamp) {
        self.occupy(plan, ix);
        if let Some(bus) = &mut self.bus {
            bus.restart(ix);
        }
        let instance = &mut self.instances[ix.at()];
        instance.status = StepStatus::Running;
        instance.attempt = attempt;
        instance.start_at(at);
        instance.set_cached_from(None);
        // A gate step has no attempt to execute; it starts with its gate.
        if plan.step(instance.step).step.kind.checks().is_some() {
            instance.status = StepStatus::Verifying;
            instance.set_verification(None);
        }
        // Recovery has counted the later attempts of a pass.
        if instance.attempts_of_pass() == 1 {
            self.count_large_use(plan, ix);
        }
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
        // A long list makes up most instances; doubling the capacity would waste memory.
        if keys.len() > self.instances.len() {
            self.instances.reserve_exact(keys.len());
        }
        for (index, key) in keys.iter().enumerate() {
            let item = Item::new(parent, index as u32, key);
            let mut instance = Instance::new(step, Some(item));
            instance.iteration = iteration;
            self.instances.push(instance);
        }
        let count = keys.len() as u32;
        let values = values.clone();
        let target = &mut self.instances[parent.at()];
        target.status = StepStatus::Running;
        target.start_at(at);
        let items = Items { first, count, values, keyed, ended: 0, failed: 0, next: 0 };
        target.set_items(Some(items));
        let limit = plan.step(step).step.for_each.as_ref().and_then(|f| f.max_parallel);
        (0..limit.unwrap_or(count).min(count)).for_each(|_| self.enqueue_next_item(plan, parent));
    }

    /// Queues the next item of a `forEach` step, whose own `maxParallel` limits the queued items.
    fn enqueue_next_item(&mut self, plan: &Plan, parent: InstanceIx) {
        loop {
            let Some(items) = self.instances[parent.at()].items_mut() else { return };
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

    pub(super) fn end(
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
        instance.end_at(at);
        instance.set_due(None);
        instance.set_question(None);
        let step = instance.step;
        if let Some(item) = &instance.item {
            let (parent, index) = (item.parent, item.index());
            let mut queued = false;
            if let Some(items) = self.instances[parent.at()].items_mut() {
                items.ended += 1;
                items.failed += u32::from(status == StepStatus::Failed);
                queued = index < items.next;
            }
            // An item that was never queued frees no position.
            if queued && !self.instance(parent).status.has_ended() {
                self.enqueue_next_item(plan, parent);
            }
            return;
        }
        match plan.step(step).step.phase {
            StepPhase::Main => self.open_main -= 1,
            StepPhase::Finally => self.open_finally -= 1,
        }
        let main = plan.step(step).step.phase == StepPhase::Main;
        let fails = status == StepStatus::Failed && !tolerated && main;
        self.failed |= fails;
        self.failed_now |= fails;
        for dependent in plan.dependents(step) {
            let target = &mut self.instances[dependent.step.at()];
            target.open = target.open.saturating_sub(1);
            if affects_join(dependent.strength, status) {
                target.ends.add(status, tolerated);
            }
        }
    }

    /// Continues interrupted instances: no process worked on them, and on the steps that they are items of,
    /// for this time.
    fn resume(&mut self, in_flight: &[InstanceIx], lost_ms: u64) {
        // Whether an interrupted attempt takes a stored result again is recorded again.
        for ix in in_flight {
            let target = &mut self.instances[ix.at()];
            if target.status == StepStatus::Running {
                target.set_cached_from(None);
            }
        }
        let parent = |ix: &InstanceIx| self.instance(*ix).item.as_ref().map(|item| item.parent);
        let parents: BTreeSet<InstanceIx> = in_flight.iter().filter_map(parent).collect();
        for ix in parents.into_iter().chain(in_flight.iter().copied()).filter(|_| lost_ms > 0) {
            *self.lost.entry(ix).or_default() += lost_ms;
        }
    }

    fn reset(&mut self, plan: &Plan, closure: &[InstanceIx], at: Timestamp) {
        self.status = RunStatus::Running;
        self.cancel = None;
        self.draining = false;
        self.expired = None;
        self.failure = None;
        self.outputs = None;
        self.iteration += 1;
        self.failed_now = false;
        self.returns.retain(|ix, _| !closure.contains(ix));
        self.rejection = None;
        self.models.retain(|_, decision| decision.permitted);
        self.restart(plan, closure, at);
    }

    /// Starts the next iteration of these instances, and counts the steps again.
    fn restart(&mut self, plan: &Plan, closure: &[InstanceIx], at: Timestamp) {
        let chosen: BTreeSet<InstanceIx> = closure.iter().copied().collect();
        for &ix in closure {
            if self.instance(ix).item.is_some() {
                continue;
            }
            let kept = self
                .instance(ix)
                .items()
                .cloned()
                .filter(|items| items.all().any(|item| chosen.contains(&item)));
            self.leave_slot(plan, ix);
            self.lost.remove(&ix);
            self.instances[ix.at()].restart();
            if let Some(items) = kept {
                self.reopen_items(plan, ix, items, &chosen);
                self.instances[ix.at()].start_at(at);
            }
        }
        self.recount(plan);
    }

    /// Marks a step as merged, and those of its items whose changes are in the project: a later iteration of the others
    /// does not merge them again.
    fn merged(&mut self, plan: &Plan, step: InstanceIx, trees: &[MergedTree]) {
        self.instances[step.at()].set_merge(MergeState::Merged);
        let Some(items) = self.instance(step).items().cloned() else { return };
        let merged = trees.iter().filter(|tree| tree.conflicts.is_empty());
        let merged: BTreeSet<&str> = merged.map(|tree| tree.instance.as_str()).collect();
        for item in items.all() {
            if merged.contains(self.key(plan, item).to_string().as_str()) {
                self.instances[item.at()].set_merge(MergeState::Merged);
            }
        }
    }

    /// Continues an expansion of which only some items start again.
    fn reopen_items(
        &mut self,
        plan: &Plan,
        parent: InstanceIx,
        mut items: Items,
        chosen: &BTreeSet<InstanceIx>,
    ) {
        for item in items.all().filter(|item| chosen.contains(item)) {
            self.leave_slot(plan, item);
            self.lost.remove(&item);
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
        target.set_items(Some(items));
        (0..limit.min(open)).for_each(|_| self.enqueue_next_item(plan, parent));
    }

    /// Recomputes all sums over the steps, which is simpler than undoing them for a reset.
    fn recount(&mut self, plan: &Plan) {
        (self.open_main, self.open_finally, self.failed) = (0, 0, false);
        for (i, step) in plan.steps().iter().enumerate() {
            let mut ends = DependencyEnds::default();
            let mut open = 0;
            for dependency in plan.dependencies(StepIx(i as u32)) {
                let on = &self.instances[dependency.on.at()];
                if !on.status.has_ended() {
                    open += 1;
                } else if affects_join(dependency.strength, on.status) {
                    ends.add(on.status, on.tolerated);
                }
            }
            let main = step.step.phase == StepPhase::Main;
            let instance = &mut self.instances[i];
            (instance.open, instance.ends) = (open, ends);
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
