//! The state of one step or item in its current iteration.

use super::child_link::{ChildLink, ChildLinkState};
use super::compact::CompactPayload;
use super::event::StepStatus;
use super::extras::{Extras, MergeState, Origin, Passes, PreviousPass, Recovery, Variation};
use super::items::{Item, Items};
use super::join::DependencyEnds;
use super::optional_time::OptionalTime;
use super::question::Question;
use crate::evidence::{CacheHit, Handoff, Payload, Verdict, VerdictCounts, Verification};
use kb_base::diagnostic::Code;
use kb_base::value::{Digest, Failure, Json, OutcomeKind, RunId, Timestamp, Usage};
use kb_language::definition::RecoveryKind;
use kb_language::plan::StepIx;

/// One step or item in its current iteration. A run keeps one for each step and item until it ends,
/// so rarely used fields are boxed.
#[derive(Debug, Clone, PartialEq)]
pub struct Instance {
    /// Step in the plan.
    pub step: StepIx,
    /// Position in its `forEach`; `None` for the step itself.
    pub item: Option<Item>,
    /// Where it is between `pending` and its end.
    pub status: StepStatus,
    /// Current iteration, from 1.
    pub iteration: u32,
    /// Number of the last started attempt; 0 before the first.
    pub attempt: u32,
    /// Output of the last attempt that reported one.
    pub output: Option<CompactPayload>,
    /// `exitCode`, `stdout`, `stderr` of a process; boxed, because steps that run none have no streams.
    pub streams: Option<Box<CompactPayload>>,
    /// Whether a failure does not fail the run.
    pub tolerated: bool,
    /// Outcome of the last attempt.
    pub outcome: Option<OutcomeKind>,
    pub(super) open: u32,
    pub(super) ends: DependencyEnds,
    pub(super) queued: u32,
    started: OptionalTime,
    ended: OptionalTime,
    extras: Option<Box<Extras>>,
}

impl Instance {
    pub(super) fn new(step: StepIx, item: Option<Item>) -> Self {
        Instance {
            step,
            item,
            status: StepStatus::Pending,
            iteration: 1,
            attempt: 0,
            output: None,
            streams: None,
            tolerated: false,
            outcome: None,
            open: 0,
            ends: DependencyEnds::default(),
            queued: 0,
            started: OptionalTime::NONE,
            ended: OptionalTime::NONE,
            extras: None,
        }
    }

    pub(super) fn restart(&mut self) {
        let (iteration, usage) = (self.iteration + 1, self.usage());
        // Usage counts for the run; a child run that did not succeed is opened again.
        let child = self.child().filter(|child| child.state != ChildLinkState::Done).cloned();
        *self = Instance { iteration, ..Instance::new(self.step, self.item.take()) };
        self.spend(usage);
        self.set(child.map(Box::new), |extras| &mut extras.child);
    }

    /// Whether the instance occupies a slot.
    pub fn holds_slot(&self) -> bool {
        matches!(self.status, StepStatus::Running | StepStatus::Verifying) && self.items().is_none()
    }

    /// Start time of the first attempt of this iteration.
    pub fn started_at(&self) -> Option<Timestamp> {
        self.started.get()
    }

    /// End time of this iteration; `None` before its end.
    pub fn ended_at(&self) -> Option<Timestamp> {
        self.ended.get()
    }

    /// The time that it waits for; `None` if it waits for a person without a timeout.
    pub fn due(&self) -> Option<Timestamp> {
        self.extras.as_ref()?.due.get()
    }

    /// The number of the current pass of its loop, from 1.
    pub fn pass(&self) -> u32 {
        self.passes().map_or(1, |passes| passes.count + 1)
    }

    /// The result of the pass before; nothing in the first one.
    pub fn previous_pass(&self) -> Option<&PreviousPass> {
        self.passes().map(|passes| &passes.last)
    }

    /// The attempts of the current pass so far.
    pub(super) fn attempts_of_pass(&self) -> u32 {
        self.attempt - self.passes().map_or(0, |passes| passes.attempts)
    }

    fn passes(&self) -> Option<&Passes> {
        self.extras.as_ref()?.passes.as_deref()
    }

    /// Keeps the result of the pass, and starts the next one with a fresh recovery table.
    pub(super) fn next_pass(&mut self) {
        let verification = self.verification().cloned();
        let last = PreviousPass { output: self.output.clone(), verification };
        let (count, attempts, escalations) = (self.pass(), self.attempt, self.escalations());
        let passes = Passes { count, attempts, escalations, last };
        let rest = self.extras.get_or_insert_default();
        rest.passes = Some(Box::new(passes));
        (rest.failure, rest.verification, rest.recovery) = (None, None, None);
    }

    /// The last child run of a `playbook` step.
    pub fn child(&self) -> Option<&ChildLink> {
        self.extras.as_ref()?.child.as_deref()
    }

    /// Notes that an attempt executes this child run.
    pub(super) fn link_child(&mut self, run: &RunId) {
        let link = ChildLink::open(run, self.child());
        self.set(Some(Box::new(link)), |extras| &mut extras.child);
    }

