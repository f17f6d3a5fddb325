//! Folding: what is decided about steps before the run starts.

use super::compact::CompactPayload;
use super::event::{InstanceIx, StepStatus};
use super::kept::KeptResult;
use super::state::State;
use kb_base::value::Timestamp;
use kb_language::plan::Plan;

impl State {
    /// Folds the event that a step does not run, on request.
    pub(super) fn deselect(&mut self, plan: &Plan, ix: InstanceIx, at: Timestamp) {
        self.end(plan, ix, StepStatus::Skipped, false, at);
        self.instances[ix.at()].deselect();
    }

    /// Folds the event that an instance has the result of an earlier run.
    pub(super) fn keep(&mut self, plan: &Plan, ix: InstanceIx, kept: &KeptResult, at: Timestamp) {
        self.end(plan, ix, kept.status, kept.status == StepStatus::Failed, at);
        let target = &mut self.instances[ix.at()];
        target.attempt = kept.attempts;
        target.outcome = kept.outcome;
        target.output = kept.output.as_ref().map(CompactPayload::of);
        target.streams = kept.streams.as_ref().map(CompactPayload::boxed);
        target.set_verification(kept.verification.clone());
        target.set_failure(kept.failure.clone());
        target.set_handoff(kept.handoff.as_deref());
        target.set_kept_from(kept.run.clone(), kept.child_verdicts);
    }
}
