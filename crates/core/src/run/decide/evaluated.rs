//! Answers to evaluations: conditions, `forEach` lists, collected items.

use super::Decider;
use crate::evidence::Payload;
use crate::run::event::{Event, InstanceIx, StepStatus};
use crate::run::input::Evaluation;
use kb_base::value::Failure;

impl Decider<'_> {
    pub(super) fn evaluated(
        &mut self,
        ix: InstanceIx,
        iteration: u32,
        found: Result<Evaluation, Failure>,
    ) {
        if !self.is_in(ix, iteration) || !self.waits_for_evaluation(ix) {
            return;
        }
        if self.stopping(ix) {
            return self.end(ix, StepStatus::Cancelled, None);
        }
        let conditional = self.step(ix).condition.is_some();
        match found {
            Err(failure) => self.end(ix, StepStatus::Failed, Some(failure)),
            Ok(Evaluation::Condition(truth)) => {
                self.emit(Event::Evaluated { instance: ix, truth });
                if truth { self.ready(ix) } else { self.end(ix, StepStatus::Skipped, None) }
            }
            Ok(Evaluation::Items { keys, items, keyed }) => {
                if conditional {
                    self.emit(Event::Evaluated { instance: ix, truth: true });
                }
                self.expand(ix, keys, items, keyed);
            }
        }
    }

    /// An answer to a request of the previous lease owner may arrive before the new request.
    fn waits_for_evaluation(&self, ix: InstanceIx) -> bool {
        let instance = self.instance(ix);
        instance.status == StepStatus::Pending && instance.open == 0 && self.phase_is_open(ix)
    }

    fn expand(&mut self, ix: InstanceIx, keys: Vec<String>, items: Payload, keyed: bool) {
        let first = InstanceIx(self.state.instances.len() as u32);
        self.emit(Event::Expanded { instance: ix, first, keys, items, keyed });
        self.items_changed(ix);
    }

    pub(super) fn gathered(
        &mut self,
        ix: InstanceIx,
        iteration: u32,
        output: Result<Payload, Failure>,
    ) {
        let live = self.is_in(ix, iteration) && !self.instance(ix).status.has_ended();
        if !live || self.instance(ix).items().is_none_or(|items| items.ended < items.count) {
            return;
        }
        let output = match output {
            Ok(output) => Some(output),
            Err(failure) => return self.end(ix, StepStatus::Failed, Some(failure)),
        };
        let status = StepStatus::Succeeded;
        self.emit(Event::Ended { instance: ix, status, tolerated: false, output, failure: None });
        self.after_end(ix);
    }
}
