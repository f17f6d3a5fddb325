//! JSON Schemas of definition files and of the event stream, for `kb schema` and for editors.

use super::ServiceError;
use super::writing::write_files;
use crate::project::role_of;
use kb_attempt::replace_file;
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, Json};
use kb_core::wire;
use kb_language::definition::{DefinitionFile, FileRole, Schema, file_schema};
use std::path::Path;

/// Why a value does not fit a JSON Schema; `None` if it fits.
pub fn misfit(schema: &Json, value: &Json) -> Option<String> {
    let schema = Schema::new(schema.clone()).ok()?;
    schema.violations(value).first().map(|violation| violation.message.clone())
}

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

/// Folder of the schemas that files of a project refer to, below `.kb/`.
const FOLDER: &str = "schemas";
/// Start of the line with which a file names its schema to editors.
const MODELINE: &str = "# yaml-language-server: $schema=";

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

/// Writes `NAME.schema.json` for each of these schemas into a folder, in place of files of an earlier version.
/// Returns the names of the files.
pub fn write_schemas(folder: &Path, names: &[&str]) -> Result<Vec<String>, ServiceError> {
    let unusable = |error: std::io::Error| {
        let message = format!("`{}` cannot be written: {error}", folder.display());
        ServiceError::environment(Failure::new(Code::PATH_UNUSABLE, message))
    };
    let mut written = Vec::new();
    for name in names {
        let file = file_name(name);
        let text = schema(name).unwrap_or_default();
        replace_file(&folder.join(&file), text.as_bytes()).map_err(unusable)?;
        written.push(file);
    }
    Ok(written)
}

/// Writes new files below `root` like [`write_files`]. YAML files in `.kb/` name their schema in the first line,
/// and the schemas are created where they are missing.
pub(super) fn write_with_schemas(
    root: &Path,
    files: &[(&str, &str)],
) -> Result<crate::project::NewFiles, ServiceError> {
    let texts: Vec<(&str, String)> =
        files.iter().map(|(path, text)| (*path, with_modeline(path, text))).collect();
    let borrowed: Vec<(&str, &str)> =
        texts.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let written = write_files(root, &borrowed)?;
    // Of all files, because a process that was killed may have written them without their schemas.
    let mut kinds: Vec<&str> = files.iter().filter_map(|(path, _)| kind_of_file(path)).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let schemas: Vec<(String, String)> = kinds
        .iter()
        .map(|kind| (format!(".kb/{FOLDER}/{}", file_name(kind)), schema(kind).unwrap_or_default()))
        .collect();
    let schemas: Vec<(&str, &str)> =
        schemas.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    // A file that exists already stays: it can be of a newer version.
    write_files(root, &schemas)?;
    Ok(written)
}

/// The text with the line that names its schema; unchanged if it names one, or the file has none.
fn with_modeline(path: &str, text: &str) -> String {
    let Some(kind) = kind_of_file(path).filter(|_| !text.contains(MODELINE)) else {
        return text.to_owned();
    };
    let folders = path.split('/').count().saturating_sub(2);
    let up = if folders == 0 { "./".to_owned() } else { "../".repeat(folders) };
    format!("{MODELINE}{up}{FOLDER}/{}\n{text}", file_name(kind))
}

/// The name of the schema of a YAML file in `.kb/`.
fn kind_of_file(path: &str) -> Option<&'static str> {
    if path.ends_with(".test.yml") {
        return Some("test");
    }
    match role_of(Path::new(path)).filter(|_| path.starts_with(".kb/"))? {
        FileRole::Playbook => Some("playbook"),
        FileRole::Specialist => Some("specialist"),
        FileRole::Settings if path.ends_with(".yml") => Some("settings"),
        FileRole::Plugin => Some("plugin"),
        FileRole::Script => Some("script"),
        FileRole::Settings | FileRole::McpLock | FileRole::Workflow | FileRole::AgentProfile => {
            None
        }
    }
}

fn file_name(schema: &str) -> String {
    format!("{schema}.schema.json")
}
