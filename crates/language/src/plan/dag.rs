//! The plan, its steps and its graph.

use super::index::StepIndex;
use super::{Dependency, Dependent, StepIx};
use crate::definition::{
    AuthorSandbox, EscalationLimits, Execution, Isolation, LOCK_PATH, PinnedServer, Playbook,
    Plugin, Specialist, Step, StepKind, StepPhase, StepSandbox, WorkspaceMode,
};
use crate::expression::{Reference, Strength};
use crate::toolspec::{DELEGATE, ToolCatalog};
use kb_base::value::{DefinitionId, SpecialistId, Tier};
use petgraph::Direction::{Incoming, Outgoing};
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::EdgeRef;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};
use std::sync::{Arc, OnceLock};

/// The graph of a plan. Node `n` is step `n`; an edge points from a step to a step that depends on it.
/// Edges are added in reverse order, because petgraph iterates the edges of a node from the last.
pub(super) type Graph = DiGraph<(), Strength>;

/// Steps that can write what does not come from the author, and for each step of the plan the first of them that can work
/// while it executes.
#[derive(Debug, Clone, Default)]
pub(super) struct Writers {
    pub(super) steps: Vec<StepIx>,
    pub(super) beside: Vec<Option<StepIx>>,
}

/// An immutable plan. Only [`Plan::build`] creates one, so every dependency names an existing step.
#[derive(Debug, Clone)]
pub struct Plan {
    pub(super) playbook: Arc<Playbook>,
    pub(super) steps: Vec<PlanStep>,
    pub(super) index: StepIndex,
    pub(super) graph: Graph,
    pub(super) order: Vec<StepIx>,
    pub(super) escalation: EscalationLimits,
    pub(super) depth: usize,
    pub(super) locks: bool,
    pub(super) start_hooks: Vec<StepIx>,
    pub(super) plugins: Vec<Arc<Plugin>>,
    pub(super) servers: Vec<Arc<PinnedServer>>,
    pub(super) tools: ToolCatalog,
    pub(super) sandbox: StepSandbox,
    /// The paths that the settings open for writing.
    pub(super) opened: Vec<String>,
    /// Of the first plan of a run: the plans of the tasks that specialists can delegate.
    pub(super) delegates: Vec<Arc<Plan>>,
    /// The steps that can write what does not come from the author: without foreign parameters, with those of payloads, and
    /// with all.
    pub(super) writers: [OnceLock<Writers>; 6],
    /// Of each step, whether a gate after it reads files.
    pub(super) before_gates: OnceLock<Vec<bool>>,
}

impl Plan {
    /// The definition of the plan.
    pub fn playbook(&self) -> &Arc<Playbook> {
        &self.playbook
    }

    /// This plan and the plans of all child runs that it leads to, each once.
    pub fn with_children(&self) -> Vec<&Plan> {
        let mut found: BTreeMap<&DefinitionId, &Plan> = BTreeMap::new();
        let mut open = vec![self];
        while let Some(plan) = open.pop() {
            if found.insert(&plan.playbook.id, plan).is_none() {
                let below = plan.steps.iter().filter_map(|step| step.child());
                open.extend(below.chain(&plan.delegates).map(|child| &**child));
            }
        }
        found.into_values().collect()
    }

    /// Whether a step of the plan or of a child run asks a person for an approval.
    pub fn may_ask(&self) -> bool {
        let mut steps = self.with_children().into_iter().flat_map(|plan| &plan.steps);
        steps.any(|planned| matches!(planned.step.kind, StepKind::Approve(_)))
    }

    /// The plans of all child runs that this plan leads to, by the id of their definition.
    pub fn children(&self) -> BTreeMap<DefinitionId, Arc<Plan>> {
        let steps = self.with_children().into_iter().flat_map(|plan| &plan.steps);
        let children = steps.filter_map(|step| step.child()).chain(&self.delegates).cloned();
        children.map(|plan| (plan.playbook.id.clone(), plan)).collect()
    }

    /// Paths of the definitions that this plan and its child runs use: playbooks, specialists and
    /// plugins.
    pub fn files(&self) -> BTreeSet<&str> {
        let mut paths = BTreeSet::new();
        for plan in self.with_children() {
            paths.insert(plan.playbook.path.as_str());
            let specialists = plan.steps.iter().flat_map(|step| step.specialists());
            paths.extend(specialists.map(|specialist| specialist.path.as_str()));
            paths.extend(plan.plugins.iter().map(|plugin| plugin.path.as_str()));
            paths.extend((!plan.servers.is_empty()).then_some(LOCK_PATH));
        }
        paths
    }

