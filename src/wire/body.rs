use super::parts::{
    BlobRef, CheckView, ErrorView, EvidenceView, FileChange, RequestView, UsageView,
};
use crate::diagnostic::Severity;
use crate::evidence::{Confidence, InvocationStatus, Verdict};
use crate::run::{RunStatus, StepStatus};
use crate::value::Json;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What an event says, by its `type`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged, rename_all_fields = "camelCase")]
#[schemars(!untagged, tag = "type")]
pub enum Body {
    /// A run began.
    #[schemars(rename = "run:start")]
    RunStart {
        /// The definition's id.
        definition: String,
        /// Digest over everything that is frozen.
        digest: String,
        /// Parameters; secrets as references.
        params: Json,
        /// How far processes are held: `none`, `process`, `kernel`.
        #[serde(skip_serializing_if = "Option::is_none")]
        sandbox: Option<String>,
        /// How surely processes end with their step.
        #[serde(skip_serializing_if = "Option::is_none")]
        process: Option<String>,
        /// Everything known of the place.
        environment: Json,
    },
    /// A new lease owner took over the run.
    #[schemars(rename = "run:resume")]
    RunResume {
        /// The epoch of the lease owner.
        epoch: u64,
        /// Instances that were in flight and go on.
        in_flight: Vec<String>,
    },
    /// The run stands still and can be resumed.
    #[schemars(rename = "run:waiting")]
    RunWaiting {
        /// `waiting`: for people or budget; `interrupted`: it was told to stop starting work.
        #[schemars(with = "String", extend("enum" = ["waiting", "interrupted"]))]
        status: RunStatus,
        /// Why.
        reason: String,
    },
    /// All that is missing is a slot or a lock.
    #[schemars(rename = "step:ready")]
    StepReady {},
    /// An attempt begins.
    #[schemars(rename = "step:start")]
    StepStart {
        /// The step's kind key.
        kind: &'static str,
        /// Its specialist.
        #[serde(skip_serializing_if = "Option::is_none")]
        specialist: Option<String>,
        /// The specialist's model tier.
        #[serde(skip_serializing_if = "Option::is_none")]
        tier: Option<&'static str>,
    },
    /// A `forEach` list became instances.
    #[schemars(rename = "step:expanded")]
    StepExpanded {
        /// How many.
        count: usize,
        /// Their unique keys, in item order.
        keys: Vec<String>,
    },
    /// Instances go back to the start of their next iteration.
    #[schemars(rename = "step:reset")]
    StepReset {
        /// What was asked to go back.
        roots: Vec<String>,
        /// Everything that goes back.
        closure: Vec<String>,
        /// Why.
        reason: String,
    },
    /// The step waits and holds no slot.
    #[schemars(rename = "step:waiting")]
    StepWaiting {
        /// For what.
        reason: String,
        /// For this moment, RFC 3339; absent where it waits for a person.
        #[serde(skip_serializing_if = "Option::is_none")]
        until: Option<String>,
    },
    /// The model wrote this; only with `--tokens`, never stored, and left out where the reader lags far.
    #[schemars(rename = "step:token")]
    StepToken {
        /// A piece of text.
        text: String,
    },
    /// Something worth knowing of an attempt: a warning, a repair turn, a fallback model.
    #[schemars(rename = "step:note")]
    StepNote {
        /// How much it matters.
        #[schemars(with = "String", extend("enum" = ["info", "warning"]))]
        level: Severity,
        /// What.
        text: String,
    },
    /// A model answered.
    #[schemars(rename = "model:call")]
    ModelCall {
        /// Turn of the attempt, from 1.
        turn: u32,
        /// The model that answered.
        model: String,
        /// The tier it was chosen by.
        #[serde(skip_serializing_if = "Option::is_none")]
        tier: Option<&'static str>,
        /// What it took.
        usage: UsageView,
        /// Dollars; null where its price is not known.
        cost_usd: Option<f64>,
        /// How many tools it asks for.
        calls: usize,
        /// Digest of all that it was sent.
        request_hash: String,
        /// Digests of the parts of what it was sent.
        #[serde(skip_serializing_if = "Option::is_none")]
        digests: Option<RequestView>,
    },
    /// A tool is about to be called.
    #[schemars(rename = "tool:call")]
    ToolCall {
        /// Turn of the attempt; 0 for a step's own call.
        turn: u32,
        /// Unique within the attempt.
        id: String,
        /// Which tool.
        tool: String,
        /// Its arguments, masked.
        #[serde(skip_serializing_if = "Option::is_none")]
        args: Option<Arc<Json>>,
        /// Where they are, if they are large.
        #[serde(skip_serializing_if = "Option::is_none")]
        args_blob: Option<BlobRef>,
    },
    /// It ended.
    #[schemars(rename = "tool:result")]
    ToolResult {
        /// As in its call.
        turn: u32,
        /// As in its call.
        id: String,
        /// Which tool.
        tool: String,
        /// How it ended.
        #[schemars(
            with = "String",
            extend("enum" = ["success", "failed", "timeout", "denied", "unknown"])
        )]
        status: InvocationStatus,
        /// Digest of the unmasked arguments.
        args_hash: String,
        /// Bytes of the whole result.
        bytes: u64,
        /// Why it was denied or did not work, as its caller was told.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<ErrorView>,
        /// How long it took.
        duration_ms: u64,
        /// What it points to.
        evidence: Vec<EvidenceView>,
        /// Files that were changed while it ran.
        changes: Vec<FileChange>,
        /// Of a process: argv, cwd, digest of its environment, its end, bytes cut.
        #[serde(skip_serializing_if = "Option::is_none")]
        process: Option<Json>,
    },
    /// An attempt ended, before its gate.
    #[schemars(rename = "attempt:end")]
    AttemptEnd {
        /// In one word: `ok`, `transient`, `exit:1`, …
        outcome: String,
        /// Why it did not work.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<ErrorView>,
        /// What it took.
        usage: UsageView,
        /// How long it took.
        duration_ms: u64,
        /// Of a step's own process: argv, cwd, digest of its environment, its end, bytes cut.
        #[serde(skip_serializing_if = "Option::is_none")]
        process: Option<Json>,
    },
    /// A gate spoke.
    #[schemars(rename = "verification:complete")]
    VerificationComplete {
        /// What it says.
        #[schemars(with = "String", extend("enum" = ["passed", "failed", "inconclusive"]))]
        verdict: Verdict,
        /// How good the proof is.
        #[schemars(with = "String", extend("enum" = ["low", "medium", "high"]))]
        confidence: Confidence,
        /// The first reason that is not `passed`.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Each check, in order.
        checks: Vec<CheckView>,
    },
    /// A row of the recovery table was taken: another attempt follows.
    #[schemars(rename = "recovery:applied")]
    RecoveryApplied {
        /// What happened.
        outcome: String,
        /// What is done about it: `retry`, `rework`, …
        row: String,
        /// How often this row was taken now.
        taken: u32,
        /// How often it may be.
        max: u32,
        /// Why.
        reason: String,
    },
    /// A person is asked.
    #[schemars(rename = "ask:opened")]
    AskOpened {
        /// The question or the message.
        question: String,
        /// `ask` needs an answer, `approve` a decision.
        kind: &'static str,
        /// The accepted answers; empty accepts any.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        options: Vec<String>,
        /// The JSON Schema of the answer.
        #[serde(skip_serializing_if = "Option::is_none")]
        schema: Option<Json>,
        /// The answer that an empty reply stands for.
        #[serde(skip_serializing_if = "Option::is_none")]
        default: Option<Json>,
        /// When it is decided without a person, in RFC 3339.
        #[serde(skip_serializing_if = "Option::is_none")]
        until: Option<String>,
    },
    /// A person answered.
    #[schemars(rename = "ask:answered")]
    AskAnswered {
        /// Whether the step may continue.
        approved: bool,
        /// Who.
        by: String,
        /// The answer to a question, unless it is in a blob.
        #[serde(skip_serializing_if = "Option::is_none")]
        answer: Option<Arc<Json>>,
        /// A remark of the person.
        #[serde(skip_serializing_if = "Option::is_none")]
        comment: Option<String>,
    },
    /// An instance ended in this iteration.
    #[schemars(rename = "step:end")]
    StepEnd {
        /// How.
        #[schemars(
            with = "String",
            extend("enum" = ["succeeded", "failed", "skipped", "blocked", "cancelled"])
        )]
        status: StepStatus,
        /// Whether its failure does not fail the run.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        tolerated: bool,
        /// The output of the step.
        #[serde(skip_serializing_if = "Option::is_none")]
        output: Option<Arc<Json>>,
        /// Where that is, if it is large.
        #[serde(skip_serializing_if = "Option::is_none")]
        output_blob: Option<BlobRef>,
        /// Why it did not succeed.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<ErrorView>,
        /// What its gate said last.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Option<String>")]
        verdict: Option<Verdict>,
        /// Bytes that its process wrote to stdout beyond what is kept.
        #[serde(skip_serializing_if = "Option::is_none")]
        stdout_cut: Option<u64>,
        /// Whether it is one of `finally`, whose failures never fail the run.
        #[serde(rename = "finally", skip_serializing_if = "std::ops::Not::not")]
        is_finally: bool,
        /// What all its attempts of this iteration took, those of its items included.
        usage: UsageView,
        /// From the start of its first attempt, waits included; 0 where it never started.
        duration_ms: u64,
    },
    /// The run ended.
    #[schemars(rename = "run:end")]
    RunEnd {
        /// How.
        #[schemars(with = "String", extend("enum" = ["succeeded", "failed", "cancelled"]))]
        status: RunStatus,
        /// The outputs of the run.
        #[serde(skip_serializing_if = "Option::is_none")]
        outputs: Option<Arc<Json>>,
        /// Where that is, if it is large.
        #[serde(skip_serializing_if = "Option::is_none")]
        outputs_blob: Option<BlobRef>,
        /// Why it did not succeed, where that is not a step's own failure.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<ErrorView>,
        /// What it took, all iterations together.
        usage: UsageView,
        /// Steps by status.
        counts: BTreeMap<&'static str, u32>,
        /// From its first start.
        duration_ms: u64,
        /// Head of the hash chain over every stored event, this one included; `kb run verify`
        /// checks it. Absent for runs of versions without a hash chain.
        #[serde(skip_serializing_if = "Option::is_none")]
        trace_head: Option<String>,
    },
}

impl Body {
    /// The event's `type`.
    pub fn kind(&self) -> &'static str {
        match self {
            Body::RunStart { .. } => "run:start",
            Body::RunResume { .. } => "run:resume",
            Body::RunWaiting { .. } => "run:waiting",
            Body::StepReady {} => "step:ready",
            Body::StepStart { .. } => "step:start",
            Body::StepExpanded { .. } => "step:expanded",
            Body::StepReset { .. } => "step:reset",
            Body::StepWaiting { .. } => "step:waiting",
            Body::StepToken { .. } => "step:token",
            Body::StepNote { .. } => "step:note",
            Body::ModelCall { .. } => "model:call",
            Body::ToolCall { .. } => "tool:call",
            Body::ToolResult { .. } => "tool:result",
            Body::AttemptEnd { .. } => "attempt:end",
            Body::VerificationComplete { .. } => "verification:complete",
            Body::RecoveryApplied { .. } => "recovery:applied",
            Body::AskOpened { .. } => "ask:opened",
            Body::AskAnswered { .. } => "ask:answered",
            Body::StepEnd { .. } => "step:end",
            Body::RunEnd { .. } => "run:end",
        }
    }
}