    /// The last child run, if there is one, to note the end of its attempt.
    pub(super) fn child_mut(&mut self) -> Option<&mut ChildLink> {
        self.extras.as_mut()?.child.as_deref_mut()
    }

    /// Whether it waits for a higher budget.
    pub fn needs_budget(&self) -> bool {
        let waits = self.status == StepStatus::Waiting && self.due().is_none();
        let exhausted = |failure: &Failure| failure.code == Code::BUDGET_EXHAUSTED;
        waits && self.question().is_none() && self.failure().is_some_and(exhausted)
    }

    /// The earlier run that executed it, if its result was kept.
    pub fn kept_from(&self) -> Option<&RunId> {
        match self.extras.as_ref()?.origin.as_deref()? {
            Origin::Kept(run, _) => Some(run),
            Origin::Verified(_) | Origin::Cached { .. } => None,
        }
    }

    /// The verdicts of the gates of its last child run, also if its result is that of an earlier run.
    pub fn child_verdicts(&self) -> VerdictCounts {
        let kept = self.extras.as_ref().and_then(|extras| match extras.origin.as_deref()? {
            Origin::Kept(_, verdicts) => Some(*verdicts),
            Origin::Verified(_) | Origin::Cached { .. } => None,
        });
        kept.or(self.child().map(|child| child.verdicts)).unwrap_or_default()
    }

    /// The earlier run that made its result, if this run only verified it again.
    pub fn verified_from(&self) -> Option<&RunId> {
        match self.extras.as_ref()?.origin.as_deref()? {
            Origin::Verified(run) => Some(run),
            Origin::Kept(..) | Origin::Cached { .. } => None,
        }
    }

    /// The run and the step instance that made its result, if its last attempt took a stored result.
    pub fn cached_from(&self) -> Option<(&RunId, &str)> {
        match self.extras.as_ref()?.origin.as_deref()? {
            Origin::Cached { run, instance } => Some((run, instance)),
            Origin::Kept(..) | Origin::Verified(_) => None,
        }
    }

    pub(super) fn set_cached_from(&mut self, hit: Option<&CacheHit>) {
        let origin = hit.map(|CacheHit { run, instance, kept, .. }| {
            Box::new(if *kept {
                Origin::Verified(run.clone())
            } else {
                Origin::Cached { run: run.clone(), instance: instance.clone() }
            })
        });
        self.set(origin, |extras| &mut extras.origin);
    }

    /// Whether it does not run on request.
    pub fn is_deselected(&self) -> bool {
        self.extras.as_ref().is_some_and(|extras| extras.deselected)
    }

    pub(super) fn deselect(&mut self) {
        self.extras.get_or_insert_default().deselected = true;
    }

    pub(super) fn set_kept_from(&mut self, run: RunId, verdicts: VerdictCounts) {
        self.set(Some(Box::new(Origin::Kept(run, verdicts))), |extras| &mut extras.origin);
    }

    /// The question that it waits for.
    pub fn question(&self) -> Option<&Question> {
        self.extras.as_ref()?.question.as_deref()
    }

    /// Cause of the failure of the last attempt or of the instance.
    pub fn failure(&self) -> Option<&Failure> {
        self.extras.as_ref()?.failure.as_deref()
    }

    /// The outcome that its failure stands for: that of its gate, else that of its last attempt.
    pub fn failed_with(&self) -> Option<OutcomeKind> {
        match (self.failure()?.code, self.outcome) {
            (Code::GATE_FAILED, _) => Some(OutcomeKind::GateFailed),
            (Code::GATE_INCONCLUSIVE, _) => Some(OutcomeKind::GateInconclusive),
            (Code::GATE_UNCHECKED, _) => Some(OutcomeKind::GateUnchecked),
            (_, Some(OutcomeKind::Ok)) => None,
            (_, outcome) => outcome,
        }
    }

    /// Whether the gate refuted an earlier attempt of this pass.
    pub fn was_refuted(&self) -> bool {
        self.recovery().is_some_and(|recovery| recovery.refuted)
    }

    /// How often recovery chose a larger model in this iteration.
    pub fn escalations(&self) -> u32 {
        let now = self.recovery().map_or(0, |recovery| recovery.escalations);
        now + self.passes().map_or(0, |passes| passes.escalations)
    }

    /// Last result of its gate.
    pub fn verification(&self) -> Option<&Verification> {
        self.extras.as_ref()?.verification.as_deref()
    }

    /// The items of an expanded `forEach` step.
    pub fn items(&self) -> Option<&Items> {
        self.extras.as_ref()?.items.as_deref()
    }

    /// Tokens and cost of all attempts.
    pub fn usage(&self) -> Usage {
        let usage = self.extras.as_ref().and_then(|extras| extras.usage.as_deref());
        usage.copied().unwrap_or(Usage::NONE)
    }

    /// How often a row of its recovery table was used, and the fingerprint of the failure that it last
    /// followed.
    pub(super) fn row_use(&self, row: usize) -> (u32, Option<Digest>) {
        self.recovery().and_then(|recovery| recovery.rows.get(row).copied()).unwrap_or_default()
    }

