use super::question::Question;
use crate::evidence::Verification;
use crate::evidence::{Payload, Record};
use crate::value::{Digest, Failure, Json, OutcomeKind, Timestamp, Usage};
use serde::{Deserialize, Serialize};
use std::fmt;

/// An instance by its number in the run: steps of the plan first, in plan order, then the items of
/// each `forEach` in the order of their expansion events. Stable, because the plan is frozen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InstanceIx(pub u32);

impl InstanceIx {
    /// As an index.
    pub fn at(self) -> usize {
        self.0 as usize
    }
}

/// How an instance is or ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StepStatus {
    /// Its dependencies have not all ended.
    Pending,
    /// It could run; a slot or a lock is missing.
    Ready,
    /// An attempt is under way.
    Running,
    /// Its gate is under way.
    Verifying,
    /// It waits for a time or a person and holds no slot.
    Waiting,
    /// Done, and its gate let it pass.
    Succeeded,
    /// Its last attempt failed.
    Failed,
    /// Its condition was false, or what it needs was skipped.
    Skipped,
    /// What it needs failed.
    Blocked,
    /// It was told to stop, or never started because the run was.
    Cancelled,
}

impl StepStatus {
    /// The name as people read it.
    pub fn as_str(self) -> &'static str {
        match self {
            StepStatus::Pending => "pending",
            StepStatus::Ready => "ready",
            StepStatus::Running => "running",
            StepStatus::Verifying => "verifying",
            StepStatus::Waiting => "waiting",
            StepStatus::Succeeded => "succeeded",
            StepStatus::Failed => "failed",
            StepStatus::Skipped => "skipped",
            StepStatus::Blocked => "blocked",
            StepStatus::Cancelled => "cancelled",
        }
    }

    /// Whether nothing follows in this iteration.
    pub fn has_ended(self) -> bool {
        self >= StepStatus::Succeeded
    }
}

impl fmt::Display for StepStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// How a run is or ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// A holder is at work.
    Running,
    /// Only people or budget can bring it on.
    Waiting,
    /// Its holder stopped or died; resumable.
    Interrupted,
    /// No step failed that was not tolerated.
    Succeeded,
    /// A step failed.
    Failed,
    /// It was told to stop.
    Cancelled,
}

impl RunStatus {
    /// The name as people read it.
    pub fn as_str(self) -> &'static str {
        match self {
            RunStatus::Running => "running",
            RunStatus::Waiting => "waiting",
            RunStatus::Interrupted => "interrupted",
            RunStatus::Succeeded => "succeeded",
            RunStatus::Failed => "failed",
            RunStatus::Cancelled => "cancelled",
        }
    }

    /// The status of that name.
    pub fn parse(name: &str) -> Option<RunStatus> {
        use RunStatus::{Cancelled, Failed, Interrupted, Running, Succeeded, Waiting};
        let all = [Running, Waiting, Interrupted, Succeeded, Failed, Cancelled];
        all.into_iter().find(|status| status.as_str() == name)
    }

    /// Whether only `retry` brings it back.
    pub fn has_ended(self) -> bool {
        matches!(self, RunStatus::Succeeded | RunStatus::Failed | RunStatus::Cancelled)
    }
}

