//! The values that the engine is started with, and those that it returns.

use crate::journal::{Journal, StoredEvent};
use kb_attempt::{Executor, Live, ParentFacts, Progress, Recorder};
use kb_base::value::{Digest, Failure, InstanceKey, Json, JsonMap, RunId, Timestamp, Usage};
use kb_clock::RunClock;
use kb_core::evidence::Payload;
use kb_core::redaction::{Masked, Redactor};
use kb_core::run::{InstanceIx, Preset, Reply, Rules, RunStatus};
use kb_language::definition::PromptRecording;
use kb_language::plan::{Facts, Plan};
use std::sync::Arc;

use super::earlier_changes::EarlierWork;
use super::secrets::Secrets;
use super::verified_result::VerifiedResults;
use super::write_fault::WriteFaults;

/// The parts that the engine uses.
#[derive(Clone)]
pub struct Parts {
    /// Where events and large values are stored.
    pub journal: Arc<dyn Journal>,
    /// Executes attempts and gates.
    pub executor: Arc<dyn Executor>,
    /// Resolves secrets for each attempt.
    pub secrets: Arc<dyn Secrets>,
    /// Masks the results of attempts before they are stored.
    pub redactor: Arc<Redactor>,
    /// What the journal keeps of the prompts of model calls.
    pub prompts: PromptRecording,
    /// The time of the run.
    pub clock: RunClock,
    /// Faults of the journal that a test injects.
    pub faults: Option<Arc<WriteFaults>>,
    /// The attempt of the parent run that waits for this one. It is not idle while something happens here.
    pub parent: Option<Arc<dyn Recorder>>,
}

/// A run that is ready to be driven. This process owns its lease.
pub struct Setup {
    /// The parts that the engine uses.
    pub parts: Parts,
    /// The run to drive; the journal has its row.
    pub run: RunId,
    /// Epoch of the lease, from [`RunIndex::create`](crate::journal::RunIndex::create) or
    /// [`Leases::acquire`](crate::journal::Leases::acquire).
    pub epoch: u64,
    /// The plan of the frozen definitions.
    pub plan: Arc<Plan>,
    /// Parameters; secrets are references.
    pub params: Arc<Json>,
    /// Frozen texts of `taskFile`s, by path.
    pub task_files: JsonMap,
    /// Options that are not in the plan.
    pub rules: Rules,
    /// What another run knows of the files and values of this one.
    pub facts: Facts,
    /// What the run knows that executes this one as a child run.
    pub parent: Option<Live<ParentFacts>>,
    /// How the run starts or continues.
    pub start: StartMode,
    /// All events of the run so far; empty for a new run.
    pub history: Vec<StoredEvent>,
    /// Results of an earlier run that are verified again in place of the work of their steps.
    pub verified: VerifiedResults,
    /// What the runs that this one continues left.
    pub earlier: EarlierWork,
}

/// The reason of a retry.
pub const RETRIED: &str = "requested by `kb run retry`";

/// How a lease owner starts or continues a run.
#[derive(Debug, Clone, PartialEq)]
pub enum StartMode {
    /// Start a new run.
    Start {
        /// Digest of the frozen state.
        digest: Digest,
        /// Environment of the run for its first event.
        environment: Json,
        /// Steps that do not run, because an earlier run has their result or on request.
        presets: Vec<Preset>,
    },
    /// Continue an interrupted or waiting run.
    Resume,
    /// Re-open an ended run: these steps and all that follow, or all steps that did not succeed.
    Retry {
        /// Instances of the steps; empty for all steps that did not succeed.
        from: Vec<InstanceIx>,
        /// Whether the steps after them keep their results.
        alone: bool,
        /// Why, as human-readable text.
        reason: String,
    },
    /// Reply to what waits for a person, and continue.
    Answer {
        /// The step or instance; `None` for all that wait.
        step: Option<String>,
        /// Decision or answer.
        reply: Reply,
    },
    /// Cancel a run that had no lease owner.
    Cancel {
        /// Who requests it, as human-readable text.
        by: String,
    },
}

impl StartMode {
    /// A retry of these instances, or of all steps that did not succeed, as a person requests it.
    pub fn retry(from: Vec<InstanceIx>, alone: bool) -> StartMode {
        StartMode::Retry { from, alone, reason: RETRIED.to_owned() }
    }
}

/// A control of a running run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunControl {
    /// Start no attempt; leave when the running ones have ended (first Ctrl-C).
    Drain(String),
    /// Stop all attempts and leave; the run can be resumed (second Ctrl-C).
    Abandon,
    /// Cancel the run, for this reason.
    Cancel(String),
}

/// An update for displays.
#[derive(Debug, Clone)]
pub enum Update {
    /// Events of one append, which were stored.
    Stored(Vec<StoredEvent>),
    /// Progress of an attempt, which is never stored.
    Progress {
        /// Key of the instance.
        instance: InstanceKey,
        /// What the attempt reports while it runs.
        progress: Masked<Progress>,
    },
}

/// The state in which the engine left a run.
#[derive(Debug, Clone)]
pub struct Summary {
    /// The run that was driven.
    pub run: RunId,
    /// Status: ended, `waiting` or `interrupted`.
    pub status: RunStatus,
    /// Outputs of the run.
    pub outputs: Option<Payload>,
    /// Why the run failed, if no step caused it.
    pub failure: Option<Failure>,
    /// Tokens and cost of the run.
    pub usage: Usage,
    /// When the run was first started, not resumed.
    pub started_at: Timestamp,
    /// Time at which the engine left it.
    pub ended_at: Timestamp,
}
