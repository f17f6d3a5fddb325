//! JSON Schemas of definition files and of the event stream, for `kb schema`.

use crate::definition::{DefinitionFile, file_schema};
use crate::wire;

/// Names of the JSON Schemas.
pub const SCHEMA_NAMES: [&str; 9] = [
    "playbook",
    "workflow",
    "specialist",
    "agent",
    "plugin",
    "script",
    "test",
    "settings",
    "events",
];

/// The text of a JSON Schema by its name.
pub fn schema(name: &str) -> Option<String> {
    let schema = match name {
        "playbook" => file_schema(DefinitionFile::Playbook),
        "workflow" => file_schema(DefinitionFile::Workflow),
        "specialist" => file_schema(DefinitionFile::Specialist),
        "agent" => file_schema(DefinitionFile::AgentProfile),
        "plugin" => file_schema(DefinitionFile::Plugin),
        "script" => file_schema(DefinitionFile::Script),
        "test" => file_schema(DefinitionFile::Test),
        "settings" => file_schema(DefinitionFile::Settings),
        "events" => wire::event_schema(),
        _ => return None,
    };
    Some(format!("{schema:#}\n"))
}
