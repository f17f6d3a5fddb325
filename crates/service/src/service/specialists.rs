//! Specialists as use cases: list, show.

use super::{BrokenFile, Project, ResourceKind, ServiceError};
use kb_base::value::format_duration;
use kb_core::wire::SpecialistView;
use kb_language::definition::Specialist;

/// A specialist for display.
#[derive(Debug, Clone)]
pub struct SpecialistSheet {
    /// The specialist as `--json` prints it.
    pub view: SpecialistView,
    /// Its model, as one line.
    pub model: String,
    /// Its limits, as one line.
    pub limits: String,
    /// Rules that are added to the system prompt.
    pub constraints: Vec<String>,
    /// Its system prompt.
    pub role: String,
}

/// All valid specialists of the project.
pub fn list_specialists(project: &Project) -> Vec<SpecialistView> {
    project.catalog.specialists.values().map(|s| SpecialistView::from(&**s)).collect()
}

/// Files of specialists and agent profiles with errors.
pub fn broken_specialists(project: &Project) -> Vec<BrokenFile> {
    use kb_language::definition::FileRole::{AgentProfile, Specialist};
    let is_specialist = |file: &BrokenFile| matches!(file.role, Some(Specialist | AgentProfile));
    project.broken_files().into_iter().filter(is_specialist).collect()
}

/// One specialist by its id or path.
pub fn show_specialist(project: &Project, id: &str) -> Result<SpecialistSheet, ServiceError> {
    let all = &project.catalog.specialists;
    match all.get(id).or_else(|| all.values().find(|specialist| specialist.path == id)) {
        Some(specialist) => Ok(sheet(specialist)),
        None => Err(project.broken(id).unwrap_or_else(|| {
            ServiceError::unknown(ResourceKind::Specialist, id, all.keys().map(ToString::to_string))
        })),
    }
}

fn sheet(specialist: &Specialist) -> SpecialistSheet {
    SpecialistSheet {
        view: SpecialistView::from(specialist),
        model: model(specialist),
        limits: limits(specialist),
        constraints: specialist.constraints.clone(),
        role: specialist.role.clone(),
    }
}

fn model(specialist: &Specialist) -> String {
    let choice = &specialist.model;
    let mut parts = vec![match &choice.model {
        Some(model) => format!("{model} (tier {})", choice.tier),
        None => format!("tier {}", choice.tier),
    }];
    parts.extend(choice.temperature.map(|t| format!("temperature {t}")));
    parts.extend(choice.max_tokens.map(|n| format!("at most {n} tokens per response")));
    parts.extend(choice.reasoning.map(|effort| format!("reasoning {}", effort.as_str())));
    parts.extend(specialist.context.map(|context| format!("context {}", context.as_str())));
    if !choice.ladder.is_empty() {
        let ladder: Vec<&str> = choice.ladder.iter().map(|tier| tier.as_str()).collect();
        parts.push(format!("ladder {}", ladder.join(" → ")));
    }
    parts.join(", ")
}

fn limits(specialist: &Specialist) -> String {
    let limits = &specialist.limits;
    let time = format_duration(limits.timeout);
    let mut text =
        format!("{} model calls, {} tool calls, {time}", limits.max_steps, limits.max_tool_calls);
    if let Some(interval) = limits.forced_reasoning_interval {
        text.push_str(&format!(", a turn without tools after {interval} tool calls"));
    }
    if let Some(phases) = limits.phases {
        let critique = if phases.critique { "" } else { " without critique" };
        text.push_str(&format!(", phases{critique}, at most {} rounds", phases.rounds));
    }
    if specialist.singleton.is_some() {
        text.push_str(", one attempt at a time");
    }
    if let Some(retries) = limits.max_retries {
        text.push_str(&format!(", at most {} attempts", retries.saturating_add(1)));
    }
    text
}
