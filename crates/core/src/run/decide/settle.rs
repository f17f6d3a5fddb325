//! Joins: which steps follow once an instance has ended.

use super::Decider;
use crate::run::effect::Effect;
use crate::run::event::{Event, InstanceIx, StepStatus};
use crate::run::extras::MergeState;
use crate::run::join::{Join, join};
use kb_base::value::{Failure, RunStatus, Timestamp};
use kb_language::definition::StepPhase;

impl Decider<'_> {
    /// A new lease owner: attempts that were executing continue, and timers are set again. `alive` is the
    /// last sign of life of the previous owner beside its events.
    pub(super) fn recovered(&mut self, cancel: Option<String>, alive: Option<Timestamp>) {
        if self.state.status.has_ended() {
            return;
        }
        let live = |s: StepStatus| matches!(s, StepStatus::Running | StepStatus::Verifying);
        let in_flight: Vec<InstanceIx> = self
            .state
            .instances()
            .filter(|(_, i)| live(i.status) && i.items().is_none())
            .map(|(ix, _)| ix)
            .collect();
        let (epoch, limits) = (self.epoch, self.state.rules.limits);
        let last = alive.map_or(self.state.last_event_at, |at| at.max(self.state.last_event_at));
        let lost_ms = if in_flight.is_empty() { 0 } else { self.at.since(last).as_millis() as u64 };
        self.emit(Event::RunResumed { epoch, in_flight: in_flight.clone(), lost_ms, limits });
        if let Some(by) = cancel.filter(|_| !self.state.is_cancelled()) {
            self.emit(Event::CancelRequested { by });
        }
        for ix in in_flight {
            self.continue_attempt(ix);
        }
        if self.stopping_main() {
            self.stop_main();
        }
        self.continue_children();
        let gathering =
            self.state.instances().filter(|(_, i)| i.items().is_some() && !i.status.has_ended());
        for ix in gathering.map(|(ix, _)| ix).collect::<Vec<_>>() {
            self.items_changed(ix);
        }
        let waiting: Vec<_> =
            self.state.instances().filter_map(|(ix, i)| Some((ix, i.due()?))).collect();
        for (instance, due) in waiting {
            self.effect(Effect::Timer { instance, due });
        }
        self.decide_known_models();
        self.retry_exhausted();
        self.settle_early_hooks();
        self.settle_open(StepPhase::Main);
        if self.state.open_main == 0 {
            self.settle_open(StepPhase::Finally);
        }
    }

    /// Steps that wait for a budget try again: the new lease owner may have a higher one.
    fn retry_exhausted(&mut self) {
        let all: Vec<_> =
            self.state.instances().filter(|(_, i)| i.needs_budget()).map(|(ix, _)| ix).collect();
        all.into_iter().for_each(|ix| self.ready(ix));
    }

    fn continue_attempt(&mut self, ix: InstanceIx) {
        let status = self.instance(ix).status;
        if status.has_ended() {
            return;
        }
        if self.instance(ix).merge() == MergeState::Merging {
            self.merge(ix);
        } else if self.stopping(ix) {
            self.end(ix, StepStatus::Cancelled, None);
        } else if status == StepStatus::Verifying && self.was_verified(ix) {
            self.passed(ix);
        } else if status == StepStatus::Verifying {
            self.verify(ix);
        } else if self.step(ix).details().retry_safe || self.continues_alone(ix) {
            self.execute(ix, true);
        } else {
            let reason = "`kb` stopped during this step, and `retrySafe: false` forbids a new attempt \
                          without approval";
            self.emit(Event::Waiting { instance: ix, reason: reason.to_owned() });
        }
    }

    /// Whether a resumed attempt repeats nothing by itself: each step of a child run has a `retrySafe`
    /// of its own.
    fn continues_alone(&self, ix: InstanceIx) -> bool {
        self.step(ix).kind.child().is_some()
    }

    /// Whether an attempt has passed its gate, or has none: only its loop condition is open.
    fn was_verified(&self, ix: InstanceIx) -> bool {
        let gate_step = self.step(ix).kind.checks().is_some();
        let verified = self.instance(ix).verification().is_some();
        self.step(ix).details().repeat.is_some() && (verified || !gate_step && !self.has_gate(ix))
    }

    /// Settles every pending step of a phase whose dependencies have all ended.
    pub(super) fn settle_open(&mut self, phase: StepPhase) {
        for i in 0..self.plan.steps().len() {
            let ix = InstanceIx(i as u32);
            let instance = self.instance(ix);
            if instance.open == 0
                && instance.status == StepStatus::Pending
                && self.step(ix).phase == phase
            {
                self.settle(ix);
            }
        }
    }

    /// All dependencies of a step have ended: the join decides, then the condition.
    pub(super) fn settle(&mut self, ix: InstanceIx) {
        if self.stopping(ix) {
            return self.end(ix, StepStatus::Cancelled, None);
        }
        if self.skips_hook(ix) {
            return self.end(ix, StepStatus::Skipped, None);
        }
        let step = self.plan.step(self.instance(ix).step);
        match self.joined(ix) {
            Join::Run if step.step.condition.is_some() || step.step.for_each.is_some() => {
                let iteration = self.instance(ix).iteration;
                self.effect(Effect::Evaluate { instance: ix, iteration });
            }
            Join::Run => self.ready(ix),
            Join::Skip => self.end(ix, StepStatus::Skipped, None),
            Join::Block => self.end(ix, StepStatus::Blocked, None),
            Join::Cancel => self.end(ix, StepStatus::Cancelled, None),
        }
    }

    /// The join over the dependencies of a step. That of a hook on its own step is not part of it.
    fn joined(&self, ix: InstanceIx) -> Join {
        let own = self.hook(ix).and_then(|hook| self.of(hook));
        let step = self.instance(ix).step;
        let mut others =
            self.plan.dependencies(step).filter(|found| Some(InstanceIx(found.on.0)) != own);
        match others.next() {
            None => Join::Run,
            Some(_) => join(self.step(ix).run_if, self.instance(ix).ends),
        }
    }

    /// Whether no instance of the step's phase may start any more.
    pub(super) fn stopping(&self, ix: InstanceIx) -> bool {
        self.step(ix).phase == StepPhase::Main && self.stopping_main()
    }

    pub(super) fn stopping_main(&self) -> bool {
        self.state.is_cancelled()
            || self.state.expired.is_some()
            || (self.state.failed_now && self.plan.playbook().limits.fail_fast)
    }

    /// Ends an instance and settles the steps that waited for it. Uses a worklist instead of
    /// recursion, because a chain of skipped steps may be as long as the plan.
    pub(super) fn end(&mut self, ix: InstanceIx, status: StepStatus, failure: Option<Failure>) {
        let failed_before = self.stopping_main();
        self.end_one(ix, status, failure);
        if !failed_before && self.stopping_main() {
            self.stop_main();
        }
    }

    fn end_one(&mut self, ix: InstanceIx, status: StepStatus, failure: Option<Failure>) {
        let tolerated = status == StepStatus::Failed
            && crate::run::state::tolerates(self.plan, self.instance(ix));
        self.emit(Event::Ended { instance: ix, status, tolerated, output: None, failure });
        self.after_end(ix);
    }

    /// Settles the steps that an ended instance unblocks.
    pub(super) fn after_end(&mut self, ix: InstanceIx) {
        if let Some(item) = &self.instance(ix).item {
            let parent = item.parent;
            return self.items_changed(parent);
        }
        let mut ended = vec![ix];
        while let Some(ix) = ended.pop() {
            let step = self.instance(ix).step;
            for dependent in self.plan.dependents(step) {
                let next = InstanceIx(dependent.step.0);
                let instance = self.instance(next);
                let unblocked = instance.open == 0 && instance.status == StepStatus::Pending;
                if !unblocked || !self.phase_is_open(next) {
                    continue;
                }
                match self.ends_at_join(next) {
                    Some(status) => {
                        let (failure, output) = (None, None);
                        self.emit(Event::Ended {
                            instance: next,
                            status,
                            tolerated: false,
                            output,
                            failure,
                        });
                        ended.push(next);
                    }
                    None => self.settle(next),
                }
            }
        }
    }

    pub(super) fn phase_is_open(&self, ix: InstanceIx) -> bool {
        match self.hook(ix) {
            Some(hook) if hook.is_early() => self.hook_is_open(hook),
            _ => self.step(ix).phase == StepPhase::Main || self.state.open_main == 0,
        }
    }

    fn ends_at_join(&self, ix: InstanceIx) -> Option<StepStatus> {
        if self.stopping(ix) {
            return Some(StepStatus::Cancelled);
        }
        if self.skips_hook(ix) {
            return Some(StepStatus::Skipped);
        }
        match self.joined(ix) {
            Join::Run => None,
            Join::Skip => Some(StepStatus::Skipped),
            Join::Block => Some(StepStatus::Blocked),
            Join::Cancel => Some(StepStatus::Cancelled),
        }
    }

    /// After the last main step the `finally` steps start, and after them the run concludes.
    pub(super) fn conclude(&mut self) {
        let over = self.state.status.has_ended() || self.state.status == RunStatus::Interrupted;
        if over || self.state.open_main > 0 {
            return self.leave_if_idle();
        }
        let first_time = self
            .decision
            .events
            .iter()
            .any(|e| matches!(**e, Event::Ended { .. } | Event::RunStarted { .. }));
        if self.state.open_finally > 0 {
            if first_time && !self.state.is_draining() {
                self.begin_finally();
            }
            if self.state.open_finally > 0 {
                return self.leave_if_idle();
            }
        }
        if self.state.is_draining() {
            return self.leave_if_idle();
        }
        let conclude = Effect::Conclude { iteration: self.state.iteration };
        if !self.decision.effects.contains(&conclude) {
            self.effect(conclude);
        }
    }

    fn begin_finally(&mut self) {
        let untouched = (0..self.plan.steps().len())
            .map(|i| InstanceIx(i as u32))
            .filter(|ix| self.is_plain_finally(*ix));
        let has_started =
            untouched.clone().any(|ix| self.instance(ix).status != StepStatus::Pending);
        if !has_started {
            self.settle_open(StepPhase::Finally);
            self.fill();
        }
    }
}
