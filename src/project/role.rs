//! The role of a file, from its path or its content.

use crate::definition::FileRole;
use std::path::Path;

/// The role of a file by its folder and name; `None` if they do not determine one.
pub fn role_of(path: &Path) -> Option<FileRole> {
    let extension = path.extension()?.to_str()?;
    let yaml = matches!(extension, "yml" | "yaml");
    let stem = path.file_stem()?.to_str()?;
    let under =
        |name: &str| path.parent().is_some_and(|parent| parent.iter().any(|part| part == name));
    match () {
        () if stem == "kb.config" && (yaml || extension == "json") => Some(FileRole::Settings),
        () if yaml && (under("specialists") || stem == "specialist") => Some(FileRole::Specialist),
        () if yaml => Some(FileRole::Playbook),
        () if extension == "md" && under("agents") => Some(FileRole::AgentProfile),
        () if extension == "md" => Some(FileRole::Workflow),
        () => None,
    }
}

/// The role of a file that was named on the command line. YAML with a specialist schema is a
/// specialist in any folder, and a file with an unknown extension is read as a playbook.
pub(super) fn sniffed_role(path: &Path, bytes: &[u8]) -> FileRole {
    match role_of(path) {
        None | Some(FileRole::Playbook) if has_specialist_schema(bytes) => FileRole::Specialist,
        Some(role) => role,
        None if bytes.starts_with(b"---") => FileRole::Workflow,
        None => FileRole::Playbook,
    }
}

fn has_specialist_schema(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(64 << 10)]);
    text.lines().any(|line| {
        let schema = line.strip_prefix("schema:").map(|rest| rest.trim().trim_matches(['"', '\'']));
        schema.is_some_and(|schema| schema.starts_with("kb.specialist/"))
            || line.trim_end() == "agent:"
    })
}
