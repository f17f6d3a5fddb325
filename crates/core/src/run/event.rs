//! The events of a run: the recorded state transitions that the journal stores.

use super::kept::KeptResult;
use super::plan_revision::PlanRevision;
use super::question::Question;
use crate::evidence::{Exchange, Handoff, MergedTree, Payload, Record, Verification};
use kb_base::value::{
    Digest, Failure, Json, OutcomeKind, RunLimits, RunStatus, SpecialistId, Tier, Timestamp, Usage,
};
use kb_language::definition::RecoveryKind;
use serde::{Deserialize, Serialize};

pub use kb_base::value::StepStatus;

/// The number of an instance in its run: first the steps in plan order, then the items of each
/// `forEach` in the order of their `Expanded` events. It is stable because the plan is frozen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InstanceIx(pub u32);

impl InstanceIx {
    /// The number as an index.
    pub fn at(self) -> usize {
        self.0 as usize
    }
}

/// One recorded state transition. Fields and variants are added, never changed or removed, because
/// old journals stay readable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "type")]
pub enum Event {
    /// First event of a run: what it executes, with which parameters, where.
    RunStarted {
        /// Id of the definition.
        definition: String,
        /// Digest of the frozen state.
        digest: Digest,
        /// Parameters; secrets are references.
        params: Json,
        /// Environment of the run: `sandbox`, `process`, version of `kb`, `maxParallel`.
        environment: Json,
    },
    /// A new lease owner continues the run.
    RunResumed {
        /// Epoch of the lease.
        epoch: u64,
        /// Instances whose attempt or gate was executing and continues.
        in_flight: Vec<InstanceIx>,
        /// Milliseconds from the last sign of life of the previous lease owner to this event, in which
        /// these instances did not work.
        #[serde(default, skip_serializing_if = "is_zero")]
        lost_ms: u64,
        /// Limits of the command line, of this command or an earlier one.
        #[serde(flatten)]
        limits: RunLimits,
    },
    /// The condition of a step was evaluated.
    Evaluated {
        /// Number of the instance.
        instance: InstanceIx,
        /// Value of the condition.
        truth: bool,
    },
    /// A `forEach` step was expanded into its items.
    Expanded {
        /// Instance of the step.
        instance: InstanceIx,
        /// Number of the first item; the others follow.
        first: InstanceIx,
        /// Unique keys of the items, in item order.
        keys: Vec<String>,
        /// The list of items.
        items: Payload,
        /// Whether the output is a map by key instead of a list.
        keyed: bool,
    },
    /// The instance waits only for a slot or a lock.
    Ready {
        /// Number of the instance.
        instance: InstanceIx,
    },
    /// An attempt started.
    Started {
        /// Number of the instance.
        instance: InstanceIx,
        /// Number of the attempt, from 1 in each iteration.
        attempt: u32,
    },
    /// An attempt continues that waited for the approval of a tool call.
    Continued {
        /// Number of the instance.
        instance: InstanceIx,
        /// Number of the attempt.
        attempt: u32,
    },
    /// An attempt stored a record.
    Recorded {
        /// Number of the instance.
        instance: InstanceIx,
        /// Number of the attempt.
        attempt: u32,
        /// The record to store.
        record: Box<Record>,
    },
    /// A step said something to the other steps of the run, or asked what they said.
    Exchanged {
        /// Number of the instance.
        instance: InstanceIx,
        /// Number of the attempt.
        attempt: u32,
        /// Id of the tool call. A call that is repeated after a crash has no second event.
        call: String,
        /// What it said or asked.
        exchange: Box<Exchange>,
        /// Of a published message, its number; else the number of the last message that the answer contains or that is
        /// acknowledged. 0 for the blackboard.
        #[serde(default, skip_serializing_if = "is_zero")]
        seq: u64,
    },
    /// An attempt ended, before its gate.
    AttemptEnded {
        /// Number of the instance.
        instance: InstanceIx,
        /// Number of the attempt.
        attempt: u32,
        /// Outcome of the attempt.
        outcome: OutcomeKind,
        /// Output of the attempt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Payload>,
        /// `exitCode`, `stdout`, `stderr` of a process step.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        streams: Option<Payload>,
        /// Cause of the failure.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<Failure>,
        /// Tokens and cost of the attempt.
        #[serde(default = "nothing_used", skip_serializing_if = "is_nothing")]
        usage: Usage,
        /// What a specialist passes on to later steps.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        handoff: Option<Box<Handoff>>,
    },
    /// A gate returned its verdict.
    Judged {
        /// Number of the instance.
        instance: InstanceIx,
        /// Number of the verified attempt.
        attempt: u32,
        /// Result of the gate.
        verification: Verification,
    },
    /// A row of the recovery table applies: another attempt follows, for `askUser` after an approval.
    Recovered {
        /// Number of the instance.
        instance: InstanceIx,
        /// Outcome that the row matches.
        outcome: OutcomeKind,
        /// Action of the row.
        action: RecoveryKind,
        /// Index of the row in the step's table.
        #[serde(default)]
        row: u32,
        /// How often the row has been used, including this time.
        taken: u32,
        /// How often the row may be used.
        max: u32,
        /// Reason, as human-readable text.
        reason: String,
        /// Earliest start of the attempt.
        due: Timestamp,
        /// Tier of the attempt, if an escalation changed it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tier: Option<Tier>,
        /// Specialist of the attempt, if a switch changed it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        specialist: Option<SpecialistId>,
    },
    /// An instance waits for a person.
    Waiting {
        /// Number of the instance.
        instance: InstanceIx,
        /// Reason, as human-readable text.
        reason: String,
    },
    /// A person answered.
    Answered {
        /// Number of the instance.
        instance: InstanceIx,
        /// Whether the step continues.
        approved: bool,
        /// Name of the person.
        by: String,
        /// Answer to a question; `None` for an approval.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<Payload>,
        /// Comment of the person.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        comment: Option<String>,
        /// The person was shown the changes up to the event with this number.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seen: Option<u64>,
    },
    /// A pass of a `loop` succeeded.
    PassEnded {
        /// Number of the instance.
        instance: InstanceIx,
        /// The number of the pass, from 1.
        pass: u32,
        /// Whether `until` was true.
        done: bool,
        /// When the next pass may start; nothing after the last one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        due: Option<Timestamp>,
    },
    /// A `wait` step started: it left its slot and waits for a time.
    TimerSet {
        /// Number of the instance.
        instance: InstanceIx,
        /// End of the wait.
        due: Timestamp,
    },
    /// A person was asked: the instance left its slot and waits for a reply.
    Asked {
        /// Number of the instance.
        instance: InstanceIx,
        /// Question, rendered and masked.
        question: Box<Question>,
    },
    /// The work of a step in a worktree or copy is accepted; its changes are being merged.
    Merging {
        /// Number of the instance: the step, also of a `forEach`.
        instance: InstanceIx,
    },
    /// The changes of a step in a worktree or copy were merged, as far as they could be.
    Merged {
        /// Number of the instance.
        instance: InstanceIx,
        /// What became of the files of the step, or of each of its items in item order.
        trees: Vec<MergedTree>,
    },
    /// An instance ended in this iteration.
    Ended {
        /// Number of the instance.
        instance: InstanceIx,
        /// Final status of the instance or run.
        status: StepStatus,
        /// Whether the failure does not fail the run.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        tolerated: bool,
        /// Output of a `forEach`, `gate` or waiting step; other steps keep the output of their attempt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Payload>,
        /// Cause of the failure.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<Failure>,
    },
    /// A run that started from an earlier one keeps the result of an instance, which does not run.
    Kept {
        /// Number of the instance.
        instance: InstanceIx,
        /// The result, and where it was recorded.
        kept: Box<KeptResult>,
    },
    /// The run executes a revised plan, which continues a plan whose run failed.
    PlanRevised {
        /// Why, and the difference.
        revision: Box<PlanRevision>,
    },
    /// A step does not run, on request.
    Skipped {
        /// Number of the instance.
        instance: InstanceIx,
    },
    /// Instances start their next iteration. The events of earlier iterations stay in the journal.
    Reset {
        /// Instances that were requested.
        roots: Vec<InstanceIx>,
        /// All instances that start again: the requested ones and those that follow.
        closure: Vec<InstanceIx>,
        /// Reason, as human-readable text.
        reason: String,
    },
    /// A person rejected the work of earlier steps, which start again. The events of their earlier
    /// iterations stay in the journal.
    SentBack {
        /// The step that asked for the approval.
        instance: InstanceIx,
        /// The step that the work goes back to.
        to: InstanceIx,
        /// All instances that start again: `to`, `instance`, the steps between them and their hooks.
        closure: Vec<InstanceIx>,
        /// Who rejected it.
        by: String,
        /// The comment of that person.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        comment: Option<String>,
        /// How often the work went back, including this time.
        taken: u32,
        /// How often it may go back.
        max: u32,
    },
    /// The cancellation of the run was requested.
    CancelRequested {
        /// Who requested it, as human-readable text.
        by: String,
    },
    /// The run exceeded its timeout: its steps are stopped, and the run fails.
    TimedOut {
        /// The timeout in milliseconds.
        limit_ms: u64,
    },
    /// The run drains: no attempt starts, and the lease is released when the running ones have ended.
    Draining {
        /// Reason, as human-readable text.
        reason: String,
    },
    /// The run ended; no event follows unless it is retried.
    RunEnded {
        /// Final status of the instance or run.
        status: RunStatus,
        /// Outputs of the run.
        outputs: Payload,
        /// Cause of the failure.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<Failure>,
    },
}

/// The usage of attempts without model calls, which is not serialised.
fn nothing_used() -> Usage {
    Usage::NONE
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn is_nothing(usage: &Usage) -> bool {
    *usage == Usage::NONE
}
