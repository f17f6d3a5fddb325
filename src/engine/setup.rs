use crate::attempt::Progress;
use crate::definition::PromptRecording;
use crate::evidence::Payload;
use crate::executor::Executor;
use crate::journal::{Journal, StoredEvent};
use crate::plan::Plan;
use crate::redaction::{Masked, Redactor};
use crate::run::{InstanceIx, Reply, Rules, RunStatus};
use crate::value::{Digest, Failure, InstanceKey, Json, RunId, Timestamp, Usage};
use std::sync::Arc;
use tokio::sync::mpsc::UnboundedReceiver;

use super::event_channel::EventSender;
use super::scope::Secrets;

/// What the engine stands on.
#[derive(Clone)]
pub struct Parts {
    /// Where runs live.
    pub journal: Arc<dyn Journal>,
    /// Does the work and looks at it.
    pub executor: Arc<dyn Executor>,
    /// Resolves secrets at each attempt.
    pub secrets: Arc<dyn Secrets>,
    /// Masks what attempts hand out before it is stored.
    pub redactor: Arc<Redactor>,
    /// What the journal keeps of the prompts of model calls.
    pub prompts: PromptRecording,
}

/// One run to be driven.
pub struct Setup {
    /// Which.
    pub run: RunId,
    /// The holder's epoch, from `Journal::create` or `take`.
    pub epoch: u64,
    /// Its sealed plan.
    pub plan: Arc<Plan>,
    /// Its parameters, secrets as references.
    pub params: Arc<Json>,
    /// What holds over it.
    pub rules: Rules,
    /// How it begins.
    pub opening: StartMode,
    /// Who watches; may be closed at any time.
    pub updates: Option<EventSender>,
    /// What the terminal wants.
    pub commands: UnboundedReceiver<RunControl>,
}

/// How a holder begins.
#[derive(Debug, Clone, PartialEq)]
pub enum StartMode {
    /// A new run.
    Start {
        /// Digest over everything frozen.
        digest: Digest,
        /// What is known of the place, for `run:start`.
        environment: Json,
    },
    /// Go on with one that was interrupted or waits.
    Resume,
    /// Re-open one that ended: these steps and what follows, or all that did not succeed.
    Retry {
        /// Step ids; none means everything that did not succeed.
        from: Vec<InstanceIx>,
    },
    /// Answer for what waits for a person, and go on.
    Answer {
        /// The step or instance; none means everything that waits.
        step: Option<String>,
        /// The reply.
        reply: Reply,
    },
    /// End one that has no holder.
    Cancel {
        /// Who wants it.
        by: String,
    },
}

/// What the terminal may want of a run under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunControl {
    /// Start nothing new; leave when what runs has ended (the first Ctrl-C).
    Drain(String),
    /// Leave at once and kill what runs; the run can be resumed (the second Ctrl-C).
    Abandon,
    /// Stop for good.
    Cancel(String),
}

/// What watchers are told.
#[derive(Debug, Clone)]
pub enum Update {
    /// These events were stored, in one append: waking whoever watches costs more than deciding.
    Stored(Vec<StoredEvent>),
    /// Something to show, never stored.
    Progress {
        /// Whose.
        instance: InstanceKey,
        /// What.
        progress: Masked<Progress>,
    },
}

/// How the holder left the run.
#[derive(Debug, Clone)]
pub struct Summary {
    /// Which run.
    pub run: RunId,
    /// Where it stands: ended, `waiting` or `interrupted`.
    pub status: RunStatus,
    /// What it handed out.
    pub outputs: Option<Payload>,
    /// Why it did not succeed, where that is not a step's own failure.
    pub failure: Option<Failure>,
    /// What it took.
    pub usage: Usage,
    /// When it began.
    pub started_at: Timestamp,
    /// When the holder left.
    pub ended_at: Timestamp,
}