    /// Whether a specialist of the plan or of a child run can delegate tasks.
    pub fn can_delegate(&self) -> bool {
        let steps = self.with_children().into_iter().flat_map(|plan| &plan.steps);
        let mut specialists = steps.flat_map(|step| step.specialists());
        specialists.any(|own| own.tools.iter().any(|tool| tool.name == DELEGATE))
    }

    /// The number of levels of child runs below a run of this plan.
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// Whether a step of this plan or of a child run takes the workspace lock.
    pub(super) fn locks_workspace(&self) -> bool {
        self.locks
    }

    /// The plugins of this plan and of its child runs, each once.
    pub fn plugins_with_children(&self) -> Vec<Arc<Plugin>> {
        let all = self.with_children().into_iter().flat_map(|plan| &plan.plugins);
        let unique: BTreeMap<_, _> = all.map(|plugin| (&plugin.id, plugin)).collect();
        unique.into_values().cloned().collect()
    }

    /// The MCP servers of this plan and of its child runs, each once.
    pub fn servers_with_children(&self) -> Vec<Arc<PinnedServer>> {
        let all = self.with_children().into_iter().flat_map(|plan| &plan.servers);
        let unique: BTreeMap<_, _> = all.map(|own| (&own.server.name, own)).collect();
        unique.into_values().cloned().collect()
    }

    /// The tools that its steps and specialists can name.
    pub fn tools(&self) -> &ToolCatalog {
        &self.tools
    }

