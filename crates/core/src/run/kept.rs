//! Results of an earlier run that a new run starts with, and steps that it skips.

use super::plan_revision::PlanRevision;
use crate::evidence::{Handoff, Payload, VerdictCounts, Verification};
use kb_base::value::{Digest, Failure, OutcomeKind, RunId, StepStatus};
use kb_language::plan::StepIx;
use serde::{Deserialize, Serialize};

/// The recorded result of a step instance, and where it was recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeptResult {
    /// The run that executed the instance.
    pub run: RunId,
    /// Name of the instance in that run.
    pub instance: String,
    /// Number of the event in that run with which the instance ended.
    pub seq: u64,
    /// Head of the hash chain of that run up to this event, which makes the result verifiable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<Digest>,
    /// `succeeded` or `skipped`; of an item whose failure was tolerated, `failed`.
    pub status: StepStatus,
    /// Number of attempts that it took.
    pub attempts: u32,
    /// Outcome of the last attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<OutcomeKind>,
    /// The output of the earlier run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Payload>,
    /// `exitCode`, `stdout`, `stderr` of its process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<Payload>,
    /// Result of its gate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<Verification>,
    /// Cause of a tolerated failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// What a specialist passed on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handoff: Option<Box<Handoff>>,
    /// The verdicts of the gates of its child run.
    #[serde(default, skip_serializing_if = "VerdictCounts::is_empty")]
    pub child_verdicts: VerdictCounts,
}

/// What is decided about a run before it starts.
#[derive(Debug, Clone, PartialEq)]
pub enum Preset {
    /// The result of the step is the one of an earlier run.
    Kept(StepIx, Box<KeptResult>),
    /// It is a `forEach` step whose items, or some of them, have the results of an earlier run.
    Items(StepIx, Box<KeptItems>),
    /// It does not run, on request.
    Skipped(StepIx),
    /// The plan is a revision of one whose run failed.
    Revised(Box<PlanRevision>),
}

/// The expansion of a `forEach` step in an earlier run, with the results of its items.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptItems {
    /// Unique keys of the items, in item order.
    pub keys: Vec<String>,
    /// The list of items.
    pub items: Payload,
    /// Whether the output is a map by key instead of a list.
    pub keyed: bool,
    /// The result of each item that is kept, in item order; the others run again.
    pub results: Vec<Option<KeptResult>>,
    /// The result of the step, if all items are kept.
    pub whole: Option<KeptResult>,
}

impl KeptResult {
    /// Digests of its large values.
    pub fn blobs(&self) -> Vec<Digest> {
        let artifacts = self.handoff.iter().flat_map(|handoff| &handoff.artifacts);
        let values = self.output.iter().chain(&self.streams);
        values.chain(artifacts.map(|artifact| &artifact.content)).filter_map(blob).collect()
    }
}

fn blob(payload: &Payload) -> Option<Digest> {
    match payload {
        Payload::Blob { digest, .. } => Some(*digest),
        Payload::Inline(_) => None,
    }
}

impl Preset {
    /// Digests of the large values of its results.
    pub fn blobs(&self) -> Vec<Digest> {
        match self {
            Preset::Kept(_, kept) => kept.blobs(),
            Preset::Items(_, kept) => {
                let results = kept.results.iter().flatten().chain(&kept.whole);
                results.flat_map(KeptResult::blobs).chain(blob(&kept.items)).collect()
            }
            Preset::Skipped(_) | Preset::Revised(_) => Vec::new(),
        }
    }
}

impl KeptResult {
    /// Whether another record says the same about the result, wherever it was recorded.
    pub fn agrees_with(&self, other: &KeptResult) -> bool {
        let result = |of: &KeptResult| (of.status, of.output.clone(), of.streams.clone());
        result(self) == result(other)
    }
}
