//! Playbooks and workflows as use cases: list, show, graph.

use super::{Project, ServiceError};
use crate::definition::{Check, RunCommand, Step, StepKind, StepPhase, WaitStep};
use crate::expression::Template;
use crate::plan::{Plan, graph as drawing};
use crate::value::format_duration;
use crate::wire::DefinitionView;

/// A definition for display.
#[derive(Debug, Clone)]
pub struct DefinitionSheet {
    /// The JSON form.
    pub view: DefinitionView,
    /// Steps in file order, `finally` steps last.
    pub steps: Vec<StepLine>,
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
}

/// Output format of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GraphFormat {
    /// Text for a terminal.
    Text,
    /// Graphviz DOT.
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
    Ok(DefinitionSheet {
        view: DefinitionView::from(&*playbook),
        steps: steps.map(|step| line(step, plan.as_deref())).collect(),
    })
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
        what: what(&step.kind),
        after,
        condition: step.condition.as_ref().map(|c| c.source().to_owned()),
        finally: step.phase == StepPhase::Finally,
    }
}

/// A kind with its text, where the text is literal.
fn named(kind: &str, text: &Template) -> String {
    match text.as_literal() {
        Some(text) => format!("{kind} {}", cut(text, 40)),
        None => kind.to_owned(),
    }
}

/// A step's kind with what it does, in a few words.
pub(super) fn what(kind: &StepKind) -> String {
    match kind {
        StepKind::Specialist { specialist, .. } => format!("specialist {specialist}"),
        StepKind::Run { command: RunCommand::Shell(script), .. } => {
            let first = script.trim().lines().next().unwrap_or_default();
            let more = if script.trim().lines().count() > 1 { " …" } else { "" };
            format!("run {}{more}", cut(first, 40))
        }
        StepKind::Run { command: RunCommand::Argv(words), .. } => {
            let program = words.first().and_then(|word| word.as_literal()).unwrap_or_default();
            format!("run {program} …")
        }
        StepKind::Tool { tool, .. } => format!("tool {tool}"),
        StepKind::Http(step) => format!("http {}", step.method),
        StepKind::Playbook(call) => format!("playbook {}", call.playbook),
        StepKind::Set(values) => {
            let names: Vec<&str> = values.iter().map(|(name, _)| &**name).collect();
            format!("set {}", names.join(", "))
        }
        StepKind::Gate(checks) => {
            let names: Vec<&str> = checks.iter().map(Check::name).collect();
            format!("gate {}", names.join(", "))
        }
        StepKind::Ask(ask) => named("ask", &ask.question),
        StepKind::Approve(approve) => named("approve", &approve.message),
        StepKind::Wait(wait) => match &**wait {
            WaitStep::For(duration) => format!("wait {}", format_duration(*duration)),
            WaitStep::Until(time) => named("wait until", time),
        },
    }
}

/// The first characters of a text, with a mark where some are missing.
pub(super) fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
