//! The plan: a sealed DAG of step templates, made once from a checked definition.
//!
//! Pure. It knows nothing of execution: it answers what depends on what, how strongly, in which
//! order, and how it looks as text, DOT, Mermaid and JSON.

use crate::definition::{Catalog, Playbook, Specialist, Step};
use crate::diagnostic::{Diagnostic, Span};
use crate::expression::Strength;
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
    /// Where the edge comes from.
    pub span: Span,
}

/// A step with its place in the graph.
#[derive(Debug, Clone)]
pub struct PlanStep {
    /// As defined.
    pub step: Arc<Step>,
    /// Its specialist, where it has one.
    pub specialist: Option<Arc<Specialist>>,
    /// What it waits for; one entry a step, strongest reading.
    pub dependencies: Vec<Dependency>,
    /// Who waits for it.
    pub dependents: Vec<StepIx>,
    /// Whether it holds the `workspace` lock while it runs and verifies.
    pub locks_workspace: bool,
}

/// A sealed plan. Made by [`Plan::build`] alone; a step can only name what exists.
#[derive(Debug, Clone)]
pub struct Plan {
    playbook: Arc<Playbook>,
    steps: Vec<PlanStep>,
    order: Vec<StepIx>,
}

impl Plan {
    /// Makes the plan, with every problem found on the way; `None` where one is an error.
    pub fn build(_playbook: &Arc<Playbook>, _catalog: &Catalog) -> (Option<Plan>, Vec<Diagnostic>) {
        (None, Vec::new())
    }

    /// The definition that it was made from.
    pub fn playbook(&self) -> &Arc<Playbook> {
        &self.playbook
    }

    /// All steps; `StepIx` is the index.
    pub fn steps(&self) -> &[PlanStep] {
        &self.steps
    }

    /// One step.
    pub fn step(&self, ix: StepIx) -> &PlanStep {
        &self.steps[ix.at()]
    }

    /// The step with that id.
    pub fn find(&self, id: &str) -> Option<StepIx> {
        self.steps.iter().position(|s| s.step.id == *id).map(|i| StepIx(i as u32))
    }

    /// A topological order, by file order where the graph leaves a choice; `finally` last.
    pub fn order(&self) -> &[StepIx] {
        &self.order
    }
}
