use super::event::InstanceIx;
use super::question::Question;
use crate::evidence::Verification;
use crate::evidence::{Payload, Record};
use crate::redaction::{Mask, Masked, Redactor};
use crate::value::{Digest, Failure, Json, OutcomeKind, Timestamp, Usage};

/// One input with its place in the run's history. `at` is the only time that the heart knows.
#[derive(Debug, Clone, PartialEq)]
pub struct Envelope {
    /// When it was taken in.
    pub at: Timestamp,
    /// The holder's epoch.
    pub epoch: u64,
    /// What happened.
    pub input: Input,
}

/// What the heart can be told.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// A new run.
    Started {
        /// Digest over everything that is frozen.
        digest: Digest,
        /// Parameters with secrets as references.
        params: Json,
        /// What is known of the place.
        environment: Json,
    },
    /// A new holder folded the journal; what was in flight goes on, unless it comes to cancel.
    Recovered {
        /// Who wants the run to stop, where that is why there is a new holder.
        cancel: Option<String>,
    },
    /// An [`Effect::Evaluate`](super::Effect::Evaluate) has its answer.
    Evaluated {
        /// Whose.
        instance: InstanceIx,
        /// Its iteration; an answer from another one is dropped.
        iteration: u32,
        /// What was found.
        found: Result<Masked<Evaluation>, Masked<Failure>>,
    },
    /// An attempt recorded something.
    Recorded {
        /// Which.
        instance: InstanceIx,
        /// Its iteration; an answer from another one is dropped.
        iteration: u32,
        /// Its attempt.
        attempt: u32,
        /// What.
        record: Masked<Box<Record>>,
    },
    /// An attempt ended.
    AttemptEnded {
        /// Which.
        instance: InstanceIx,
        /// Its iteration; an answer from another one is dropped.
        iteration: u32,
        /// Which attempt; others than the present one are dropped.
        attempt: u32,
        /// How.
        report: Masked<AttemptReport>,
    },
    /// A gate spoke.
    Judged {
        /// Which.
        instance: InstanceIx,
        /// Its iteration; an answer from another one is dropped.
        iteration: u32,
        /// Which attempt.
        attempt: u32,
        /// What it found.
        verification: Masked<Verification>,
    },
    /// A moment that was asked for has come.
    TimerDue {
        /// Whose.
        instance: InstanceIx,
    },
    /// A `forEach` step's item outputs were gathered.
    Gathered {
        /// The step.
        instance: InstanceIx,
        /// Its iteration; an answer from another one is dropped.
        iteration: u32,
        /// Its output, or why it cannot be had.
        output: Result<Masked<Payload>, Masked<Failure>>,
    },
    /// A person answered.
    Answered {
        /// The instance that waits.
        instance: InstanceIx,
        /// The decision or answer.
        reply: Masked<Reply>,
    },
    /// What a waiting step waits for was evaluated.
    WaitOpened {
        /// The instance.
        instance: InstanceIx,
        /// Its iteration; a result of another one is dropped.
        iteration: u32,
        /// Its attempt; a result of another one is dropped.
        attempt: u32,
        /// What it waits for.
        wait: Masked<Wait>,
    },
    /// Stop for good.
    CancelRequested {
        /// Who or what, for people.
        by: Masked<String>,
    },
    /// The run's own time is up.
    Expired {
        /// The bound, in milliseconds.
        limit_ms: u64,
    },
    /// Start nothing new; leave when what runs has ended.
    Drain {
        /// Why, for people.
        reason: String,
    },
    /// Go back: these steps and everything after them; with none, all that did not succeed.
    Reset {
        /// Where from.
        roots: Vec<InstanceIx>,
        /// Why, for people.
        reason: String,
    },
    /// The run's outputs were evaluated.
    Concluded {
        /// As asked for; an answer to an earlier question is dropped.
        iteration: u32,
        /// Them, or why there are none.
        outputs: Result<Masked<Payload>, Masked<Failure>>,
    },
}

/// A person's reply to a question or a request for approval.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// Whether the step continues.
    pub approved: bool,
    /// Who replied, for people.
    pub by: String,
    /// The answer to a question, checked against its options and schema.
    pub answer: Option<Payload>,
    /// A remark.
    pub comment: Option<String>,
}

/// What a step of a waiting kind waits for.
#[derive(Debug, Clone, PartialEq)]
pub enum Wait {
    /// A moment.
    Until(Timestamp),
    /// A person.
    Person(Question),
}

/// What an evaluation found.
#[derive(Debug, Clone, PartialEq)]
pub enum Evaluation {
    /// The condition's truth; true where there is none, false ends the step as skipped.
    Condition(bool),
    /// The condition held, and this is the `forEach` list.
    Items {
        /// Unique keys, in item order.
        keys: Vec<String>,
        /// The items.
        items: Payload,
        /// Whether the output is a map by key.
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

/// How an attempt ended, as the executor saw it.
#[derive(Debug, Clone, PartialEq)]
pub struct AttemptReport {
    /// In one word.
    pub outcome: OutcomeKind,
    /// What it handed out.
    pub output: Option<Payload>,
    /// `exitCode`, `stdout`, `stderr`.
    pub streams: Option<Payload>,
    /// Why it did not work.
    pub failure: Option<Failure>,
    /// How long the provider wants us to wait at least.
    pub retry_after_ms: Option<u64>,
    /// What it took.
    pub usage: Usage,
}

impl Mask for AttemptReport {
    fn masked_by(self, redactor: &Redactor) -> AttemptReport {
        AttemptReport {
            output: self.output.masked_by(redactor),
            streams: self.streams.masked_by(redactor),
            failure: self.failure.masked_by(redactor),
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
        }
    }
}

impl Mask for Wait {
    /// The options and the schema of a question are literals of the definition.
    fn masked_by(self, redactor: &Redactor) -> Wait {
        match self {
            Wait::Person(question) => {
                Wait::Person(Question { text: question.text.masked_by(redactor), ..question })
            }
            Wait::Until(due) => Wait::Until(due),
        }
    }
}
