//! The choices of keys that take one of several texts, with the values that they stand for.

use super::choice_list::choices;
use crate::definition::model::{
    AgentTools, ApprovalLevel, AuthorSandbox, Backoff, CacheScope, ClaimPolicy, ConflictPolicy,
    ContextProfile, EvidenceMode, FailurePolicy, InconclusivePolicy, MergePolicy, NamedForm,
    NetworkAccess, NotifyEvent, OnError, OnItemError, Order, ParamType, ProcessChoice,
    PromptRecording, Reasoning, RunEnd, RunIf, SignatureEncoding, SyncMode, WorkspaceMode,
};
use crate::schedule::{Keep, Overlap};
use crate::toolspec::ToolLevel;
use kb_base::value::{OutcomeKind, RunStatus, StepStatus, Tier, Verdict};

choices! {
    /// The values of `runIf`.
    RUN_IF, RUN_IF_NAMES: RunIf = {
        "allSucceeded" => RunIf::AllSucceeded,
        "noneFailed" => RunIf::NoneFailed,
        "anySucceeded" => RunIf::AnySucceeded,
        "allDone" => RunIf::AllDone,
    }
    /// What the failure of a step means for the run.
    ON_ERROR, ON_ERROR_NAMES: OnError = {
        "fail" => OnError::Fail,
        "continue" => OnError::Continue,
    }
    /// What the failure of an item means for its step and the other items.
    ON_ITEM_ERROR, ON_ITEM_ERROR_NAMES: OnItemError = {
        "fail" => OnItemError::Fail,
        "finish" => OnItemError::Finish,
        "continue" => OnItemError::Continue,
    }
    /// The values of `evidence`.
    EVIDENCE, EVIDENCE_NAMES: EvidenceMode = {
        "full" => EvidenceMode::Full,
        "none" => EvidenceMode::None,
    }
    /// `sandbox` of a step.
    AUTHOR_SANDBOX, AUTHOR_SANDBOX_NAMES: AuthorSandbox = {
        "auto" => AuthorSandbox::Auto,
        "always" => AuthorSandbox::Always,
        "never" => AuthorSandbox::Never,
    }
    /// The values of `workspace`.
    WORKSPACE, WORKSPACE_NAMES: WorkspaceMode = {
        "exclusive" => WorkspaceMode::Exclusive,
        "shared" => WorkspaceMode::Shared,
        "worktree" => WorkspaceMode::Worktree,
        "copy" => WorkspaceMode::Copy,
    }
    /// How the changes of an isolated step reach the project.
    MERGE, MERGE_NAMES: MergePolicy = {
        "patch" => MergePolicy::Patch,
        "rebase" => MergePolicy::Rebase,
        "none" => MergePolicy::None,
    }
    /// The values of `backoff`.
    BACKOFF, BACKOFF_NAMES: Backoff = {
        "fixed" => Backoff::Fixed,
        "linear" => Backoff::Linear,
        "exponential" => Backoff::Exponential,
    }
    /// Which steps share a stored result.
    CACHE_SCOPE, CACHE_SCOPE_NAMES: CacheScope = {
        "project" => CacheScope::Project,
        "step" => CacheScope::Step,
        "run" => CacheScope::Run,
    }
    /// `onConflict` of `concurrency`.
    CONFLICT, CONFLICT_NAMES: ConflictPolicy = {
        "queue" => ConflictPolicy::Queue,
        "skip" => ConflictPolicy::Skip,
        "cancelRunning" => ConflictPolicy::CancelRunning,
    }
    /// `git` of `requires`.
    GIT_STATE, GIT_STATE_NAMES: () = {
        "clean" => (),
    }
    /// `order` of a playbook.
    ORDER, ORDER_NAMES: Order = {
        "graph" => Order::Graph,
        "sequential" => Order::Sequential,
    }
    /// `trigger` of a workflow: whether it starts without a person.
    TRIGGER, TRIGGER_NAMES: bool = {
        "manual" => false,
        "auto" => true,
    }
    /// `overlap` of a trigger.
    OVERLAP, OVERLAP_NAMES: Overlap = {
        "skip" => Overlap::Skip,
        "queueOne" => Overlap::QueueOne,
        "queueAll" => Overlap::QueueAll,
        "cancel" => Overlap::Cancel,
        "allow" => Overlap::Allow,
    }
    /// `keep` of `catchUp`.
    KEEP, KEEP_NAMES: Keep = {
        "latest" => Keep::Latest,
        "all" => Keep::All,
    }
    /// The form of the signature of a webhook.
    WEBHOOK_FORM, WEBHOOK_FORM_NAMES: NamedForm = {
        "standard" => NamedForm::Standard,
        "svix" => NamedForm::Svix,
        "github" => NamedForm::Github,
        "gitlab" => NamedForm::Gitlab,
        "slack" => NamedForm::Slack,
        "stripe" => NamedForm::Stripe,
        "bearer" => NamedForm::Bearer,
    }
    /// How a signature of a webhook is written.
    SIGNATURE_ENCODING, SIGNATURE_ENCODING_NAMES: SignatureEncoding = {
        "hex" => SignatureEncoding::Hex,
        "base64" => SignatureEncoding::Base64,
    }
    /// `status` of a trigger on runs.
    RUN_END, RUN_END_NAMES: RunEnd = {
        "succeeded" => RunEnd::Succeeded,
        "failed" => RunEnd::Failed,
        "cancelled" => RunEnd::Cancelled,
    }
    /// `on` of `notify`.
    NOTIFY_EVENT, NOTIFY_EVENT_NAMES: &'static [NotifyEvent] = {
        "ended" => &[NotifyEvent::Succeeded, NotifyEvent::Failed, NotifyEvent::Cancelled],
        "succeeded" => &[NotifyEvent::Succeeded],
        "failed" => &[NotifyEvent::Failed],
        "cancelled" => &[NotifyEvent::Cancelled],
        "waiting" => &[NotifyEvent::Waiting],
        "recovered" => &[NotifyEvent::Recovered],
        "stopped" => &[NotifyEvent::Stopped],
        "missed" => &[NotifyEvent::Missed],
    }
    /// `type` of a parameter.
    PARAM_TYPE, PARAM_TYPE_NAMES: ParamType = {
        "string" => ParamType::String,
        "integer" => ParamType::Integer,
        "number" => ParamType::Number,
        "boolean" => ParamType::Boolean,
        "list" => ParamType::List,
        "object" => ParamType::Object,
        "path" => ParamType::Path,
        "secret" => ParamType::Secret,
    }
    /// The values of `claims`.
    CLAIMS, CLAIMS_NAMES: ClaimPolicy = {
        "strict" => ClaimPolicy::Strict,
        "warn" => ClaimPolicy::Warn,
        "none" => ClaimPolicy::None,
    }
    /// The values of `onFailed`.
    ON_FAILED, ON_FAILED_NAMES: FailurePolicy = {
        "rework" => FailurePolicy::Rework,
        "retry" => FailurePolicy::Retry,
        "escalateModel" => FailurePolicy::EscalateModel,
        "warn" => FailurePolicy::Warn,
        "fail" => FailurePolicy::Fail,
    }
    /// What follows a gate that is neither passed nor failed.
    ON_INCONCLUSIVE, ON_INCONCLUSIVE_NAMES: InconclusivePolicy = {
        "warn" => InconclusivePolicy::Warn,
        "fail" => InconclusivePolicy::Fail,
        "askUser" => InconclusivePolicy::AskUser,
    }
    /// `action` of `verifier.inconclusivePolicy`; `None`: not supported yet.
    INCONCLUSIVE_ACTION, INCONCLUSIVE_ACTION_NAMES: Option<InconclusivePolicy> = {
        "warn" => Some(InconclusivePolicy::Warn),
        "fail" => Some(InconclusivePolicy::Fail),
        "askUser" => Some(InconclusivePolicy::AskUser),
        "retry" => None,
        "escalate" => None,
    }
    /// `do` of a row of `recovery`: whether it is only available for specialist steps.
    RECOVERY_ACTION, RECOVERY_ACTION_NAMES: bool = {
        "retry" => false,
        "rework" => true,
        "escalateModel" => true,
        "changeStrategy" => true,
        "switchSpecialist" => true,
        "askUser" => false,
        "fail" => false,
    }
    /// `kind` of a stub in a test.
    FAILURE_KIND, FAILURE_KIND_NAMES: OutcomeKind = {
        "transient" => OutcomeKind::Transient,
        "timeout" => OutcomeKind::Timeout,
        "tool_error" => OutcomeKind::ToolError,
        "validation_failed" => OutcomeKind::ValidationFailed,
        "stuck" => OutcomeKind::Stuck,
        "policy_denied" => OutcomeKind::PolicyDenied,
        "unknown" => OutcomeKind::Unknown,
    }
    /// The names of the model tiers.
    TIER, TIER_NAMES: Tier = {
        "small" => Tier::Small,
        "medium" => Tier::Medium,
        "large" => Tier::Large,
    }
    /// `context` of a specialist and of the settings.
    CONTEXT_PROFILE, CONTEXT_PROFILE_NAMES: ContextProfile = {
        "compact" => ContextProfile::Compact,
        "standard" => ContextProfile::Standard,
        "wide" => ContextProfile::Wide,
    }
    /// `read` of `memory`. Agent files have further names.
    MEMORY_KIND, MEMORY_KIND_NAMES: &'static str = {
        "fact" => "fact",
        "procedure" => "procedure",
        "pitfall" => "pitfall",
        "decision" => "decision",
        "preference" => "preference",
        "skill" => "procedure",
        "observation" => "fact",
        "mistake" => "pitfall",
    }
    /// `reasoning` of `llm`.
    REASONING, REASONING_NAMES: Reasoning = {
        "low" => Reasoning::Low,
        "medium" => Reasoning::Medium,
        "high" => Reasoning::High,
    }
    /// `inputPolicy`: whether invalid input is an error.
    INPUT_POLICY, INPUT_POLICY_NAMES: bool = {
        "warn" => false,
        "strict" => true,
    }
    /// `network` of a specialist.
    NETWORK, NETWORK_NAMES: NetworkAccess = {
        "loopback" => NetworkAccess::Loopback,
        "none" => NetworkAccess::None,
        "open" => NetworkAccess::Open,
    }
    /// `tools` of a coding agent.
    AGENT_TOOLS, AGENT_TOOLS_NAMES: AgentTools = {
        "kb" => AgentTools::Kb,
        "own" => AgentTools::Own,
    }
    /// `transport` of an MCP server: whether it is spoken to over HTTP.
    SERVER_TRANSPORT, SERVER_TRANSPORT_NAMES: bool = {
        "stdio" => false,
        "http" => true,
        "sse" => true,
    }
    /// `level` of a plugin.
    LEVEL, LEVEL_NAMES: ToolLevel = {
        "safe" => ToolLevel::Safe,
        "moderate" => ToolLevel::Moderate,
        "restricted" => ToolLevel::Restricted,
        "critical" => ToolLevel::Critical,
    }
    /// Whether `output.format` of a specialist is what every output is: structured.
    OUTPUT_FORMAT, OUTPUT_FORMAT_NAMES: bool = {
        "structured" => true,
        "json" => true,
        "text" => false,
    }
    /// The sandbox level below which commands need an approval.
    SANDBOX_LEVEL, SANDBOX_LEVEL_NAMES: ApprovalLevel = {
        "none" => ApprovalLevel::None,
        "process" => ApprovalLevel::Process,
        "kernel" => ApprovalLevel::Kernel,
    }
    /// `sandbox.processes`.
    PROCESSES, PROCESSES_NAMES: ProcessChoice = {
        "group" => ProcessChoice::Group,
        "auto" => ProcessChoice::Auto,
        "pidNamespace" => ProcessChoice::PidNamespace,
    }
    /// `journal.prompts`.
    PROMPTS, PROMPTS_NAMES: PromptRecording = {
        "full" => PromptRecording::Full,
        "digest" => PromptRecording::Digest,
    }
    /// `status` of `expect` in a test: a run has ended or waits.
    EXPECTED_STATUS, EXPECTED_STATUS_NAMES: RunStatus = {
        "succeeded" => RunStatus::Succeeded,
        "failed" => RunStatus::Failed,
        "cancelled" => RunStatus::Cancelled,
        "waiting" => RunStatus::Waiting,
    }
    /// `steps` of `expect` in a test.
    EXPECTED_STEP_STATUS, EXPECTED_STEP_STATUS_NAMES: StepStatus = {
        "succeeded" => StepStatus::Succeeded,
        "failed" => StepStatus::Failed,
        "skipped" => StepStatus::Skipped,
        "blocked" => StepStatus::Blocked,
        "cancelled" => StepStatus::Cancelled,
        "waiting" => StepStatus::Waiting,
        "pending" => StepStatus::Pending,
    }
    /// `verdicts` of `expect` in a test.
    VERDICT, VERDICT_NAMES: Verdict = {
        "passed" => Verdict::Passed,
        "inconclusive" => Verdict::Inconclusive,
        "unchecked" => Verdict::Unchecked,
        "failed" => Verdict::Failed,
    }
    /// The values of `journal.sync`.
    SYNC, SYNC_NAMES: SyncMode = {
        "normal" => SyncMode::Normal,
        "full" => SyncMode::Full,
    }
}

/// Names of outcomes in `on`; `exit:N` is accepted too.
pub(crate) const OUTCOME_PATTERN: &str = r"^(\*|transient|timeout|exit|exit:[0-9]+|tool_error|validation_failed|gate_failed|gate_inconclusive|gate_unchecked|stuck|policy_denied|unknown)$";
