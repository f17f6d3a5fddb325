//! Folding: what happens to an attempt: its records, its end, the answers of people, the next one.

use super::compact::CompactPayload;
use super::event::{Event, InstanceIx, StepStatus};
use super::extras::Variation;
use super::state::{ModelDecision, State};
use crate::evidence::Record;
use kb_base::value::{OutcomeKind, Tier, Timestamp};
use kb_language::definition::RecoveryKind;
use kb_language::plan::Plan;

impl State {
    /// Folds a record of an attempt: only child runs, hits of the cache and decisions about models change the
    /// state.
    pub(super) fn record(&mut self, ix: InstanceIx, record: &Record) {
        let target = &mut self.instances[ix.at()];
        match record {
            Record::ChildRun { run, .. } => target.link_child(run),
            Record::ChildRunEnded { verdicts, .. } => {
                if let Some(child) = target.child_mut() {
                    child.verdicts = verdicts.unwrap_or_default();
                }
            }
            Record::CacheHit(hit) => target.set_cached_from(Some(hit)),
            Record::Approval { call, approved, by, .. } if call.is_about_model() => {
                let decision = ModelDecision { permitted: *approved, by: by.clone() };
                self.models.insert(call.args_hash, decision);
            }
            Record::ModelCall { .. }
            | Record::ToolCall { .. }
            | Record::ToolResult { .. }
            | Record::Approval { .. }
            | Record::Compression { .. }
            | Record::Output { .. }
            | Record::Observed { .. }
            | Record::Reservation { .. }
            | Record::BudgetWarning { .. }
            | Record::Phase { .. }
            | Record::Recall { .. }
            | Record::Delegate { .. }
            | Record::DelegateEnded { .. }
            | Record::Note(_) => {}
        }
    }

    /// Folds the end of an attempt.
    pub(super) fn end_attempt(&mut self, ix: InstanceIx, event: &Event) {
        let Event::AttemptEnded { outcome, output, streams, failure, usage, handoff, .. } = event
        else {
            return;
        };
        let target = &mut self.instances[ix.at()];
        target.outcome = Some(*outcome);
        target.spend(*usage);
        if let Some(child) = target.child_mut() {
            child.end(*outcome == OutcomeKind::Ok, *usage);
        }
        target.output = output.as_ref().map(CompactPayload::of);
        target.streams = streams.as_ref().map(CompactPayload::boxed);
        target.set_failure(failure.clone());
        target.set_verification(None);
        target.set_handoff(handoff.as_deref());
        if *outcome == OutcomeKind::Ok {
            target.status = StepStatus::Verifying;
        }
    }

    /// Folds the answer of a person. A question ends its step; other approvals let the attempt start.
    pub(super) fn answer(
        &mut self,
        plan: &Plan,
        ix: InstanceIx,
        approved: bool,
        comment: Option<&str>,
    ) {
        let target = &mut self.instances[ix.at()];
        let about_call = target.question().is_some_and(|asked| asked.call.is_some());
        target.set_question(None);
        if about_call {
            target.set_continues(true);
            return self.enqueue(plan, ix);
        }
        let step = self.instance(ix).step;
        if approved && !plan.step(step).step.kind.needs_person() {
            self.instances[ix.at()].set_advice(comment);
            self.enqueue(plan, ix);
        }
    }

    /// Uses a row of the recovery table. With `askUser` the instance waits for a person.
    pub(super) fn recover(
        &mut self,
        plan: &Plan,
        ix: InstanceIx,
        (action, row): (RecoveryKind, u32),
        due: Timestamp,
        variation: Variation,
    ) {
        let specialist = self.specialist(plan, ix).map(|specialist| specialist.id.clone());
        if let Some(id) = specialist.filter(|_| action == RecoveryKind::EscalateModel) {
            *self.escalations.entry(id).or_default() += 1;
        }
        let asks = action == RecoveryKind::AskUser;
        self.wait(plan, ix, (!asks).then_some(due));
        let failure = super::recovery::fingerprint(self.instance(ix));
        self.instances[ix.at()].take_row(row, failure, variation, action);
        self.count_large_use(plan, ix);
    }

    /// Counts an attempt of a specialist with the large tier.
    pub(super) fn count_large_use(&mut self, plan: &Plan, ix: InstanceIx) {
        let chosen = self.instance(ix).variation().tier;
        let tier = chosen.or_else(|| self.specialist(plan, ix).map(|found| found.model.tier));
        self.large_uses += u32::from(tier == Some(Tier::Large));
    }
}
