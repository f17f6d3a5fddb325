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
    /// `status` of a call that a coding agent reported, in a script.
    REPORTED_STATUS, REPORTED_STATUS_NAMES: &'static str = {
        "success" => "success",
        "failed" => "failed",
        "unknown" => "unknown",
    }
    /// `action` of `verifier.inconclusivePolicy`; `None`: not supported yet.
    INCONCLUSIVE_ACTION, INCONCLUSIVE_ACTION_NAMES: Option<InconclusivePolicy> = {
        "warn" => Some(InconclusivePolicy::Warn),
        "fail" => Some(InconclusivePolicy::Fail),
        "askUser" => Some(InconclusivePolicy::AskUser),
        "retry" => None,
        "escalate" => None,
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
