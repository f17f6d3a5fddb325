//! The plan and its graph.

use super::index::StepIndex;
use super::{Dependency, Dependent, PlanStep, StepIx};
use crate::definition::{EscalationLimits, Playbook, Specialist};
use crate::expression::Strength;
use crate::value::Tier;
use petgraph::Direction::{Incoming, Outgoing};
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::EdgeRef;
use std::sync::Arc;

/// The graph of a plan. Node `n` is step `n`; an edge points from a step to a step that depends on it.
/// Edges are added in reverse order, because petgraph iterates the edges of a node from the last.
pub(super) type Graph = DiGraph<(), Strength>;

/// An immutable plan. Only [`Plan::build`] creates one, so every dependency names an existing step.
#[derive(Debug, Clone)]
pub struct Plan {
    pub(super) playbook: Arc<Playbook>,
    pub(super) steps: Vec<PlanStep>,
    pub(super) index: StepIndex,
    pub(super) graph: Graph,
    pub(super) order: Vec<StepIx>,
    pub(super) escalation: EscalationLimits,
}

impl Plan {
    /// The definition of the plan.
    pub fn playbook(&self) -> &Arc<Playbook> {
        &self.playbook
    }

    /// All steps, indexed by [`StepIx`].
    pub fn steps(&self) -> &[PlanStep] {
        &self.steps
    }

    /// The step with this index.
    pub fn step(&self, ix: StepIx) -> &PlanStep {
        &self.steps[ix.at()]
    }

    /// The index of the step with this id.
    pub fn find(&self, id: &str) -> Option<StepIx> {
        self.index.find(id, |ix| self.step(ix).step.id.as_str())
    }

    /// The dependencies of a step in plan order, at most one per other step.
    pub fn dependencies(&self, ix: StepIx) -> impl Iterator<Item = Dependency> + Clone {
        let edges = self.graph.edges_directed(node(ix), Incoming);
        edges.map(|edge| Dependency { on: step(edge.source()), strength: *edge.weight() })
    }

    /// The steps that depend on a step, in plan order.
    pub fn dependents(&self, ix: StepIx) -> impl Iterator<Item = Dependent> + Clone {
        let edges = self.graph.edges_directed(node(ix), Outgoing);
        edges.map(|edge| Dependent { step: step(edge.target()), strength: *edge.weight() })
    }

    /// A topological order; steps without an order keep their file order, `finally` is last.
    pub fn order(&self) -> &[StepIx] {
        &self.order
    }

    /// The limits of model escalation from the settings.
    pub fn escalation(&self) -> &EscalationLimits {
        &self.escalation
    }

    /// The ladder of a specialist: its own, else the one in the settings; empty if neither names one.
    pub fn ladder<'p>(&'p self, specialist: &'p Specialist) -> &'p [Tier] {
        match specialist.model.ladder.as_slice() {
            [] => self.escalation.ladders.get(specialist.id.as_str()).map_or(&[], Vec::as_slice),
            own => own,
        }
    }

    /// All steps with their indices, in file order, `finally` last.
    pub fn iter(&self) -> impl Iterator<Item = (StepIx, &PlanStep)> {
        self.steps.iter().enumerate().map(|(i, step)| (StepIx(i as u32), step))
    }
}

/// The graph node of a step.
pub(super) fn node(ix: StepIx) -> NodeIndex {
    NodeIndex::new(ix.at())
}

/// The step of a graph node.
pub(super) fn step(node: NodeIndex) -> StepIx {
    StepIx(node.index() as u32)
}
