//! Claims: statements of an output about files.

use super::normalized_path::normalized;
use crate::value::Json;
use std::fmt;

/// A statement of an output about one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Claim {
    pub(super) kind: ClaimKind,
    /// Normalized like the paths of file changes.
    pub(super) path: String,
}

/// What an output states about a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClaimKind {
    Created,
    Modified,
    Deleted,
}

impl ClaimKind {
    const ALL: [ClaimKind; 3] = [ClaimKind::Created, ClaimKind::Modified, ClaimKind::Deleted];

    /// Whether a key of an output lists such paths: `created`, `filesCreated`, `createdFiles`, in
    /// camelCase, snake_case or kebab-case.
    fn has_key(self, key: &str) -> bool {
        let name = self.to_string();
        let key: String = key.chars().filter(|c| *c != '_' && *c != '-').collect();
        let key = key.to_ascii_lowercase();
        key == name || key == format!("files{name}") || key == format!("{name}files")
    }
}

impl fmt::Display for ClaimKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            ClaimKind::Created => "created",
            ClaimKind::Modified => "modified",
            ClaimKind::Deleted => "deleted",
        })
    }
}

/// The claims of an output, in order: lists of paths at the top level and below `artifacts`. An entry
/// can be an object with `file` or `path`.
pub(super) fn claims_of(output: &Json, root: &str) -> Vec<Claim> {
    let mut claims: Vec<Claim> = Vec::new();
    for object in [Some(output), output.get("artifacts")].into_iter().flatten() {
        for (key, value) in object.as_object().into_iter().flatten() {
            let kind = ClaimKind::ALL.into_iter().find(|kind| kind.has_key(key));
            let Some(kind) = kind else { continue };
            for path in paths_in(value) {
                let claim = Claim { kind, path: normalized(path, root) };
                if !claims.contains(&claim) {
                    claims.push(claim);
                }
            }
        }
    }
    claims
}

fn paths_in(value: &Json) -> Vec<&str> {
    match value {
        Json::String(path) => vec![path],
        Json::Array(items) => items
            .iter()
            .filter_map(|item| match item {
                Json::String(path) => Some(path.as_str()),
                item => item.get("file").or_else(|| item.get("path"))?.as_str(),
            })
            .collect(),
        _ => Vec::new(),
    }
}
