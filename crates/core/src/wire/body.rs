//! The content of public events.

use super::parts::{
    BlobRef, CacheHitView, CheckView, ErrorView, EvidenceView, FileChange, KeptView, MergedView,
    OutputView, PhaseView, RequestView, UsageView,
};
use super::{
    BlackboardView, DelegateView, MessageView, PassView, PlanRevisionView, QuestionView,
    RecoveryView, SubscriberView, VerdictsView,
};
use crate::evidence::{Confidence, InvocationStatus, ProcessEvidence, Verdict};
use crate::run::{RunStatus, StepStatus};
use kb_base::diagnostic::Severity;
use kb_base::value::{Json, OutcomeKind};
use schemars::JsonSchema;
use serde::Serialize;
use std::{collections::BTreeMap, sync::Arc};

/// The content of an event, by its `type`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged, rename_all_fields = "camelCase")]
#[schemars(!untagged, tag = "type")]
pub enum Body {
    /// The first event of a run.
    #[schemars(rename = "run:start")]
    RunStart {
        /// Id of the definition.
        definition: String,
        /// Digest of the stored definitions, parameters and limits.
        digest: String,
        /// Parameter values; secrets are references.
        params: Json,
        /// Sandbox level: `none`, `process` or `kernel`.
        #[serde(skip_serializing_if = "Option::is_none")]
        sandbox: Option<String>,
        /// Process control level: `pid-namespace` or `group`.
        #[serde(skip_serializing_if = "Option::is_none")]
        process: Option<String>,
        /// Facts about the machine and the limits of the run.
        environment: Json,
    },
    /// A process continued the run.
    #[schemars(rename = "run:resume")]
    RunResume {
        /// Epoch of its lease.
        epoch: u64,
        /// Step instances that were running and continue.
        in_flight: Vec<String>,
    },
    /// The run stopped and can be resumed.
    #[schemars(rename = "run:waiting")]
    RunWaiting {
        /// `waiting`: for an answer or budget; `interrupted`: on request or by a signal.
        #[schemars(with = "String", extend("enum" = ["waiting", "interrupted"]))]
        status: RunStatus,
        /// Human-readable reason.
        reason: String,
    },
    /// The step instance can start and waits for a slot or a lock.
    #[schemars(rename = "step:ready")]
    StepReady {},
    /// An attempt started.
    #[schemars(rename = "step:start")]
    StepStart {
        /// Step kind, such as `run`.
        kind: &'static str,
        /// Id of the specialist, for specialist steps.
        #[serde(skip_serializing_if = "Option::is_none")]
        specialist: Option<String>,
        /// Model tier of the specialist.
        #[serde(skip_serializing_if = "Option::is_none")]
        tier: Option<&'static str>,
    },
    /// A `forEach` list was expanded into step instances.
    #[schemars(rename = "step:expanded")]
    StepExpanded {
        /// Number of items.
        count: usize,
        /// Unique keys of the items, in order.
        keys: Vec<String>,
    },
    /// Step instances start their next iteration.
    #[schemars(rename = "step:reset")]
    StepReset {
        /// The step instances that were reset on request.
        roots: Vec<String>,
        /// All step instances that are reset, including dependents.
        closure: Vec<String>,
        /// Human-readable reason.
        reason: String,
    },
    /// The step instance waits without a slot.
    #[schemars(rename = "step:waiting")]
    StepWaiting {
        /// What it waits for.
        reason: String,
        /// End of the wait, in RFC 3339; absent if it waits for a person.
        #[serde(skip_serializing_if = "Option::is_none")]
        until: Option<String>,
        /// Whether it waits for a higher budget.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        #[schemars(with = "Option<bool>")]
        needs_budget: bool,
    },
    /// A piece of model text. Only with `--tokens`, not stored, and dropped for slow readers.
    #[schemars(rename = "step:token")]
    StepToken {
        /// What the model wrote.
        text: String,
    },
    /// What the process of a step wrote since the last such event, in whole lines.
    #[schemars(rename = "step:output")]
    StepOutput(OutputView),
    /// A note about an attempt: a warning, a repair turn, a fallback model.
    #[schemars(rename = "step:note")]
    StepNote {
        /// Severity of the note.
        #[schemars(with = "String", extend("enum" = ["info", "warning"]))]
        level: Severity,
        /// What `kb` notes about the attempt.
        text: String,
    },
    /// The cost reached the warning threshold of a budget.
    #[schemars(rename = "budget:warning")]
    BudgetWarning {
        /// The warning.
        text: String,
    },
    /// A phase of a specialist with `agentLoop` began.
    #[schemars(rename = "agent:phase")]
    AgentPhase(PhaseView),
    /// A model call ended with a response.
    #[schemars(rename = "model:call")]
    ModelCall {
        /// Number of the turn in the attempt, from 1.
        turn: u32,
        /// Name of the model.
        model: String,
        /// Model tier that the model was chosen for.
        #[serde(skip_serializing_if = "Option::is_none")]
        tier: Option<&'static str>,
        /// Tokens and cost.
        usage: UsageView,
        /// Cost in US dollars; null if the price is unknown.
        cost_usd: Option<f64>,
        /// Number of tool calls in the response.
        calls: usize,
        /// Digest of the whole request.
        request_hash: String,
        /// Digests of the parts of the request.
        #[serde(skip_serializing_if = "Option::is_none")]
        digests: Option<RequestView>,
    },
    /// A tool call started.
    #[schemars(rename = "tool:call")]
    ToolCall {
        /// Number of the turn; 0 for a call by the step itself.
        turn: u32,
        /// Id of the call, unique in the attempt.
        id: String,
        /// Name of the tool.
        tool: String,
        /// Arguments, with secrets masked.
        #[serde(skip_serializing_if = "Option::is_none")]
        args: Option<Arc<Json>>,
        /// The blob of large arguments.
        #[serde(skip_serializing_if = "Option::is_none")]
        args_blob: Option<BlobRef>,
        /// An estimate of how much of the work of a specialist is done before the call, from phases, rounds and calls.
        #[serde(skip_serializing_if = "Option::is_none")]
        progress_percent: Option<u8>,
    },
    /// A tool call ended.
    #[schemars(rename = "tool:result")]
    ToolResult {
        /// The same value as in `tool:call`.
        turn: u32,
        /// The same value as in `tool:call`.
        id: String,
        /// Name of the tool.
        tool: String,
        /// Status of the call.
        #[schemars(
            with = "String",
            extend("enum" = ["success", "failed", "timeout", "denied", "unknown"])
        )]
        status: InvocationStatus,
        /// Digest of the arguments before masking.
        args_hash: String,
        /// Size of the whole result in bytes.
        bytes: u64,
        /// The error that the caller received.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<ErrorView>,
        /// Duration in milliseconds.
        duration_ms: u64,
        /// References to evidence: files, HTTP responses, receipts.
        evidence: Vec<EvidenceView>,
        /// Files that changed during the call.
        changes: Vec<FileChange>,
        /// Facts about the process: argv, cwd, digest of its environment, exit, truncated bytes.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Option<Json>")]
        process: Option<Box<ProcessEvidence>>,
    },
    /// An attempt ended; its gate follows.
    #[schemars(rename = "attempt:end")]
    AttemptEnd {
        /// Outcome: `ok`, `transient`, `exit:1`, …
        #[serde(serialize_with = "super::body_type::by_name")]
        #[schemars(with = "String")]
        outcome: OutcomeKind,
        /// The failure, if there is one.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<ErrorView>,
        /// Tokens and cost.
        usage: UsageView,
        /// Duration in milliseconds.
        duration_ms: u64,
        /// Facts about the process of the step: argv, cwd, digest of its environment, exit, truncated bytes.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Option<Json>")]
        process: Option<Box<ProcessEvidence>>,
    },
    /// A gate gave its verdict.
    #[schemars(rename = "verification:complete")]
    VerificationComplete {
        /// Verdict of the gate.
        #[schemars(with = "String", extend("enum" = ["passed", "failed", "inconclusive", "unchecked"]))]
        verdict: Verdict,
        /// Strength of the proof.
        #[schemars(with = "String", extend("enum" = ["low", "medium", "high"]))]
        confidence: Confidence,
        /// Reason of the first check that did not pass.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Results of all checks, in order.
        checks: Vec<CheckView>,
        /// The assessment of the judge, with the fields that `submit_verification` has.
        #[serde(skip_serializing_if = "Option::is_none")]
        assessment: Option<Json>,
        /// Tokens and cost of the judge.
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<UsageView>,
    },
    /// A row of the recovery table was applied; another attempt follows.
    #[schemars(rename = "recovery:applied")]
    RecoveryApplied(RecoveryView),
    /// A step sent a message to a channel.
    #[schemars(rename = "channel_publish")]
    ChannelPublish(MessageView),
    /// A step receives the messages of a channel, or asked for those that it had not acknowledged.
    #[schemars(rename = "channel_subscribe")]
    ChannelSubscribe(SubscriberView),
    /// A step acknowledged messages of a channel.
    #[schemars(rename = "channel_ack")]
    ChannelAck(SubscriberView),
    /// A step receives the messages of a channel no more.
    #[schemars(rename = "channel_unsubscribe")]
    ChannelUnsubscribe(SubscriberView),
    /// A step wrote a value of the blackboard.
    #[schemars(rename = "blackboard_write")]
    BlackboardWrite(BlackboardView),
    /// A step read the blackboard.
    #[schemars(rename = "blackboard_read")]
    BlackboardRead(BlackboardView),
    /// A specialist gave a task to another one.
    #[schemars(rename = "delegate")]
    Delegate(DelegateView),
    /// A planner replaced steps of a plan whose run failed, and this run continues it.
    #[schemars(rename = "plan:revised")]
    PlanRevised(Box<PlanRevisionView>),
    /// A pass of a `loop` succeeded.
    #[schemars(rename = "loop:pass")]
    LoopPass(PassView),
    /// The changes of a step with a worktree or a copy of its own were merged.
    #[schemars(rename = "step:merged")]
    StepMerged {
        /// The worktrees or copies in item order.
        trees: Vec<MergedView>,
    },
    /// The attempt took a stored result in place of its work.
    #[schemars(rename = "cache:hit")]
    CacheHit(Box<CacheHitView>),
    /// A child run starts, or continues after a wait or a failure.
    #[schemars(rename = "child:start")]
    ChildStart {
        /// Id of the child run.
        child: String,
        /// Id of its playbook or workflow.
        definition: String,
    },
    /// A child run ended, or waits for a person.
    #[schemars(rename = "child:end")]
    ChildEnd {
        /// Id of the child run.
        child: String,
        /// Status of the child run.
        #[schemars(with = "String")]
        status: RunStatus,
        /// The verdicts of its gates; absent without gates.
        #[serde(skip_serializing_if = "Option::is_none")]
        verdicts: Option<VerdictsView>,
    },
    /// A question to a person.
    #[schemars(rename = "ask:opened")]
    AskOpened(Box<QuestionView>),
    /// The answer of a person.
    #[schemars(rename = "ask:answered")]
    AskAnswered {
        /// Whether the step continues.
        approved: bool,
        /// Name of the person or command.
        by: String,
        /// The answer to a question, unless it is in a blob.
        #[serde(skip_serializing_if = "Option::is_none")]
        answer: Option<Arc<Json>>,
        /// A remark of the person.
        #[serde(skip_serializing_if = "Option::is_none")]
        comment: Option<String>,
    },
    /// A step instance ended in this iteration.
    #[schemars(rename = "step:end")]
    StepEnd {
        /// Status at the end.
        #[schemars(
            with = "String",
            extend("enum" = ["succeeded", "failed", "skipped", "blocked", "cancelled"])
        )]
        status: StepStatus,
        /// Whether the failure does not fail the run.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        tolerated: bool,
        /// Output of the step instance.
        #[serde(skip_serializing_if = "Option::is_none")]
        output: Option<Arc<Json>>,
        /// The blob of a large value.
        #[serde(skip_serializing_if = "Option::is_none")]
        output_blob: Option<BlobRef>,
        /// The failure, if it did not succeed.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<ErrorView>,
        /// Last verdict of its gate.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Option<String>")]
        verdict: Option<Verdict>,
        /// Bytes of stdout over the size limit, which were not stored.
        #[serde(skip_serializing_if = "Option::is_none")]
        stdout_cut: Option<u64>,
        /// Number of attempts for which recovery chose a larger model; absent if 0.
        #[serde(skip_serializing_if = "super::body_type::is_zero")]
        #[schemars(with = "Option<u32>")]
        escalations: u32,
        /// The earlier run whose result was kept; absent if this run executed the instance.
        #[serde(skip_serializing_if = "Option::is_none")]
        kept_from: Option<Box<KeptView>>,
        /// Why it was skipped or blocked.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<Box<str>>,
        /// Whether it is a `finally` step, whose failure does not fail the run.
        #[serde(rename = "finally", skip_serializing_if = "std::ops::Not::not")]
        is_finally: bool,
        /// Usage of all attempts in this iteration, including items.
        usage: UsageView,
        /// Milliseconds since its first attempt, including waits; 0 if it never started.
        duration_ms: u64,
    },
    /// The run ended. Other events follow if it is retried.
    #[schemars(rename = "run:end")]
    RunEnd {
        /// Status at the end.
        #[schemars(with = "String", extend("enum" = ["succeeded", "failed", "cancelled"]))]
        status: RunStatus,
        /// Outputs of the run.
        #[serde(skip_serializing_if = "Option::is_none")]
        outputs: Option<Arc<Json>>,
        /// The blob of a large value.
        #[serde(skip_serializing_if = "Option::is_none")]
        outputs_blob: Option<BlobRef>,
        /// The failure of the run, if it is not the failure of a step.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<ErrorView>,
        /// Usage of all iterations.
        usage: UsageView,
        /// Number of steps by status.
        #[schemars(with = "BTreeMap<String, u32>")]
        counts: BTreeMap<StepStatus, u32>,
        /// Number of step instances, also of child runs, that succeeded although their gate did not pass; absent if 0.
        #[serde(skip_serializing_if = "super::body_type::is_zero")]
        #[schemars(with = "Option<u32>")]
        unproven: u32,
        /// Milliseconds since the first start.
        duration_ms: u64,
        /// Head of the hash chain over all stored events with this one; absent in runs of an older `kb`.
        #[serde(skip_serializing_if = "Option::is_none")]
        trace_head: Option<String>,
    },
}
