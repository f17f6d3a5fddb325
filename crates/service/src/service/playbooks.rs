//! Playbooks and workflows as use cases: list, show, graph.

use super::{Project, ServiceError, field_limits, params_schema};
use kb_base::value::json_text;
use kb_core::wire::DefinitionView;
use kb_language::definition::{Step, StepPhase};
use kb_language::plan::{ConfinedAhead, ConfinedStep, ConfinedSteps, Plan, graph as drawing};
use serde::Serialize;
use std::collections::BTreeMap;

/// A definition for display.
#[derive(Debug, Clone)]
pub struct DefinitionSheet {
    /// The definition as `--json` prints it.
    pub view: DefinitionView,
    /// Steps in file order, `finally` steps last.
    pub steps: Vec<StepLine>,
    /// What the values of each parameter are limited to, in words.
    pub limits: BTreeMap<String, String>,
}

/// One line about a step.
#[derive(Debug, Clone)]
pub struct StepLine {
    /// Id of the step.
    pub id: String,
    /// Short description, such as `run cargo test`.
    pub what: String,
    /// Ids of the steps that it depends on.
    pub after: Vec<String>,
    /// Condition, as written.
    pub condition: Option<String>,
    /// Whether it is a `finally` step.
    pub finally: bool,
    /// Why its commands will run in the sandbox; empty if they are free, or there is no plan.
    pub sandbox: Vec<ConfinedAhead>,
    /// The steps of its child runs whose commands will run in the sandbox.
    pub children: Vec<ConfinedChild>,
}

/// A step of a child run whose commands will run in the sandbox.
#[derive(Debug, Clone, Serialize)]
pub struct ConfinedChild {
    /// Its id, after those of the steps that start the child run, as in `deploy/push`.
    pub step: String,
    /// What confines its commands.
    pub sandbox: Vec<ConfinedAhead>,
}

/// Of each step of a plan, why its commands will run in the sandbox, and which of those of its child runs will.
pub(super) fn confined(plan: &Plan) -> Vec<(Vec<ConfinedAhead>, Vec<ConfinedChild>)> {
    let of_step = |ConfinedSteps { own, children }: ConfinedSteps<'_>| {
        let child =
            |step: ConfinedStep<'_>| ConfinedChild { step: step.path, sandbox: step.causes };
        (own.map(|own| own.causes).unwrap_or_default(), children.into_iter().map(child).collect())
    };
    plan.confined_steps().into_iter().map(of_step).collect()
}

/// Output format of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GraphFormat {
    /// Text for a terminal.
    Text,
    /// Graphviz DOT, for `dot -Tsvg`.
    Dot,
    /// Mermaid, for markdown.
    Mermaid,
    /// JSON, for programs.
    Json,
}

/// All valid definitions of the project.
pub fn list_playbooks(project: &Project) -> Vec<DefinitionView> {
    project.catalog.playbooks.values().map(|p| DefinitionView::from(&**p)).collect()
}

/// One definition with its steps.
pub fn show_playbook(project: &Project, id: &str) -> Result<DefinitionSheet, ServiceError> {
    let playbook = project.playbook(id)?;
    let (plan, _) = project.plan_of(&playbook);
    let steps = playbook.steps.iter().chain(&playbook.finally);
    let mut lines: Vec<StepLine> = steps.map(|step| line(step, plan.as_deref())).collect();
    if let Some(plan) = &plan {
        let mut found = confined(plan);
        for line in &mut lines {
            if let Some(ix) = plan.find(&line.id) {
                (line.sandbox, line.children) = std::mem::take(&mut found[ix.at()]);
            }
        }
    }
    let schema = params_schema(&playbook.params);
    let limits = playbook.params.iter().filter_map(|param| {
        let schema = &schema["properties"][&param.name];
        let options = schema["enum"].as_array().filter(|options| !options.is_empty());
        let options = options.map(|all| {
            format!("one of {}", all.iter().map(json_text).collect::<Vec<_>>().join(", "))
        });
        Some((param.name.clone(), options.or_else(|| field_limits(schema))?))
    });
    let limits = limits.collect();
    Ok(DefinitionSheet { view: DefinitionView::from(&*playbook), steps: lines, limits })
}

/// The dependency graph of a definition.
pub fn graph(project: &Project, id: &str, format: GraphFormat) -> Result<String, ServiceError> {
    let plan = project.plan(id)?;
    let text = match format {
        GraphFormat::Text => drawing::text(&plan),
        GraphFormat::Dot => drawing::dot(&plan),
        GraphFormat::Mermaid => drawing::mermaid(&plan),
        GraphFormat::Json => format!("{:#}", drawing::json(&plan)),
    };
    Ok(text.trim_end().to_owned() + "\n")
}

fn line(step: &Step, plan: Option<&Plan>) -> StepLine {
    let planned = plan.and_then(|plan| plan.find(step.id.as_str()).map(|ix| (plan, ix)));
    let after = match planned {
        Some((plan, ix)) => {
            let on = plan.dependencies(ix).map(|d| &plan.step(d.on).step.id);
            on.map(ToString::to_string).collect()
        }
        None => step.depends_on.iter().map(|(id, _)| id.to_string()).collect(),
    };
    StepLine {
        id: step.id.to_string(),
        what: step.kind.summary(),
        after,
        condition: step.condition.as_ref().map(|c| c.source().to_owned()),
        finally: step.phase == StepPhase::Finally,
        sandbox: Vec::new(),
        children: Vec::new(),
    }
}
