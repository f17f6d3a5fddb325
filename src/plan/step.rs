//! Steps of a plan and their dependencies.

use super::step_kind;
use crate::definition::{Specialist, Step, StepPhase, WorkspaceMode};
use crate::expression::Strength;
use crate::value::SpecialistId;
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
    /// The specialists that its recovery table can switch to.
    pub alternatives: Box<[Arc<Specialist>]>,
}

impl PlanStep {
    /// All its specialists: its own first, then the alternatives.
    pub fn specialists(&self) -> impl Iterator<Item = &Arc<Specialist>> {
        self.specialist.iter().chain(&self.alternatives)
    }

    /// The alternative with this id; without an id, its own specialist.
    pub fn specialist_named(&self, id: Option<&SpecialistId>) -> Option<&Arc<Specialist>> {
        match id {
            Some(id) => self.alternatives.iter().find(|found| found.id == *id),
            None => self.specialist.as_ref(),
        }
    }

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
            None => self.specialists().any(|specialist| specialist.writes()),
        }
    }

    /// Whether the step can change files: a specialist with a writing tool, or a call of one.
    pub fn writes(&self) -> bool {
        step_kind::writes(&self.step.kind, self.specialist.as_deref())
            || self.alternatives.iter().any(|specialist| specialist.writes())
    }
}
