use super::event::StepStatus;
use crate::definition::RunIf;
use crate::expression::Strength;

/// How dependencies of an instance ended, of those that matter (LANGUAGE §3, joins): whether any did.
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
    /// Takes in one end.
    pub fn add(&mut self, status: StepStatus, tolerated: bool) {
        match status {
            StepStatus::Succeeded => self.succeeded = true,
            StepStatus::Failed if tolerated => self.succeeded = true,
            StepStatus::Failed | StepStatus::Blocked => self.failed = true,
            StepStatus::Skipped => self.skipped = true,
            StepStatus::Cancelled => self.cancelled = true,
            _ => {}
        }
    }
}

/// What the join says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Join {
    /// The condition decides next.
    Run,
    /// It ends as skipped.
    Skip,
    /// It ends as blocked.
    Block,
    /// It ends as cancelled.
    Cancel,
}

/// Whether that end of a dependency of that strength matters to the join.
pub fn affects_join(strength: Strength, status: StepStatus) -> bool {
    match strength {
        Strength::Needs => true,
        Strength::MaySkip => status != StepStatus::Skipped,
        Strength::Watch => false,
    }
}

/// The table of joins, for a step that has dependencies.
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
