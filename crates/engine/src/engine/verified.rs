//! Attempts that take the result of an earlier run in place of their work, so that only their gate runs.

use super::attempt::Attempt;
use super::attempts::{AttemptChannel, Message};
use super::dispatcher::Dispatcher;
use super::verified_result::VerifiedResult;
use kb_attempt::{Recorder as _, Stopped};
use kb_base::value::{OutcomeKind, Usage};
use kb_core::evidence::Record;
use kb_core::run::{AttemptReport, InstanceIx, KeptResult, State, StepStatus};
use kb_language::definition::Execution;
use kb_language::plan::Plan;
use std::sync::Arc;

/// How long a chain of computed steps between two steps may be that keep their results.
const CHAIN: usize = 64;

impl Dispatcher {
    /// The result that an attempt takes: only the first one of an instance, before it has done any work,
    /// and only if the steps before it have the results of the earlier run too.
    pub(super) fn verified_result(&self, work: Attempt) -> Option<VerifiedResult> {
        let Attempt { instance: ix, iteration, attempt } = work;
        if self.verified.is_empty() || (iteration, attempt) != (1, 1) {
            return None;
        }
        let state = &self.folded.state;
        let is_work = |record: &Record| !matches!(record, Record::CacheHit(_) | Record::Note(_));
        if self.folded.histories.get(&ix).is_some_and(|records| records.iter().any(is_work)) {
            return None;
        }
        let name = state.key(&self.context.plan, ix).to_string();
        let found = self.verified.get(&name)?;
        rests_on_same(&self.context.plan, state, ix, CHAIN).then(|| found.clone())
    }

    /// Ends an attempt with a result of an earlier run. Its gate follows.
    pub(super) fn take_verified(&mut self, work: Attempt, taken: VerifiedResult) {
        let state = &self.folded.state;
        self.attempts.note_start(state, work.instance);
        let (channel, _) = self.attempts.open(&self.context, state, work);
        tokio::spawn(take(channel, taken));
    }
}

/// Whether all steps before an instance have the results of the earlier run. `depth` limits the chain of
/// computed steps that is followed.
fn rests_on_same(plan: &Plan, state: &State, ix: InstanceIx, depth: usize) -> bool {
    let mut before = plan.dependencies(state.instance(ix).step);
    before.all(|dependency| is_same(plan, state, InstanceIx(dependency.on.0), depth))
}

fn is_same(plan: &Plan, state: &State, ix: InstanceIx, depth: usize) -> bool {
    let instance = state.instance(ix);
    if instance.kept_from().or(instance.verified_from()).is_some() {
        return true;
    }
    if let Some(items) = instance.items() {
        return items.all().all(|item| is_same(plan, state, item, depth));
    }
    let succeeded = instance.status == StepStatus::Succeeded && instance.item.is_none();
    match plan.step(instance.step).step.kind.execution() {
        // The same values give the same result.
        Execution::Compute(_) | Execution::Gate(_) => {
            succeeded && depth > 0 && rests_on_same(plan, state, ix, depth - 1)
        }
        Execution::Specialist(_)
        | Execution::Child(_)
        | Execution::Attempt(_)
        | Execution::Ask(_)
        | Execution::Wait(_) => false,
    }
}

/// Records where the result comes from, and ends the attempt with it.
async fn take(channel: Arc<AttemptChannel>, taken: VerifiedResult) {
    let VerifiedResult { hit, result } = taken;
    let KeptResult { output, streams, handoff, .. } = result;
    let report = AttemptReport {
        outcome: OutcomeKind::Ok,
        output,
        streams,
        failure: None,
        retry_after_ms: None,
        usage: Usage::NONE,
        handoff,
    };
    let work = channel.work;
    let ended = match channel.record(Record::CacheHit(Box::new(hit))).await {
        Ok(()) => channel.payloads.store_report(channel.redactor.mask(report)),
        // The process stops, or the journal failed; the dispatcher knows.
        Err(Stopped) => return,
    };
    let _ = channel.send(Some(work.instance), ended, |report| Message::Ended {
        work,
        report: report.map(Box::new),
    });
}
