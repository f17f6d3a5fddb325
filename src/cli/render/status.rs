//! Names and styles of statuses.

use crate::cli::terminal::{DIM, ERROR, GOOD, HINT, WARNING, paint};
use anstyle::Style;
use kb_core::wire::{InvocationStatus, RunStatus, StepStatus, Verdict};

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
        self.as_str()
    }

    fn style(self) -> Style {
        match self {
            Verdict::Passed => GOOD,
            Verdict::Inconclusive => WARNING,
            Verdict::Unchecked => HINT,
            Verdict::Failed => ERROR,
        }
    }
}

impl Status for InvocationStatus {
    fn name(self) -> &'static str {
        self.as_str()
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
