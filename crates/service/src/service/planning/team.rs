//! What a planner is told about the specialists that it can name.

use crate::service::{Project, ServiceError};
use kb_base::diagnostic::Code;
use kb_base::value::Failure;
use kb_goal::Member;
use kb_language::definition::{Schema, Specialist};
use std::sync::Arc;

/// The id of the playbook and of the specialist that plan.
pub const ORCHESTRATOR: &str = "orchestrator";

/// Maximum number of characters of a schema.
const SCHEMA: usize = 600;

/// The specialists of the project, without one with the name of the planner.
pub(super) fn members(project: &Project) -> Vec<&Arc<Specialist>> {
    project.catalog.specialists.values().filter(|own| own.id.as_str() != ORCHESTRATOR).collect()
}

/// Fails if there is no specialist that could work.
pub(super) fn require_members(project: &Project) -> Result<(), ServiceError> {
    if !members(project).is_empty() {
        return Ok(());
    }
    let failure =
        Failure::new(Code::NO_SUCH_SPECIALIST, "the project has no specialist that could work");
    let help = "`kb specialist new ID --template implementer` writes one";
    Err(ServiceError::refused(failure.help(help)))
}

/// The same for the compilation of a plan.
pub(super) fn team(project: &Project) -> Vec<Member> {
    let member = |own: &Arc<Specialist>| {
        let callable = own.callable.iter().map(|known| known.name.clone());
        Member {
            id: own.id.to_string(),
            capabilities: own.capabilities.iter().cloned().chain(callable).collect(),
            writes: own.writes(),
        }
    };
    members(project).into_iter().map(member).collect()
}

/// The team as a planner reads it.
pub(super) fn text(project: &Project) -> String {
    let lines: Vec<String> = members(project).into_iter().map(|own| line(own)).collect();
    lines.join("\n")
}

fn line(own: &Specialist) -> String {
    let mut text = format!("- `{}`", own.id);
    if let Some(about) = &own.description {
        text.push_str(&format!(": {}", about.trim()));
    }
    let writes = if own.writes() { "can change files" } else { "changes no files" };
    text.push_str(&format!(" Tier {}, {writes}.", own.model.tier));
    let callable = own.callable.iter().map(|known| known.name.as_str());
    let names: Vec<&str> = own.capabilities.iter().map(|name| &**name).chain(callable).collect();
    if !names.is_empty() {
        text.push_str(&format!(" Capabilities: {}.", names.join(", ")));
    }
    for (name, schema) in [("Input", &own.input_schema), ("Output", &own.output_schema)] {
        if let Some(schema) = schema {
            text.push_str(&format!("\n  {name}: {}", shown(schema)));
        }
    }
    text
}

/// The keys of a schema with their types, cut.
fn shown(schema: &Schema) -> String {
    let text = schema.json().get("properties").unwrap_or(schema.json()).to_string();
    match text.char_indices().nth(SCHEMA) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
