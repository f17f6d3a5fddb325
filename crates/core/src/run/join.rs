//! The join: whether a step runs once its dependencies have ended. A pure table.

use super::event::StepStatus;
use kb_language::definition::RunIf;
use kb_language::expression::Strength;

/// How the dependencies of an instance ended: whether any of those that affect the join did so, one bit
/// for each way. See `docs/playbooks.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DependencyEnds(u8);

impl DependencyEnds {
    /// A dependency succeeded, or its failure is tolerated.
    const SUCCEEDED: u8 = 1;
    /// A dependency failed or is blocked.
    const FAILED: u8 = 2;
    /// A dependency was skipped.
    const SKIPPED: u8 = 4;
    /// A dependency was cancelled.
    const CANCELLED: u8 = 8;

    fn has(self, way: u8) -> bool {
        self.0 & way != 0
    }

    /// Adds the end of one dependency. A status that is not final changes nothing.
    pub fn add(&mut self, status: StepStatus, tolerated: bool) {
        self.0 |= match status {
            StepStatus::Succeeded => DependencyEnds::SUCCEEDED,
            StepStatus::Failed if tolerated => DependencyEnds::SUCCEEDED,
            StepStatus::Failed | StepStatus::Blocked => DependencyEnds::FAILED,
            StepStatus::Skipped => DependencyEnds::SKIPPED,
            StepStatus::Cancelled => DependencyEnds::CANCELLED,
            StepStatus::Pending
            | StepStatus::Ready
            | StepStatus::Running
            | StepStatus::Verifying
            | StepStatus::Waiting => 0,
        };
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
    let has = |way| ends.has(way);
    match run_if {
        RunIf::AllDone => Join::Run,
        RunIf::AnySucceeded if has(DependencyEnds::SUCCEEDED) => Join::Run,
        RunIf::AnySucceeded => Join::Skip,
        RunIf::NoneFailed if has(DependencyEnds::CANCELLED) || has(DependencyEnds::FAILED) => {
            Join::Block
        }
        RunIf::NoneFailed => Join::Run,
        RunIf::AllSucceeded if has(DependencyEnds::CANCELLED) => Join::Cancel,
        RunIf::AllSucceeded if has(DependencyEnds::FAILED) => Join::Block,
        RunIf::AllSucceeded if has(DependencyEnds::SKIPPED) => Join::Skip,
        RunIf::AllSucceeded => Join::Run,
    }
}