impl fmt::Display for RunStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// One recorded transition. Additive: fields and variants are added, never changed or removed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "type")]
pub enum Event {
    /// A run began.
    RunStarted {
        /// The definition's id.
        definition: String,
        /// Digest over everything that is frozen.
        digest: Digest,
        /// Parameters with secrets as references.
        params: Json,
        /// What is known of the place: `sandbox`, `process`, `kb` version, `maxParallel`.
        environment: Json,
    },
    /// A new holder took the run over.
    RunResumed {
        /// The holder's epoch.
        epoch: u64,
        /// Instances that were in flight and go on.
        in_flight: Vec<InstanceIx>,
    },
    /// A condition was evaluated.
    Evaluated {
        /// Whose.
        instance: InstanceIx,
        /// What came out.
        truth: bool,
    },
    /// A `forEach` list became instances.
    Expanded {
        /// The step.
        instance: InstanceIx,
        /// The number of the first item; the others follow.
        first: InstanceIx,
        /// The items' unique keys, in item order.
        keys: Vec<String>,
        /// The items themselves, in order.
        items: Payload,
        /// Whether the output is a map by key rather than a list.
        keyed: bool,
    },
    /// All that is missing is a slot or a lock.
    Ready {
        /// Which.
        instance: InstanceIx,
    },
    /// An attempt begins.
    Started {
        /// Which.
        instance: InstanceIx,
        /// From 1 in each iteration.
        attempt: u32,
    },
    /// An attempt recorded something on its way.
    Recorded {
        /// Which.
        instance: InstanceIx,
        /// Its attempt.
        attempt: u32,
        /// What.
        record: Box<Record>,
    },
    /// An attempt ended, before its gate.
    AttemptEnded {
        /// Which.
        instance: InstanceIx,
        /// Which attempt.
        attempt: u32,
        /// How.
        outcome: OutcomeKind,
        /// What it handed out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Payload>,
        /// `exitCode`, `stdout`, `stderr` of a process step.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        streams: Option<Payload>,
        /// Why it did not work.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<Failure>,
        /// What it took.
        #[serde(default = "nothing_used", skip_serializing_if = "is_nothing")]
        usage: Usage,
    },
    /// A gate spoke.
    Judged {
        /// Which.
        instance: InstanceIx,
        /// Which attempt it judged.
        attempt: u32,
        /// What it found.
        verification: Verification,
    },
    /// A row of the recovery table was taken: another attempt follows.
    Recovered {
        /// Which.
        instance: InstanceIx,
        /// What happened.
        outcome: OutcomeKind,
        /// What is done about it: `retry`, `rework`.
        action: String,
        /// Which row of the step's table.
        #[serde(default)]
        row: u32,
        /// How often this row was taken now.
        taken: u32,
        /// How often it may be.
        max: u32,
        /// Why, for people.
        reason: String,
        /// Not before this moment.
        due: Timestamp,
    },
    /// An instance waits for a person.
    Waiting {
        /// Which.
        instance: InstanceIx,
        /// For what, for people.
        reason: String,
    },
    /// A person answered.
    Answered {
        /// Which.
        instance: InstanceIx,
        /// Whether it goes on.
        approved: bool,
        /// Who, for people.
        by: String,
        /// The answer to a question; nothing for an approval.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<Payload>,
        /// A remark of the person.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        comment: Option<String>,
    },
    /// A waiting step was opened: it left its slot and waits for a moment.
    TimerSet {
        /// The instance.
        instance: InstanceIx,
        /// The moment.
        due: Timestamp,
    },
    /// A question to a person was opened: the instance left its slot and waits for a reply.
    Asked {
        /// The instance.
        instance: InstanceIx,
        /// The question.
        question: Box<Question>,
    },
    /// An instance ended in this iteration.
    Ended {
        /// Which.
        instance: InstanceIx,
        /// How.
        status: StepStatus,
        /// Whether its failure does not fail the run.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        tolerated: bool,
        /// The output of a `forEach` step, gathered from its items; elsewhere the last attempt's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Payload>,
        /// Why it did not succeed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<Failure>,
    },
    /// Instances go back to the start of their next iteration; what they did stays in the journal.
    Reset {
        /// What was asked to go back.
        roots: Vec<InstanceIx>,
        /// Everything that goes back.
        closure: Vec<InstanceIx>,
        /// Why, for people.
        reason: String,
    },
    /// Somebody wants the run to stop for good.
    CancelRequested {
        /// Who or what, for people.
        by: String,
    },
    /// The run's own time is up: what has not ended is stopped, and the run will have failed.
    TimedOut {
        /// The bound, in milliseconds.
        limit_ms: u64,
    },
    /// The holder starts nothing new and leaves when what runs has ended.
    Draining {
        /// Why, for people.
        reason: String,
    },
    /// The run ended.
    RunEnded {
        /// How.
        status: RunStatus,
        /// What it hands out.
        outputs: Payload,
        /// Why it did not succeed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<Failure>,
    },
}

/// What most attempts take: no model was asked, and that is known.
fn nothing_used() -> Usage {
    Usage::NONE
}

fn is_nothing(usage: &Usage) -> bool {
    *usage == Usage::NONE
}