    /// Tier and specialist that recovery chose for its current or next attempt.
    pub fn variation(&self) -> Variation {
        self.recovery().map(|recovery| recovery.variation.clone()).unwrap_or_default()
    }

    /// Whether its current or next attempt must take another approach.
    pub(super) fn last_action(&self) -> Option<RecoveryKind> {
        self.recovery()?.last
    }

    /// The last comment of a person who permitted another attempt.
    pub(super) fn advice(&self) -> Option<&str> {
        self.recovery()?.advice.as_deref()
    }

    /// Keeps the comment of a person who permitted another attempt, for this and later attempts.
    pub(super) fn set_advice(&mut self, comment: Option<&str>) {
        let recovery = self.extras.as_mut().and_then(|extras| extras.recovery.as_mut());
        if let Some((recovery, comment)) = recovery.zip(comment) {
            recovery.advice = Some(comment.into());
        }
    }

    fn recovery(&self) -> Option<&Recovery> {
        self.extras.as_ref()?.recovery.as_deref()
    }

    pub(super) fn items_mut(&mut self) -> Option<&mut Items> {
        self.extras.as_mut()?.items.as_deref_mut()
    }

    pub(super) fn start_at(&mut self, at: Timestamp) {
        if self.started == OptionalTime::NONE {
            self.started = OptionalTime::at(at);
        }
    }

    pub(super) fn end_at(&mut self, at: Timestamp) {
        self.ended = OptionalTime::at(at);
    }

    /// Whether its last attempt continues when it starts, with the decision about a tool call.
    pub(super) fn continues(&self) -> bool {
        self.extras.as_ref().is_some_and(|extras| extras.continues)
    }

    pub(super) fn set_continues(&mut self, continues: bool) {
        if continues || self.extras.is_some() {
            self.extras.get_or_insert_default().continues = continues;
        }
    }

    pub(super) fn merge(&self) -> MergeState {
        self.extras.as_ref().map_or(MergeState::Open, |extras| extras.merge)
    }

    /// Whether the merge of its changes has started and not ended.
    pub fn is_merging(&self) -> bool {
        self.merge() == MergeState::Merging
    }

    pub(super) fn set_merge(&mut self, merge: MergeState) {
        self.extras.get_or_insert_default().merge = merge;
    }

    pub(super) fn set_due(&mut self, due: Option<Timestamp>) {
        let due = due.map_or(OptionalTime::NONE, OptionalTime::at);
        if due != OptionalTime::NONE || self.extras.is_some() {
            self.extras.get_or_insert_default().due = due;
        }
    }

    pub(super) fn set_question(&mut self, question: Option<Box<Question>>) {
        self.set(question, |extras| &mut extras.question);
    }

    pub(super) fn set_failure(&mut self, failure: Option<Failure>) {
        self.set(failure.map(Box::new), |extras| &mut extras.failure);
    }

    pub(super) fn set_verification(&mut self, verification: Option<Verification>) {
        self.set(verification.map(Box::new), |extras| &mut extras.verification);
    }

    /// What the specialist of the last attempt passed on, with artifacts that have no content.
    pub fn handoff(&self) -> Option<&Handoff> {
        self.extras.as_ref()?.handoff.as_deref()
    }

    pub(super) fn set_handoff(&mut self, handoff: Option<&Handoff>) {
        let mut words = handoff.cloned();
        for artifact in words.iter_mut().flat_map(|handoff| &mut handoff.artifacts) {
            artifact.content = Payload::inline(Json::Null);
        }
        self.set(words.map(Box::new), |extras| &mut extras.handoff);
    }

    pub(super) fn set_items(&mut self, items: Option<Items>) {
        self.set(items.map(Box::new), |extras| &mut extras.items);
    }

    pub(super) fn spend(&mut self, usage: Usage) {
        if usage != Usage::NONE {
            let sum = &mut self.extras.get_or_insert_default().usage;
            **sum.get_or_insert_with(|| Box::new(Usage::NONE)) += usage;
        }
    }

    /// Notes the use of a row of its recovery table for a failure, and what the row changed.
    pub(super) fn take_row(
        &mut self,
        row: u32,
        failure: Digest,
        variation: Variation,
        action: RecoveryKind,
    ) {
        let verdict = self.verification().map(|found| found.verdict);
        let recovery = self.extras.get_or_insert_default().recovery.get_or_insert_default();
        recovery.refuted |= verdict == Some(Verdict::Failed);
        let row = row as usize;
        if recovery.rows.len() <= row {
            recovery.rows.resize(row + 1, (0, None));
        }
        recovery.rows[row].0 += 1;
        recovery.rows[row].1 = Some(failure);
        recovery.variation = variation;
        recovery.last = Some(action);
        recovery.escalations += u32::from(action == RecoveryKind::EscalateModel);
    }

    fn set<T>(&mut self, value: Option<T>, field: impl Fn(&mut Extras) -> &mut Option<T>) {
        if value.is_some() || self.extras.is_some() {
            *field(self.extras.get_or_insert_default()) = value;
        }
    }
}

// Every step of a run has one.
const _: () = assert!(size_of::<Instance>() <= 96);
