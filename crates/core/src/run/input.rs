//! The inputs of the state machine: everything that a decision can depend on.

use super::event::InstanceIx;
use super::kept::Preset;
use super::question::Question;
use crate::evidence::{Exchange, Handoff, Merged, Payload, Record, Verification};
use crate::redaction::{Mask, Masked, Redactor};
use kb_base::value::{Digest, Failure, Json, OutcomeKind, Timestamp, Usage};

/// One input with its time and epoch. `at` is the only time that the state machine reads.
#[derive(Debug, Clone, PartialEq)]
pub struct Envelope {
    /// Time of the decision.
    pub at: Timestamp,
    /// Epoch of the lease.
    pub epoch: u64,
    /// The fact that the state machine receives.
    pub input: Input,
}

/// An input of the state machine.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// The run is new and starts.
    Started {
        /// Digest of the frozen state.
        digest: Digest,
        /// Parameters; secrets are references.
        params: Masked<Json>,
        /// Environment of the run.
        environment: Masked<Json>,
        /// Steps that do not run, because an earlier run has their result or on request. The results
        /// were masked when that run stored them.
        presets: Vec<Preset>,
    },
    /// A new lease owner has replayed the journal. Attempts that were executing continue.
    Recovered {
        /// Who requests the cancellation, if the lease was acquired to cancel the run.
        cancel: Option<Masked<String>>,
        /// The last renewal of the previous owner's lease, if it was killed.
        alive: Option<Timestamp>,
    },
    /// The answer to [`Effect::Evaluate`](super::Effect::Evaluate).
    Evaluated {
        /// Number of the instance.
        instance: InstanceIx,
        /// Iteration of the request; an answer of another iteration is dropped.
        iteration: u32,
        /// Result of the evaluation.
        found: Result<Masked<Evaluation>, Masked<Failure>>,
    },
    /// An attempt has a record to store.
    Recorded {
        /// Number of the instance.
        instance: InstanceIx,
        /// Iteration of the request; an answer of another iteration is dropped.
        iteration: u32,
        /// Number of the attempt.
        attempt: u32,
        /// What the specialist or judge did.
        record: Masked<Box<Record>>,
    },
    /// An attempt says something to the other steps, or asks what they said. The decision has the answer.
    Exchanged {
        /// Number of the instance.
        instance: InstanceIx,
        /// Iteration of the request; one of another iteration is dropped.
        iteration: u32,
        /// Number of the attempt; only the current one is accepted.
        attempt: u32,
        /// Id of the tool call.
        call: String,
        /// What it says or asks.
        exchange: Masked<Box<Exchange>>,
    },
    /// The executor finished an attempt, or could not.
    AttemptEnded {
        /// Number of the instance.
        instance: InstanceIx,
        /// Iteration of the request; an answer of another iteration is dropped.
        iteration: u32,
        /// Number of the attempt; only the current one is accepted.
        attempt: u32,
        /// Report of the executor.
        report: Masked<AttemptReport>,
    },
    /// A gate returned its verdict.
    Judged {
        /// Number of the instance.
        instance: InstanceIx,
        /// Iteration of the request; an answer of another iteration is dropped.
        iteration: u32,
        /// Number of the attempt.
        attempt: u32,
        /// Result of the gate.
        verification: Masked<Verification>,
    },
    /// The loop condition was evaluated after a successful pass.
    UntilEvaluated {
        /// Number of the instance.
        instance: InstanceIx,
        /// Its iteration; a result of another one is dropped.
        iteration: u32,
        /// The attempt that succeeded; a result of another one is dropped.
        attempt: u32,
        /// Whether the loop ends.
        done: Result<bool, Masked<Failure>>,
    },
    /// The timer of an instance is due.
    TimerDue {
        /// Number of the instance.
        instance: InstanceIx,
    },
    /// The answer to [`Effect::Merge`](super::Effect::Merge).
    Merged {
        /// The step.
        instance: InstanceIx,
        /// Iteration of the request; an answer of another iteration is dropped.
        iteration: u32,
        /// What was merged, and why not everything was.
        merged: Masked<Merged>,
    },
    /// The answer to [`Effect::Gather`](super::Effect::Gather).
    Gathered {
        /// Instance of the `forEach` step.
        instance: InstanceIx,
        /// Iteration of the request; an answer of another iteration is dropped.
        iteration: u32,
        /// Output of the step, or why it could not be read.
        output: Result<Masked<Payload>, Masked<Failure>>,
    },
    /// A person answered.
    Answered {
        /// The instance that waits.
        instance: InstanceIx,
        /// The decision or answer.
        reply: Masked<Reply>,
    },
    /// The answer of a person does not satisfy the question, which stays open.
    ReplyRefused {
        /// The instance that waits.
        instance: InstanceIx,
    },
    /// A waiting step was evaluated, or a tool call of an attempt requires an approval.
    WaitOpened {
        /// Number of the instance.
        instance: InstanceIx,
        /// Iteration of the request; an answer of another iteration is dropped.
        iteration: u32,
        /// Number of the attempt; only the current one is accepted.
        attempt: u32,
        /// What it waits for.
        wait: Masked<Wait>,
    },
    /// The child run of a `playbook` step waits.
    ChildWaits {
        /// Number of the instance.
        instance: InstanceIx,
        /// Iteration of the request; an answer of another iteration is dropped.
        iteration: u32,
        /// Number of the attempt; only the current one is accepted.
        attempt: u32,
        /// What it waits for, as human-readable text.
        reason: Masked<String>,
    },
    /// The child run that a step waits for waits no more: another process answered it.
    ChildMoved {
        /// Number of the instance.
        instance: InstanceIx,
    },
    /// The cancellation of the run was requested.
    CancelRequested {
        /// Who requested it, as human-readable text.
        by: Masked<String>,
    },
    /// The run exceeded its timeout.
    Expired {
        /// The timeout in milliseconds.
        limit_ms: u64,
    },
    /// Start no attempt; leave when the running ones have ended.
    Drain {
        /// Reason, as human-readable text.
        reason: Masked<String>,
    },
    /// Start the next iteration of these steps and all that follow; without any, of all steps that
    /// did not succeed.
    Reset {
        /// Instances of the steps.
        roots: Vec<InstanceIx>,
        /// Whether the steps after them keep their results.
        alone: bool,
        /// Reason, as human-readable text.
        reason: Masked<String>,
    },
    /// The answer to [`Effect::Conclude`](super::Effect::Conclude).
    Concluded {
        /// Iteration of the request; an answer of another iteration is dropped.
        iteration: u32,
        /// Outputs of the run, or why they could not be evaluated.
        outputs: Result<Masked<Payload>, Masked<Failure>>,
    },
}

