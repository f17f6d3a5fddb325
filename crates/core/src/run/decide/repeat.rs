//! Steps with `loop:`: whether a successful pass was the last one.

use super::Decider;
use crate::evidence::Payload;
use crate::run::effect::Effect;
use crate::run::event::{Event, InstanceIx, StepStatus};
use crate::run::recovery::backoff;
use kb_base::diagnostic::Code;
use kb_base::value::Failure;
use kb_language::definition::Until;
use std::time::Duration;

impl Decider<'_> {
    /// An attempt succeeded and its gate passed: the instance ends, or its loop condition is evaluated.
    pub(super) fn passed(&mut self, ix: InstanceIx) {
        if self.step(ix).details().repeat.is_none() {
            return self.succeed(ix);
        }
        if self.stopping(ix) {
            return self.end(ix, StepStatus::Cancelled, None);
        }
        let instance = self.instance(ix);
        let (iteration, attempt) = (instance.iteration, instance.attempt);
        self.effect(Effect::EvaluateUntil { instance: ix, iteration, attempt });
    }

    /// The loop condition was evaluated after a successful pass.
    pub(super) fn until_evaluated(
        &mut self,
        ix: InstanceIx,
        attempt: (u32, u32),
        done: Result<bool, Failure>,
    ) {
        let current = self.exists(ix)
            && (self.instance(ix).iteration, self.instance(ix).attempt) == attempt
            && self.instance(ix).status == StepStatus::Verifying;
        let Some(repeat) = self.step(ix).details().repeat.clone().filter(|_| current) else {
            return;
        };
        if self.stopping(ix) {
            return self.end(ix, StepStatus::Cancelled, None);
        }
        if self.parent_has_failed(ix) && done != Ok(true) {
            return self.end(ix, StepStatus::Cancelled, None);
        }
        let done = match done {
            Ok(done) => done,
            Err(failure) => return self.end(ix, StepStatus::Failed, Some(failure)),
        };
        let pass = self.instance(ix).pass();
        let last = done || pass >= repeat.max;
        let delay = if repeat.delays.initial.is_zero() {
            Duration::ZERO
        } else {
            backoff(&repeat.delays, pass - 1, &self.jitter(ix))
        };
        let due = (!last).then(|| self.at.after(delay));
        self.emit(Event::PassEnded { instance: ix, pass, done, due });
        match due {
            None if done => self.succeed(ix),
            None => {
                let verification = self.instance(ix).verification();
                let reason = verification.and_then(|found| found.reason.as_deref());
                let why = match (&repeat.until, reason) {
                    (Until::Expression(_), _) => "`until` was never true".to_owned(),
                    (Until::Checks, None) => "the checks of `until` never passed".to_owned(),
                    (Until::Checks, Some(reason)) => {
                        format!("the checks of `until` never passed, at last: {reason}")
                    }
                };
                let message = format!("the loop ended after {pass} passes: {why}");
                let failure = Failure::new(Code::LOOP_EXHAUSTED, message)
                    .help("raise `loop.max`, or correct `loop.until`");
                self.end(ix, StepStatus::Failed, Some(failure));
            }
            Some(due) if due <= self.at => self.ready(ix),
            Some(due) => self.effect(Effect::Timer { instance: ix, due }),
        }
    }

    /// Ends an instance as succeeded. The output of a `gate` step is its verdict and its checks; other
    /// steps keep the output of their last attempt.
    pub(super) fn succeed(&mut self, ix: InstanceIx) {
        if self.must_merge(ix) {
            return self.merge(ix);
        }
        let is_gate = self.step(ix).kind.checks().is_some();
        let verification = self.instance(ix).verification().filter(|_| is_gate);
        let output = verification.map(|found| {
            let checks = serde_json::to_value(&found.checks).unwrap_or_default();
            Payload::inline(serde_json::json!({"verdict": found.verdict, "checks": checks}))
        });
        let (status, failure) = (StepStatus::Succeeded, None);
        self.emit(Event::Ended { instance: ix, status, tolerated: false, output, failure });
        self.after_end(ix);
    }
}