    /// The steps of `onStart` hooks.
    pub fn start_hooks(&self) -> &[StepIx] {
        &self.start_hooks
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

    /// `sandbox` of a step of the author: its own, else that of the settings.
    pub fn sandbox_of(&self, planned: &PlanStep) -> StepSandbox {
        planned.step.details().sandbox.clone().unwrap_or_else(|| self.sandbox.clone())
    }

    /// The paths that the settings and the steps open for writing, those of child runs included.
    pub fn opened(&self) -> Vec<String> {
        let plans = self.with_children().into_iter();
        let of_steps = |plan: &Plan| {
            let steps = plan.steps.iter().map(|step| plan.sandbox_of(step).opening);
            steps.flat_map(|opening| opening.write.clone()).collect::<Vec<_>>()
        };
        plans.flat_map(|plan| plan.opened.iter().cloned().chain(of_steps(plan))).collect()
    }

    /// Whether commands of a step in the sandbox can write what no difference shows: data of the repository, or files
    /// outside of the project.
    pub fn writes_unshown(&self, planned: &PlanStep) -> bool {
        let StepSandbox { when, opening } = self.sandbox_of(planned);
        let is_confined = planned.specialist.is_some() || when != AuthorSandbox::Never;
        let mut opened = self.opened.iter().chain(&opening.write);
        let below = |child: &Plan| child.steps.iter().any(|step| child.writes_unshown(step));
        is_confined && opened.any(|path| is_unshown(path))
            || planned.child().is_some_and(|child| below(child))
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

/// Whether a path is the repository of the project, or lies outside of the project.
fn is_unshown(path: &str) -> bool {
    let path = Path::new(path);
    let mut parts = path.components().filter(|part| *part != Component::CurDir);
    let is_git = |part: &Component<'_>| part.as_os_str().eq_ignore_ascii_case(".git");
    let first = parts.next();
    path.starts_with("~")
        || first.as_ref().is_some_and(is_git)
        || first.into_iter().chain(parts).any(|part| !matches!(part, Component::Normal(_)))
}

/// A step of a plan. [`Plan`] has its dependencies.
#[derive(Debug, Clone)]
pub struct PlanStep {
    /// The definition of the step.
    pub step: Arc<Step>,
    /// The specialist of a specialist step.
    pub specialist: Option<Arc<Specialist>>,
    /// What few steps have: kept apart, because a plan can have very many steps.
    pub(super) links: Option<Box<StepLinks>>,
}

/// Further definitions that a step uses.
#[derive(Debug, Clone, Default)]
pub(super) struct StepLinks {
    /// The specialists that its recovery table can switch to.
    pub(super) alternatives: Box<[Arc<Specialist>]>,
    /// The plan of the child of a `playbook` step.
    pub(super) child: Option<Arc<Plan>>,
}

impl StepLinks {
    /// The links of a step; none for most steps.
    pub(super) fn boxed(
        alternatives: Box<[Arc<Specialist>]>,
        child: Option<Arc<Plan>>,
    ) -> Option<Box<StepLinks>> {
        let links = StepLinks { alternatives, child };
        (!links.alternatives.is_empty() || links.child.is_some()).then(|| Box::new(links))
    }
}

impl PlanStep {
    /// The specialists that its recovery table can switch to.
    pub fn alternatives(&self) -> &[Arc<Specialist>] {
        self.links.as_ref().map_or(&[], |links| &links.alternatives)
    }

    /// The plan of the child of a `playbook` step.
    pub fn child(&self) -> Option<&Arc<Plan>> {
        self.links.as_ref()?.child.as_ref()
    }

    /// All its specialists: its own first, then the alternatives.
    pub fn specialists(&self) -> impl Iterator<Item = &Arc<Specialist>> {
        self.specialist.iter().chain(self.alternatives())
    }

    /// The alternative with this id; without an id, its own specialist.
    pub fn specialist_named(&self, id: Option<&SpecialistId>) -> Option<&Arc<Specialist>> {
        match id {
            Some(id) => self.alternatives().iter().find(|found| found.id == *id),
            None => self.specialist.as_ref(),
        }
    }

    /// The playbook of the child of a `playbook` step.
    pub fn child_playbook(&self) -> Option<&Playbook> {
        self.child().map(|child| &**child).map(|child| &*child.playbook)
    }

    /// All references in its texts, its condition and checks included.
    pub fn references(&self) -> impl Iterator<Item = &Reference> {
        super::reads::references(&self.step)
    }

    /// Whether the step belongs to `finally`.
    pub fn is_finally(&self) -> bool {
        self.step.phase == StepPhase::Finally
    }

    /// Whether the step holds the workspace lock while it runs and its gate is evaluated: a specialist
    /// with a writing tool and a child run that has such a step unless `workspace: shared`, and every
    /// step with `workspace: exclusive`.
    pub fn locks_workspace(&self) -> bool {
        match self.step.details().workspace {
            Some(WorkspaceMode::Exclusive) => true,
            Some(WorkspaceMode::Shared | WorkspaceMode::Worktree | WorkspaceMode::Copy) => false,
            None => {
                self.specialists().any(|specialist| specialist.writes())
                    || self.child().map(|child| &**child).is_some_and(Plan::locks_workspace)
            }
        }
    }

    /// The worktree or copy that the step runs in; `None` if it runs in the project.
    pub fn isolation(&self) -> Option<Isolation> {
        let details = self.step.details();
        let worktree = match details.workspace? {
            WorkspaceMode::Exclusive | WorkspaceMode::Shared => return None,
            WorkspaceMode::Worktree => true,
            WorkspaceMode::Copy => false,
        };
        match self.step.kind.execution() {
            Execution::Specialist(_) | Execution::Child(_) | Execution::Attempt(_) => {}
            Execution::Compute(_) | Execution::Gate(_) | Execution::Ask(_) | Execution::Wait(_) => {
                return None;
            }
        }
        Some(Isolation { worktree, merge: details.merge.unwrap_or_default() })
    }

    /// The locks that the step holds in all runs of the project, in order: `locks`, and those of its
    /// specialists.
    pub fn shared_locks(&self) -> Vec<String> {
        let named = self.step.details().locks.iter().cloned();
        let of_specialists = self.specialists().filter_map(|specialist| specialist.lock());
        let mut all: Vec<String> = named.chain(of_specialists).collect();
        all.sort();
        all.dedup();
        all
    }

    /// The locks that the step holds while it runs, in order; empty for most steps.
    pub fn locks(&self) -> Vec<String> {
        let named = self.shared_locks().into_iter();
        let workspace = self.locks_workspace().then(|| "workspace".to_owned());
        let mut all: Vec<String> = named.chain(workspace).collect();
        all.sort();
        all
    }

    /// Whether the step holds a lock while it runs.
    pub fn has_locks(&self) -> bool {
        !self.step.details().locks.is_empty()
            || self.specialists().any(|specialist| specialist.singleton.is_some())
            || self.locks_workspace()
    }

    /// Whether files of a specialist of the step, or of a child run, can outlive its work.
    pub fn has_writing_specialist(&self) -> bool {
        self.specialists().any(|specialist| specialist.leaves_files())
            || self
                .child()
                .is_some_and(|child| child.steps().iter().any(PlanStep::has_writing_specialist))
    }

    /// Whether the step can change files: a specialist with a writing tool, a call of one, or a child
    /// run with such a step.
    pub fn writes(&self) -> bool {
        self.step.kind.effects().writes
            || self.specialists().any(|specialist| specialist.writes())
            || self
                .child()
                .map(|child| &**child)
                .is_some_and(|child| child.steps().iter().any(PlanStep::writes))
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
