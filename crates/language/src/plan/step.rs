//! The indices of steps and their dependencies.

use crate::expression::Strength;

/// The index of a step in a plan: `steps` in file order, then `finally`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepIx(pub u32);

impl StepIx {
    /// The index as `usize`.
    pub fn at(self) -> usize {
        self.0 as usize
    }
}

/// A dependency, seen from the step that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dependency {
    /// The step that is waited for.
    pub on: StepIx,
    /// How much the outcome of that step matters.
    pub strength: Strength,
}

/// A dependency, seen from the step that is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dependent {
    /// The step that waits.
    pub step: StepIx,
    /// How much the outcome matters to the waiting step.
    pub strength: Strength,
}
