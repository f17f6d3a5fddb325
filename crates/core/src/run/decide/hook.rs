//! `hooks`: when the steps of `hooks` run.

use super::Decider;
use crate::run::event::{Event, InstanceIx, StepStatus};
use kb_language::definition::{Hook, HookEvent, StepPhase};

impl Decider<'_> {
    /// The hook that an instance belongs to.
    pub(super) fn hook(&self, ix: InstanceIx) -> Option<&Hook> {
        self.step(ix).details().hook.as_deref()
    }

    /// Whether a step of `hooks` may be settled now. Hooks of a step need not wait for the other main
    /// steps.
    pub(super) fn hook_is_open(&self, hook: &Hook) -> bool {
        match (hook.on, self.of(hook)) {
            (HookEvent::Start, None) => true,
            (HookEvent::Start, Some(step)) => self.has_started(step),
            (_, Some(_)) => true,
            (_, None) => self.state.open_main == 0,
        }
    }

    /// Whether the event of the hook did not happen, so that its step is skipped.
    pub(super) fn skips_hook(&self, ix: InstanceIx) -> bool {
        let Some(hook) = self.hook(ix) else { return false };
        // A step with the result of an earlier run has no events in this one.
        if self.of(hook).is_some_and(|step| self.instance(step).kept_from().is_some()) {
            return true;
        }
        let status = match self.of(hook) {
            Some(step) if hook.on == HookEvent::Start => return !self.has_started(step),
            Some(step) if hook.on == HookEvent::Cancel && !self.has_started(step) => return true,
            Some(step) => self.instance(step).status,
            None if hook.on == HookEvent::Start => return false,
            None if self.state.is_cancelled() => StepStatus::Cancelled,
            None if self.state.has_failed() || self.state.has_expired() => StepStatus::Failed,
            None => StepStatus::Succeeded,
        };
        match hook.on {
            HookEvent::Start => false,
            HookEvent::Success => status != StepStatus::Succeeded,
            HookEvent::Failure => status != StepStatus::Failed,
            HookEvent::Cancel => status != StepStatus::Cancelled,
        }
    }

    /// Settles the hooks of steps that this decision started, and the start hooks of the run.
    pub(super) fn settle_start_hooks(&mut self, from: usize) {
        let began = |event: &Event| match event {
            Event::RunStarted { .. } | Event::Reset { .. } => true,
            Event::Started { instance, attempt: 1 } => self.instance(*instance).item.is_none(),
            Event::Expanded { .. } => true,
            // A step that fails before its first attempt has started nothing.
            Event::RunResumed { .. }
            | Event::Evaluated { .. }
            | Event::Ready { .. }
            | Event::Started { .. }
            | Event::Continued { .. }
            | Event::Exchanged { .. }
            | Event::Recorded { .. }
            | Event::AttemptEnded { .. }
            | Event::Judged { .. }
            | Event::Recovered { .. }
            | Event::Waiting { .. }
            | Event::Answered { .. }
            | Event::PassEnded { .. }
            | Event::TimerSet { .. }
            | Event::Asked { .. }
            | Event::Merging { .. }
            | Event::Merged { .. }
            | Event::Ended { .. }
            | Event::Kept { .. }
            | Event::Skipped { .. }
            | Event::PlanRevised { .. }
            | Event::SentBack { .. }
            | Event::CancelRequested { .. }
            | Event::TimedOut { .. }
            | Event::Draining { .. }
            | Event::RunEnded { .. } => false,
        };
        if self.plan.start_hooks().is_empty()
            || !self.decision.events[from..].iter().any(|event| began(event))
        {
            return;
        }
        for ix in self.plan.start_hooks().iter().map(|step| InstanceIx(step.0)) {
            let pending = self.instance(ix).status == StepStatus::Pending;
            let open = self.hook(ix).is_some_and(|hook| self.hook_is_open(hook));
            let asked = self.decision.effects.iter().any(|effect| {
                matches!(effect, crate::run::Effect::Evaluate { instance, .. } if *instance == ix)
            });
            if pending && open && !asked && self.instance(ix).open == 0 {
                self.settle(ix);
            }
        }
    }

    /// Settles the hooks of steps that the previous lease owner did not come to.
    pub(super) fn settle_early_hooks(&mut self) {
        for i in 0..self.plan.steps().len() {
            let ix = InstanceIx(i as u32);
            let open = self.hook(ix).is_some_and(|hook| hook.is_early() && self.hook_is_open(hook));
            let instance = self.instance(ix);
            if open && instance.open == 0 && instance.status == StepStatus::Pending {
                self.settle(ix);
            }
        }
    }

    /// Whether a step of `finally` starts with `finally`, and not with a hook of a step.
    pub(super) fn is_plain_finally(&self, ix: InstanceIx) -> bool {
        self.step(ix).phase == StepPhase::Finally && !self.hook(ix).is_some_and(Hook::is_early)
    }

    /// The step that a hook belongs to.
    pub(super) fn of(&self, hook: &Hook) -> Option<InstanceIx> {
        let step = self.plan.find(hook.of.as_ref()?.as_str())?;
        Some(InstanceIx(step.0))
    }

    fn has_started(&self, step: InstanceIx) -> bool {
        self.instance(step).started_at().is_some()
    }
}
