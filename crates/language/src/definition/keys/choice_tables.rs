//! The choices of keys that take one of several texts, with the values that they stand for.

use super::choice_list::{choice_table, choices_of};
use crate::definition::model::{AuthorSandbox, InconclusivePolicy};
use crate::schedule::{Keep, Overlap};
use crate::toolspec::ToolLevel;
use kb_base::value::{OutcomeKind, RunStatus, StepStatus, Tier, Verdict};

choice_table! {
    /// `git` of `requires`.
    GIT_STATE, GIT_STATE_NAMES: () = {
        "clean" => (),
    }
    /// `trigger` of a workflow: whether it starts without a person.
    TRIGGER, TRIGGER_NAMES: bool = {
        "manual" => false,
        "auto" => true,
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
    /// `inputPolicy`: whether invalid input is an error.
    INPUT_POLICY, INPUT_POLICY_NAMES: bool = {
        "warn" => false,
        "strict" => true,
    }
    /// `transport` of an MCP server: whether it is spoken to over HTTP.
    SERVER_TRANSPORT, SERVER_TRANSPORT_NAMES: bool = {
        "stdio" => false,
        "http" => true,
        "sse" => true,
    }
    /// Whether `output.format` of a specialist is what every output is: structured.
    OUTPUT_FORMAT, OUTPUT_FORMAT_NAMES: bool = {
        "structured" => true,
        "json" => true,
        "text" => false,
    }
}

choices_of! {
    AuthorSandbox {
        "auto" => Auto,
        "always" => Always,
        "never" => Never,
    }
    Overlap {
        "skip" => Skip,
        "queueOne" => QueueOne,
        "queueAll" => QueueAll,
        "cancel" => Cancel,
        "allow" => Allow,
    }
    Keep {
        "latest" => Latest,
        "all" => All,
    }
    OutcomeKind {
        "transient" => Transient,
        "timeout" => Timeout,
        "tool_error" => ToolError,
        "validation_failed" => ValidationFailed,
        "stuck" => Stuck,
        "policy_denied" => PolicyDenied,
        "unknown" => Unknown,
    }
    Tier {
        "small" => Small,
        "medium" => Medium,
        "large" => Large,
    }
    ToolLevel {
        "safe" => Safe,
        "moderate" => Moderate,
        "restricted" => Restricted,
        "critical" => Critical,
    }
    RunStatus {
        "succeeded" => Succeeded,
        "failed" => Failed,
        "cancelled" => Cancelled,
        "waiting" => Waiting,
    }
    StepStatus {
        "succeeded" => Succeeded,
        "failed" => Failed,
        "skipped" => Skipped,
        "blocked" => Blocked,
        "cancelled" => Cancelled,
        "waiting" => Waiting,
        "pending" => Pending,
    }
    Verdict {
        "passed" => Passed,
        "inconclusive" => Inconclusive,
        "unchecked" => Unchecked,
        "failed" => Failed,
    }
}

/// Names of outcomes in `on`; `exit:N` is accepted too.
pub(crate) const OUTCOME_PATTERN: &str = r"^(\*|transient|timeout|exit|exit:[0-9]+|tool_error|validation_failed|gate_failed|gate_inconclusive|gate_unchecked|stuck|policy_denied|unknown)$";
