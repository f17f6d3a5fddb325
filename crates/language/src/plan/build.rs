//! Builds a plan from a checked definition.

use super::check;
use super::children::Children;
use super::dag::{Graph, Plan, StepLinks, node};
use super::index::StepIndex;
use super::order;
use super::plugins;
use super::reads::Read;
use super::servers;
use super::{Dependency, PlanStep, StepIx, edges, reads};
use crate::definition::{
    Catalog, HookEvent, Playbook, RecoveryAction, Specialist, SpecialistStep, Step, StepKind,
    candidates,
};
use kb_base::diagnostic::{Code, Diagnostic, Span, nearest};
use kb_base::value::SpecialistId;
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

impl Plan {
    /// Builds the plan and reports all problems in file order. `None` if one of them is an error.
    pub fn build(playbook: &Arc<Playbook>, catalog: &Catalog) -> (Option<Plan>, Vec<Diagnostic>) {
        let mut children = Children::new(catalog, &playbook.id);
        let (mut plan, problems) = Plan::build_with(playbook, &mut children);
        if let Some(plan) = plan.as_mut().filter(|plan| plan.can_delegate()) {
            plan.delegates = children.delegates();
        }
        (plan, problems)
    }

    /// Builds the plan of a definition that other plans lead to, and the plans of its children.
    pub(super) fn build_with(
        playbook: &Arc<Playbook>,
        children: &mut Children<'_>,
    ) -> (Option<Plan>, Vec<Diagnostic>) {
        let mut problems = Vec::new();
        let reads = reads_of(playbook);
        let plan = Plan::connect(playbook, &reads, children, &mut problems);
        let cycles = plan.cycles(&reads);
        problems.extend(check::all(&plan, reads, reads::of_outputs(playbook)));
        problems.extend(cycles.into_iter().map(|(_, found)| found));
        problems.sort_by_key(|problem| problem.span);
        let sound = !problems.iter().any(Diagnostic::is_error);
        (sound.then_some(plan), problems)
    }

    /// The errors in how the steps of a playbook refer to each other and to other files. The playbook may lack
    /// what could not be read: rules about what its steps do not say are left out.
    pub fn errors_of_draft(playbook: &Arc<Playbook>, catalog: &Catalog) -> Vec<Diagnostic> {
        let mut problems = Vec::new();
        let mut seen = BTreeSet::new();
        let mut unique = Playbook::clone(playbook);
        // Steps with one id are reported already.
        unique.steps.retain(|step| seen.insert(step.id.clone()));
        unique.finally.retain(|step| seen.insert(step.id.clone()));
        let playbook = &Arc::new(unique);
        let reads = reads_of(playbook);
        let children = &mut Children::new(catalog, &playbook.id);
        let plan = Plan::connect(playbook, &reads, children, &mut problems);
        // So is a step that depends on itself.
        problems.extend(
            plan.cycles(&reads).into_iter().filter(|(steps, _)| *steps > 1).map(|(_, found)| found),
        );
        // What is missing may be what could not be read.
        let may_lack = [Code::CHILD_PARAMETER, Code::TASK_TEXT];
        problems.retain(|problem| problem.is_error() && !may_lack.contains(&problem.code));
        problems.sort_by_key(|problem| problem.span);
        problems
    }

