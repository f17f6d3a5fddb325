//! The join: whether a step runs once its dependencies have ended. A pure table.

use super::event::StepStatus;
use crate::definition::RunIf;
use crate::expression::Strength;

/// How the dependencies of an instance ended: whether any of those that affect the join did so. See
/// `docs/playbooks.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DependencyEnds {
    /// Succeeded or tolerated.
    pub succeeded: bool,
    /// Failed or blocked.
    pub failed: bool,
    /// Skipped.
    pub skipped: bool,
    /// Cancelled.
    pub cancelled: bool,
}

impl DependencyEnds {
    /// Adds the end of one dependency. A status that is not final changes nothing.
    pub fn add(&mut self, status: StepStatus, tolerated: bool) {
        match status {
            StepStatus::Succeeded => self.succeeded = true,
            StepStatus::Failed if tolerated => self.succeeded = true,
            StepStatus::Failed | StepStatus::Blocked => self.failed = true,
            StepStatus::Skipped => self.skipped = true,
            StepStatus::Cancelled => self.cancelled = true,
            StepStatus::Pending
            | StepStatus::Ready
            | StepStatus::Running
            | StepStatus::Verifying
            | StepStatus::Waiting => {}
        }
    }
}

/// Result of a join.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Join {
    /// The step runs if its condition is true.
    Run,
    /// The step ends as skipped.
    Skip,
    /// The step ends as blocked.
    Block,
    /// The step ends as cancelled.
    Cancel,
}

/// Whether the end of a dependency with this strength affects the join.
pub fn affects_join(strength: Strength, status: StepStatus) -> bool {
    match strength {
        Strength::Needs => true,
        Strength::MaySkip => status != StepStatus::Skipped,
        Strength::Watch => false,
    }
}

/// The join of a step that has dependencies.
pub fn join(run_if: RunIf, ends: DependencyEnds) -> Join {
    match run_if {
        RunIf::AllDone => Join::Run,
        RunIf::AnySucceeded if ends.succeeded => Join::Run,
        RunIf::AnySucceeded => Join::Skip,
        RunIf::NoneFailed if ends.cancelled || ends.failed => Join::Block,
        RunIf::NoneFailed => Join::Run,
        RunIf::AllSucceeded if ends.cancelled => Join::Cancel,
        RunIf::AllSucceeded if ends.failed => Join::Block,
        RunIf::AllSucceeded if ends.skipped => Join::Skip,
        RunIf::AllSucceeded => Join::Run,
    }
}
