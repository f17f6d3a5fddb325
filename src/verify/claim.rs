//! Claims: statements of an output about files.

use super::keys::{entries, field, is_key, sources};
use super::normalized_path::normalized;
use super::observation::ObservationQuery;
use super::verdict_rules::VerdictRules;
use crate::value::Json;
use std::fmt;

/// A statement of an output about one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Claim {
    pub(super) kind: ClaimKind,
    /// Normalized like the paths of file changes.
    pub(super) path: String,
    /// Claimed SHA-256 of the content, in hexadecimal digits.
    pub(super) hash: Option<String>,
    /// A text that the file is claimed to contain.
    pub(super) snippet: Option<String>,
}

impl Claim {
    fn new(kind: ClaimKind, path: &str, root: &str) -> Claim {
        Claim { kind, path: normalized(path, root), hash: None, snippet: None }
    }

    /// Adds the digest and the text of an entry.
    fn with_anchors(self, entry: &Json) -> Claim {
        let text = |names: &[&str]| field(entry, names).and_then(Json::as_str);
        let hash = text(&["contenthash", "sha256"]);
        let hash = hash.map(|hash| hash.trim_start_matches("sha256:").to_owned());
        let snippet = text(&["aftersnippet", "snippet", "inserted"]).map(str::trim);
        Claim { hash, snippet: snippet.filter(|text| !text.is_empty()).map(str::to_owned), ..self }
    }

    /// The query for the claimed text.
    pub(super) fn snippet_query(&self) -> Option<ObservationQuery> {
        let count = regex::escape(self.snippet.as_ref()?);
        Some(ObservationQuery::Files { pattern: self.path.clone(), count: Some(count) })
    }
}

/// What an output states about a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClaimKind {
    Created,
    Modified,
    /// Created or modified.
    Written,
    Deleted,
}

impl ClaimKind {
    const ALL: [ClaimKind; 3] = [ClaimKind::Created, ClaimKind::Modified, ClaimKind::Deleted];

    /// The kind of an entry of `claims`.
    fn of_entry(entry: &Json) -> Option<ClaimKind> {
        let kind = field(entry, &["kind", "type"])?.as_str()?;
        let is = |names: &[&str]| is_key(kind, names);
        match () {
            () if is(&["filewrite"]) => Some(ClaimKind::Written),
            () if is(&["filecreate"]) => Some(ClaimKind::Created),
            () if is(&["fileedit", "codeinserted"]) => Some(ClaimKind::Modified),
            () if is(&["filedelete"]) => Some(ClaimKind::Deleted),
            () => None,
        }
    }

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
            ClaimKind::Written => "written",
            ClaimKind::Deleted => "deleted",
        })
    }
}

/// The claims of an output, in order: lists of paths at the top level and below `artifacts`. An entry
/// can be an object with `file` or `path`. Entries of `claims` and `fileEdits` count under the rules for
/// all claims.
pub(super) fn claims_of(output: &Json, root: &str, rules: VerdictRules) -> Vec<Claim> {
    let mut claims: Vec<Claim> = Vec::new();
    let mut add = |claim: Claim| {
        if !claims.contains(&claim) {
            claims.push(claim);
        }
    };
    let all = rules == VerdictRules::AllClaims;
    for (key, value) in sources(output).flatten() {
        let kind = ClaimKind::ALL.into_iter().find(|kind| kind.has_key(key));
        if let Some(kind) = kind {
            paths_in(value).into_iter().for_each(|path| add(Claim::new(kind, path, root)));
        } else if all && is_key(key, &["claims", "fileedits"]) {
            for entry in entries(value) {
                let kind = match is_key(key, &["claims"]) {
                    true => ClaimKind::of_entry(entry),
                    false => Some(ClaimKind::Modified),
                };
                let path = field(entry, &["path", "file"]).and_then(Json::as_str);
                let path = path.or(entry.as_str());
                if let Some((kind, path)) = kind.zip(path) {
                    add(Claim::new(kind, path, root).with_anchors(entry));
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