    /// The circular dependencies, each with the number of its steps.
    fn cycles(&self, reads: &[Vec<Read<'_>>]) -> Vec<(usize, Diagnostic)> {
        if self.order.len() == self.steps.len() {
            return Vec::new();
        }
        let span = |from: StepIx, on| {
            let step = &self.step(from).step;
            edges::span(step, &reads[from.at()], &|id| self.find(id.as_str()), on)
        };
        let found = order::cycles(&self.graph).into_iter();
        found.map(|cycle| (cycle.len(), check::cycle(self, &cycle, span))).collect()
    }

    /// Adds the edges and orders the steps. With a circular dependency the order is incomplete.
    fn connect(
        playbook: &Arc<Playbook>,
        reads: &[Vec<Read<'_>>],
        children: &mut Children<'_>,
        problems: &mut Vec<Diagnostic>,
    ) -> Plan {
        let defined: Vec<&Arc<Step>> = playbook.steps.iter().chain(&playbook.finally).collect();
        let index = StepIndex::of(&defined);
        let mut steps = Vec::with_capacity(defined.len());
        let mut edges = Vec::new();
        for (i, (step, reads)) in defined.iter().zip(reads).enumerate() {
            let specialist = specialist_of(step, children.catalog(), problems);
            let alternatives = alternatives(step, children.catalog(), problems);
            let child = children.resolve(step, problems);
            if let Some(child) = &child {
                problems.extend(check::child_locks(step, child));
            }
            let links = StepLinks::boxed(alternatives, child);
            steps.push(PlanStep { step: Arc::clone(step), specialist, links });
            let waits = edges::of_step(step, reads, &defined, &index, problems);
            edges.extend(waits.into_iter().map(|dependency| (dependency, StepIx(i as u32))));
        }
        let graph = graph_of(steps.len(), &edges);
        let order = order::topological(&steps, &graph);
        let escalation = children.catalog().settings.orchestrator.escalation.clone();
        let below = steps.iter().filter_map(|step| step.child());
        let depth = below.map(|child| child.depth + 1).max().unwrap_or(0);
        let locks = steps.iter().any(PlanStep::locks_workspace);
        let is_start = |step: &PlanStep| {
            step.step.details().hook.as_ref().is_some_and(|hook| hook.on == HookEvent::Start)
        };
        let start_hooks = (0u32..).zip(&steps).filter(|(_, step)| is_start(step));
        let start_hooks = start_hooks.map(|(i, _)| StepIx(i)).collect();
        let settings = &children.catalog().settings;
        let (sandbox, opened) = (settings.sandbox.steps.clone(), settings.sandbox.write.clone());
        let tools = children.catalog().tools.clone();
        let plugins = plugins::plugins(&steps, children.catalog());
        let servers = servers::servers(&steps, children.catalog());
        let playbook = playbook.clone();
        Plan {
            playbook,
            steps,
            index,
            graph,
            order,
            escalation,
            depth,
            locks,
            start_hooks,
            plugins,
            servers,
            tools,
            sandbox,
            opened,
            delegates: Vec::new(),
            writers: Default::default(),
            before_gates: OnceLock::new(),
        }
    }
}

/// What each step reads, in plan order.
fn reads_of(playbook: &Playbook) -> Vec<Vec<Read<'_>>> {
    playbook.steps.iter().chain(&playbook.finally).map(|step| reads::of_step(step)).collect()
}

/// A graph of `steps` nodes, from edges in plan order.
fn graph_of(steps: usize, edges: &[(Dependency, StepIx)]) -> Graph {
    let mut graph = Graph::with_capacity(steps, edges.len());
    (0..steps).for_each(|_| {
        graph.add_node(());
    });
    for (dependency, ix) in edges.iter().rev() {
        graph.add_edge(node(dependency.on), node(*ix), dependency.strength);
    }
    graph
}

fn specialist_of(
    step: &Step,
    catalog: &Catalog,
    problems: &mut Vec<Diagnostic>,
) -> Option<Arc<Specialist>> {
    let StepKind::Specialist(task) = &step.kind else { return None };
    if task.by_capability {
        problems.push(not_the_only_one(task, catalog));
        return None;
    }
    let found = loaded(&task.specialist, task.span, catalog, problems)?;
    let Some((name, span)) = &task.capability else { return Some(found) };
    let Some(chosen) = found.with_capability(name) else {
        problems.push(no_capability(&found, name, *span));
        return Some(found);
    };
    let has_prompt = chosen.capability.as_ref().is_some_and(|own| own.prompt.is_some());
    let has_task = task.task.is_some() || step.details().input.is_some();
    if !has_prompt && !has_task {
        let message =
            format!("the capability `{name}` has no `promptTemplate`, and the step no task");
        let problem = Diagnostic::error(Code::TASK_TEXT, *span, message);
        problems.push(problem.help("add `task:` to the step"));
    }
    Some(Arc::new(chosen))
}

/// Why the capability of a step does not say which specialist is meant.
fn not_the_only_one(task: &SpecialistStep, catalog: &Catalog) -> Diagnostic {
    let name = task.capability.as_ref().map_or("", |(name, _)| name);
    let (found, _) = candidates(name, &catalog.specialists);
    let ids: Vec<String> = found.iter().map(|own| format!("`{}`", own.id)).collect();
    if !ids.is_empty() {
        let message =
            format!("several specialists have the capability `{name}`: {}", ids.join(", "));
        return Diagnostic::error(Code::NO_SUCH_CAPABILITY, task.span, message)
            .help("add `specialist:` with one of them");
    }
    let all = || catalog.specialists.values();
    let callable = all().flat_map(|own| own.callable.iter().map(|known| &*known.name));
    let known: BTreeSet<&str> = all()
        .flat_map(|own| own.capabilities.iter().map(|known| &**known))
        .chain(callable)
        .collect();
    let help = match nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => {
            "no specialist of the project has capabilities; name one with `specialist:`".to_owned()
        }
        None => format!("known capabilities: {}", Vec::from_iter(known).join(", ")),
    };
    let message = format!("no specialist has the capability `{name}`");
    Diagnostic::error(Code::NO_SUCH_CAPABILITY, task.span, message).help(help)
}

