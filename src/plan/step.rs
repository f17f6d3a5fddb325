use crate::definition::{Specialist, Step, StepKind, StepPhase, WorkspaceMode};
use crate::expression::Strength;
use crate::toolspec;
use std::sync::Arc;

/// A step by its number in the plan: `steps` in file order, then `finally`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepIx(pub u32);

impl StepIx {
    /// As an index.
    pub fn at(self) -> usize {
        self.0 as usize
    }
}

/// An edge, from the side of the step that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dependency {
    /// What is waited for.
    pub on: StepIx,
    /// How its end matters.
    pub strength: Strength,
}

/// An edge, from the side of the step that is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dependent {
    /// Who waits.
    pub step: StepIx,
    /// How the end matters to it.
    pub strength: Strength,
}

/// A step of a plan. What it waits for and who waits for it is told by the plan.
#[derive(Debug, Clone)]
pub struct PlanStep {
    /// As defined.
    pub step: Arc<Step>,
    /// Its specialist, where it has one.
    pub specialist: Option<Arc<Specialist>>,
}

impl PlanStep {
    /// Whether it is one of `finally`.
    pub fn is_finally(&self) -> bool {
        self.step.phase == StepPhase::Finally
    }

    /// Whether it holds the `workspace` lock while it runs and verifies (LANGUAGE §7): a specialist with
    /// a writing tool unless the step shares, and any step that asks for it.
    pub fn locks_workspace(&self) -> bool {
        match self.step.details().workspace {
            Some(WorkspaceMode::Exclusive) => true,
            Some(WorkspaceMode::Shared) => false,
            None => self.specialist.as_deref().is_some_and(Specialist::writes),
        }
    }

    /// Whether its work is known to change files or to be able to: a specialist with a writing tool,
    /// or a tool step that writes or runs a shell.
    pub fn writes(&self) -> bool {
        match &self.step.kind {
            StepKind::Specialist { .. } => self.specialist.as_ref().is_some_and(|s| s.writes()),
            StepKind::Tool { tool, .. } => {
                toolspec::find(tool.as_str()).is_some_and(|spec| spec.writes)
            }
            _ => false,
        }
    }
}
