//! The playbooks of delegated tasks: one for each specialist, with one step.

use super::load::{FileRole, InputFile};
use super::model::{Catalog, Specialist};
use kb_base::value::DefinitionId;
use serde_json::json;

/// The folder of their paths. No file is there.
pub const DELEGATES: &str = ".kb/delegate/";

/// The id of the playbook of tasks that are delegated to a specialist; `None` if its id is too long for that.
pub fn delegate_id(specialist: &str) -> Option<DefinitionId> {
    DefinitionId::new(format!("delegate-{specialist}")).ok()
}

/// The playbooks of tasks that are delegated to the specialists of a catalog, as texts that a run freezes.
pub fn delegate_files(catalog: &Catalog) -> Vec<InputFile> {
    catalog.specialists.values().filter_map(|own| file(own)).collect()
}

fn file(specialist: &Specialist) -> Option<InputFile> {
    let id = delegate_id(specialist.id.as_str())?;
    let text = json!({
        "schema": "kb.playbook/1",
        "id": id.as_str(),
        "description": format!("A task that was delegated to `{}`", specialist.id),
        "params": [{"name": "task", "required": true}],
        "steps": [{"id": "work", "specialist": specialist.id.as_str(), "task": "{{params.task}}"}],
        "outputs": {"output": "{{work.output}}"},
    });
    let path = format!("{DELEGATES}{}.yml", specialist.id);
    Some(InputFile { path, bytes: text.to_string().as_bytes().into(), role: FileRole::Playbook })
}
