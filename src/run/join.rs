use super::event::StepStatus;
use crate::definition::RunIf;
use crate::expression::Strength;

/// How the dependencies of an instance ended, counted over those that matter (LANGUAGE §3, joins).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JoinCounts {
    /// Succeeded or tolerated.
    pub succeeded: u32,
    /// Failed or blocked.
    pub failed: u32,
    /// Skipped.
    pub skipped: u32,
    /// Cancelled.
    pub cancelled: u32,
}

impl JoinCounts {
    /// Counts one end.
    pub fn add(&mut self, status: StepStatus, tolerated: bool) {
        match status {
            StepStatus::Succeeded => self.succeeded += 1,
            StepStatus::Failed if tolerated => self.succeeded += 1,
            StepStatus::Failed | StepStatus::Blocked => self.failed += 1,
            StepStatus::Skipped => self.skipped += 1,
            StepStatus::Cancelled => self.cancelled += 1,
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
pub fn matters(strength: Strength, status: StepStatus) -> bool {
    match strength {
        Strength::Needs => true,
        Strength::MaySkip => status != StepStatus::Skipped,
        Strength::Watch => false,
    }
}

/// The table of joins, for a step that has dependencies.
pub fn join(run_if: RunIf, c: JoinCounts) -> Join {
    match run_if {
        RunIf::AllDone => Join::Run,
        RunIf::AnySucceeded if c.succeeded > 0 => Join::Run,
        RunIf::AnySucceeded => Join::Skip,
        RunIf::NoneFailed if c.cancelled > 0 || c.failed > 0 => Join::Block,
        RunIf::NoneFailed => Join::Run,
        RunIf::AllSucceeded if c.cancelled > 0 => Join::Cancel,
        RunIf::AllSucceeded if c.failed > 0 => Join::Block,
        RunIf::AllSucceeded if c.skipped > 0 => Join::Skip,
        RunIf::AllSucceeded => Join::Run,
    }
}
