//! The role of a file, from its path or its content.

use kb_language::definition::{FileRole, LOCK_PATH};
use std::path::Path;

/// The role of a file by its folder and name; `None` if they do not determine one.
pub fn role_of(path: &Path) -> Option<FileRole> {
    let extension = path.extension()?.to_str()?;
    let yaml = matches!(extension, "yml" | "yaml");
    let stem = path.file_stem()?.to_str()?;
    let is_under = |name: &str| folder_of_definitions(path) == Some(name);
    match () {
        () if stem == "kb.config" && (yaml || extension == "json") => Some(FileRole::Settings),
        () if path.ends_with(LOCK_PATH) => Some(FileRole::McpLock),
        () if yaml && (is_in(path, ".kb/scripts") || stem.ends_with(".script")) => {
            Some(FileRole::Script)
        }
        () if yaml && is_under("playbooks") => Some(FileRole::Playbook),
        () if yaml && (is_under("specialists") || stem == "specialist") => {
            Some(FileRole::Specialist)
        }
        () if yaml && is_in(path, ".kb/plugins") => Some(FileRole::Plugin),
        () if yaml => Some(FileRole::Playbook),
        () if extension == "md" && is_under("agents") => Some(FileRole::AgentProfile),
        () if extension == "md" => Some(FileRole::Workflow),
        () => None,
    }
}

/// The nearest folder above a file that definitions are loaded from.
fn folder_of_definitions(path: &Path) -> Option<&str> {
    let known = ["playbooks", "specialists", "workflows", "agents"];
    let mut names = path.parent()?.iter().rev().filter_map(|part| part.to_str());
    names.find(|name| known.contains(name))
}

/// Whether a file lies directly in this folder of the project.
fn is_in(path: &Path, folder: &str) -> bool {
    path.parent().is_some_and(|parent| parent.ends_with(folder))
}

/// The role of a file that was named on the command line or is open in an editor. YAML with the schema of a specialist,
/// plugin or script is one in any folder, and a file with an unknown extension is read as a playbook.
pub(crate) fn sniffed_role(path: &Path, bytes: &[u8]) -> FileRole {
    match role_of(path) {
        None | Some(FileRole::Playbook) if has_specialist_schema(bytes) => FileRole::Specialist,
        None | Some(FileRole::Playbook) if has_schema(bytes, "kb.plugin/") => FileRole::Plugin,
        None | Some(FileRole::Playbook) if has_schema(bytes, "kb.script/") => FileRole::Script,
        Some(role) => role,
        None if bytes.starts_with(b"---") => FileRole::Workflow,
        None => FileRole::Playbook,
    }
}

fn has_specialist_schema(bytes: &[u8]) -> bool {
    has_schema(bytes, "kb.specialist/") || lines(bytes).any(|line| line.trim_end() == "agent:")
}

/// Whether a line gives a schema with this start.
fn has_schema(bytes: &[u8], start: &str) -> bool {
    let schema = |line: String| {
        let rest = line.strip_prefix("schema:")?.trim().trim_matches(['"', '\'']).to_owned();
        Some(rest.starts_with(start))
    };
    lines(bytes).filter_map(schema).any(|is| is)
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = String> {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(64 << 10)]).into_owned();
    text.lines().map(str::to_owned).collect::<Vec<_>>().into_iter()
}
