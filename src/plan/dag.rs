use super::index::StepIndex;
use super::{Dependency, Dependent, PlanStep, StepIx};
use crate::definition::Playbook;
use crate::expression::Strength;
use petgraph::Direction::{Incoming, Outgoing};
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::EdgeRef;
use std::sync::Arc;

/// The graph below a plan. Node `n` is step `n`; an edge goes from what is waited for to who waits. It
/// was drawn from its end, because a node tells its last edge first.
pub(super) type Graph = DiGraph<(), Strength>;

/// A sealed plan. Made by [`Plan::build`] alone; a step can only name what exists.
#[derive(Debug, Clone)]
pub struct Plan {
    pub(super) playbook: Arc<Playbook>,
    pub(super) steps: Vec<PlanStep>,
    pub(super) index: StepIndex,
    pub(super) graph: Graph,
    pub(super) order: Vec<StepIx>,
}

impl Plan {
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
        self.index.find(id, |ix| self.step(ix).step.id.as_str())
    }

    /// What a step waits for: one entry a step, in plan order, with the strength that holds.
    pub fn dependencies(&self, ix: StepIx) -> impl Iterator<Item = Dependency> + Clone {
        let edges = self.graph.edges_directed(node(ix), Incoming);
        edges.map(|edge| Dependency { on: step(edge.source()), strength: *edge.weight() })
    }

    /// Who waits for a step, in plan order.
    pub fn dependents(&self, ix: StepIx) -> impl Iterator<Item = Dependent> + Clone {
        let edges = self.graph.edges_directed(node(ix), Outgoing);
        edges.map(|edge| Dependent { step: step(edge.target()), strength: *edge.weight() })
    }

    /// A topological order, by file order where the graph leaves a choice; `finally` last.
    pub fn order(&self) -> &[StepIx] {
        &self.order
    }

    /// All step numbers with their steps, in file order, `finally` last.
    pub fn iter(&self) -> impl Iterator<Item = (StepIx, &PlanStep)> {
        self.steps.iter().enumerate().map(|(i, step)| (StepIx(i as u32), step))
    }
}

/// The node of a step.
pub(super) fn node(ix: StepIx) -> NodeIndex {
    NodeIndex::new(ix.at())
}

/// The step of a node.
pub(super) fn step(node: NodeIndex) -> StepIx {
    StepIx(node.index() as u32)
}
