use super::normalize::normalized;
use crate::value::Json;
use std::fmt;

/// What an output says about one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Claim {
    pub(super) kind: ClaimKind,
    /// As evidence would spell it.
    pub(super) path: String,
}

/// What is said to have happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClaimKind {
    Created,
    Modified,
    Deleted,
}

impl ClaimKind {
    const ALL: [ClaimKind; 3] = [ClaimKind::Created, ClaimKind::Modified, ClaimKind::Deleted];

    /// The keys under which an output may list such paths: the plain word, and the documents'
    /// `filesCreated` (002) in either order and spelling.
    fn speaks(self, key: &str) -> bool {
        let word = self.to_string();
        let key: String = key.chars().filter(|c| *c != '_' && *c != '-').collect();
        let key = key.to_ascii_lowercase();
        key == word || key == format!("files{word}") || key == format!("{word}files")
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

/// The claims of an output, in its own order: lists of paths at the top, and below `artifacts`
/// (002), where an entry may be an object with a `file` or `path`.
pub(super) fn claims_of(output: &Json, root: &str) -> Vec<Claim> {
    let mut claims: Vec<Claim> = Vec::new();
    for place in [Some(output), output.get("artifacts")].into_iter().flatten() {
        for (key, value) in place.as_object().into_iter().flatten() {
            let kind = ClaimKind::ALL.into_iter().find(|kind| kind.speaks(key));
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