fn no_capability(specialist: &Specialist, name: &str, span: Span) -> Diagnostic {
    let known = || specialist.callable.iter().map(|own| own.name.as_str());
    let help = match nearest(name, known()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if specialist.callable.is_empty() => format!(
            "`{}` has none that can be called; write one as a map with `name` and `promptTemplate`",
            specialist.id
        ),
        None => format!("its capabilities: {}", known().collect::<Vec<_>>().join(", ")),
    };
    let message = format!("the specialist `{}` has no capability `{name}`", specialist.id);
    Diagnostic::error(Code::NO_SUCH_CAPABILITY, span, message).help(help)
}

/// The specialists that the recovery table of a step can switch to.
fn alternatives(
    step: &Step,
    catalog: &Catalog,
    problems: &mut Vec<Diagnostic>,
) -> Box<[Arc<Specialist>]> {
    let rules = step.details().recovery.iter().flatten();
    let named = rules.filter_map(|rule| {
        let RecoveryAction::SwitchSpecialist(to) = &rule.action else { return None };
        loaded(to, rule.span, catalog, problems)
    });
    named.collect()
}

/// A specialist of the project; its absence is a problem.
fn loaded(
    id: &SpecialistId,
    span: Span,
    catalog: &Catalog,
    problems: &mut Vec<Diagnostic>,
) -> Option<Arc<Specialist>> {
    let found = catalog.specialists.get(id).cloned();
    if let (None, Some(files)) = (&found, catalog.refused.specialists.get(id.as_str())) {
        problems.push(refused(id.as_str(), files, span));
    } else if found.is_none() {
        let known = catalog.specialists.keys().map(|known| known.as_str());
        let near = nearest(id.as_str(), known.clone());
        let help = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None if catalog.specialists.is_empty() => {
                format!("the project has no specialist yet; write `.kb/specialists/{id}.yml`")
            }
            None => format!("known specialists: {}", known.collect::<Vec<_>>().join(", ")),
        };
        problems.push(
            Diagnostic::error(
                Code::NO_SUCH_SPECIALIST,
                span,
                format!("no specialist `{id}` could be loaded"),
            )
            .caption("not among the specialists of this project")
            .help(help),
        );
    }
    found
}

/// A specialist whose file has errors or whose id is not unique.
fn refused(id: &str, files: &BTreeSet<String>, span: Span) -> Diagnostic {
    let names = files.iter().map(|path| format!("`{path}`")).collect::<Vec<_>>().join(" and ");
    let (caption, help) = match files.len() {
        1 => (format!("{names} has errors"), "fix its file; its errors are reported as well"),
        _ => (format!("defined by {names}"), "keep one of the files, or give it another id"),
    };
    let message = format!("the specialist `{id}` cannot be used: {caption}");
    Diagnostic::error(Code::NO_SUCH_SPECIALIST, span, message).help(help)
}