/// A person's reply to a question or a request for approval.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// Whether the step continues.
    pub approved: bool,
    /// Name of the person.
    pub by: String,
    /// The answer to a question, checked against its options and schema.
    pub answer: Option<Payload>,
    /// Comment of the person.
    pub comment: Option<String>,
    /// Id of the tool call that the reply is about; a reply about another call is dropped.
    pub call: Option<String>,
    /// The person was shown the changes of the run up to the event with this number.
    pub seen: Option<u64>,
}

/// What a step of a waiting kind waits for.
#[derive(Debug, Clone, PartialEq)]
pub enum Wait {
    /// It waits for a moment.
    Until(Timestamp),
    /// It waits for the answer of a person.
    Person(Box<Question>),
}

/// Result of [`Effect::Evaluate`](super::Effect::Evaluate).
#[derive(Debug, Clone, PartialEq)]
pub enum Evaluation {
    /// Value of the condition; true without a condition. False ends the step as skipped.
    Condition(bool),
    /// The condition is true, and this is the `forEach` list.
    Items {
        /// Unique keys of the items, in item order.
        keys: Vec<String>,
        /// The list of items.
        items: Payload,
        /// Whether the output is a map by key instead of a list.
        keyed: bool,
    },
}

impl Mask for Evaluation {
    fn masked_by(self, redactor: &Redactor) -> Evaluation {
        match self {
            Evaluation::Condition(holds) => Evaluation::Condition(holds),
            Evaluation::Items { keys, items, keyed } => Evaluation::Items {
                keys: keys.masked_by(redactor),
                items: items.masked_by(redactor),
                keyed,
            },
        }
    }
}

/// How an attempt ended, as the executor reports it, masked.
#[derive(Debug, Clone, PartialEq)]
pub struct AttemptReport {
    /// Kind of the outcome.
    pub outcome: OutcomeKind,
    /// Output of the attempt.
    pub output: Option<Payload>,
    /// `exitCode`, `stdout`, `stderr` of a process.
    pub streams: Option<Payload>,
    /// Cause of the failure.
    pub failure: Option<Failure>,
    /// Minimum delay before a retry, as the server or provider requested it.
    pub retry_after_ms: Option<u64>,
    /// Tokens and cost of the attempt.
    pub usage: Usage,
    /// What a specialist passes on to later steps.
    pub handoff: Option<Box<Handoff>>,
}

impl Mask for AttemptReport {
    fn masked_by(self, redactor: &Redactor) -> AttemptReport {
        AttemptReport {
            output: self.output.masked_by(redactor),
            streams: self.streams.masked_by(redactor),
            failure: self.failure.masked_by(redactor),
            handoff: self.handoff.masked_by(redactor),
            ..self
        }
    }
}

impl Mask for Reply {
    fn masked_by(self, redactor: &Redactor) -> Reply {
        Reply {
            approved: self.approved,
            by: self.by.masked_by(redactor),
            answer: self.answer.masked_by(redactor),
            comment: self.comment.masked_by(redactor),
            call: self.call,
            seen: self.seen,
        }
    }
}

impl Mask for Wait {
    /// The options and the schema of a question are literals of the definition, except where a server asks during a call.
    fn masked_by(self, redactor: &Redactor) -> Wait {
        match self {
            Wait::Person(question) => {
                let text = question.text.clone().masked_by(redactor);
                let schema = match &question.call {
                    Some(_) => question.schema.clone().map(|own| own.masked_by(redactor)),
                    None => question.schema.clone(),
                };
                Wait::Person(Box::new(Question { text, schema, ..*question }))
            }
            Wait::Until(due) => Wait::Until(due),
        }
    }
}
