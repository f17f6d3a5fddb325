//! Names and styles of statuses.

use crate::cli::terminal::{DIM, ERROR, GOOD, HINT, WARNING, paint};
use crate::wire::{Confidence, InvocationStatus, RunStatus, StepStatus, Verdict};
use anstyle::Style;

/// A status that is displayed by its name in a style.
pub(in crate::cli) trait Status: Copy {
    /// The name, as in `--json`.
    fn name(self) -> &'static str;
    /// The style of the name.
    fn style(self) -> Style;
    /// The name in its style.
    fn styled(self) -> String {
        paint(self.style(), self.name())
    }
}

impl Status for RunStatus {
    fn name(self) -> &'static str {
        self.as_str()
    }

    fn style(self) -> Style {
        match self {
            RunStatus::Succeeded => GOOD,
            RunStatus::Failed => ERROR,
            RunStatus::Cancelled | RunStatus::Interrupted | RunStatus::Waiting => WARNING,
            RunStatus::Running => HINT,
        }
    }
}

impl Status for StepStatus {
    fn name(self) -> &'static str {
        self.as_str()
    }

    fn style(self) -> Style {
        match self {
            StepStatus::Succeeded => GOOD,
            StepStatus::Failed | StepStatus::Blocked => ERROR,
            StepStatus::Cancelled | StepStatus::Waiting => WARNING,
            StepStatus::Skipped | StepStatus::Pending => DIM,
            StepStatus::Ready | StepStatus::Running | StepStatus::Verifying => HINT,
        }
    }
}

impl Status for Verdict {
    fn name(self) -> &'static str {
        match self {
            Verdict::Passed => "passed",
            Verdict::Inconclusive => "inconclusive",
            Verdict::Failed => "failed",
        }
    }

    fn style(self) -> Style {
        match self {
            Verdict::Passed => GOOD,
            Verdict::Inconclusive => WARNING,
            Verdict::Failed => ERROR,
        }
    }
}

impl Status for InvocationStatus {
    fn name(self) -> &'static str {
        match self {
            InvocationStatus::Success => "success",
            InvocationStatus::Failed => "failed",
            InvocationStatus::Timeout => "timeout",
            InvocationStatus::Denied => "denied",
            InvocationStatus::Unknown => "unknown",
        }
    }

    fn style(self) -> Style {
        match self {
            InvocationStatus::Success => GOOD,
            InvocationStatus::Failed | InvocationStatus::Denied => ERROR,
            InvocationStatus::Timeout => WARNING,
            InvocationStatus::Unknown => HINT,
        }
    }
}

/// The name of a confidence.
pub(super) fn confidence(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Low => "low",
        Confidence::Medium => "medium",
        Confidence::High => "high",
    }
}
