//! Steps of a plan and their dependencies.

use super::step_kind;
use crate::definition::{Specialist, Step, StepPhase, WorkspaceMode};
use crate::expression::Strength;
use std::sync::Arc;

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

/// A step of a plan. [`super::Plan`] has its dependencies.
#[derive(Debug, Clone)]
pub struct PlanStep {
    /// The definition of the step.
    pub step: Arc<Step>,
    /// The specialist of a specialist step.
    pub specialist: Option<Arc<Specialist>>,
}

impl PlanStep {
    /// Whether the step belongs to `finally`.
    pub fn is_finally(&self) -> bool {
        self.step.phase == StepPhase::Finally
    }

    /// Whether the step holds the workspace lock while it runs and its gate is evaluated: a specialist
    /// with a writing tool unless `workspace: shared`, and every step with `workspace: exclusive`.
    pub fn locks_workspace(&self) -> bool {
        match self.step.details().workspace {
            Some(WorkspaceMode::Exclusive) => true,
            Some(WorkspaceMode::Shared) => false,
            None => self.specialist.as_deref().is_some_and(Specialist::writes),
        }
    }

    /// Whether the step can change files: a specialist with a writing tool, or a call of one.
    pub fn writes(&self) -> bool {
        step_kind::writes(&self.step.kind, self.specialist.as_deref())
    }
}
