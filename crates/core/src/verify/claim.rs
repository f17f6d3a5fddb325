//! Claims: statements of an output about files.

use super::keys::{entries, field, is_key, sources};
use super::normalized_path::{normalized, normalized_exact};
use super::observation::ObservationQuery;
use kb_base::value::{Digest, Json};
use std::fmt;

/// A statement of an output about one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Claim {
    pub(super) kind: ClaimKind,
    /// Normalized like the paths of file changes.
    pub(super) path: String,
    /// The same as it is written, if the output has white space or notes around it.
    pub(super) spaced: Option<String>,
    /// Claimed SHA-256 of the content, in hexadecimal digits.
    pub(super) hash: Option<String>,
    /// A text that the file is claimed to contain.
    pub(super) snippet: Option<String>,
    /// A text that the file is claimed to contain, or to have contained before the change.
    pub(super) earlier: Option<String>,
}

impl Claim {
    fn new(kind: ClaimKind, path: &str, root: &str) -> Claim {
        let plain = without_notes(path);
        let spaced = (plain != path).then(|| normalized_exact(path, root));
        let path = normalized(plain, root);
        Claim { kind, path, spaced, hash: None, snippet: None, earlier: None }
    }

    /// Adds the digest and the texts of an entry, or of its `anchor`.
    fn with_anchors(self, entry: &Json) -> Claim {
        let anchor = field(entry, &["anchor"]);
        let text = |names: &[&str]| {
            let values = [Some(entry), anchor].into_iter().flatten();
            values.filter_map(|object| field(object, names)?.as_str()).next()
        };
        let hash = text(&["contenthash", "sha256"]);
        let hash = hash.map(|hash| hash.trim_start_matches("sha256:").to_owned());
        let snippet = |names: &[&str]| {
            let text = text(names).map(str::trim).filter(|text| !text.is_empty());
            text.map(str::to_owned)
        };
        let after = snippet(&["aftersnippet", "snippet", "inserted"]);
        let earlier = snippet(&["beforesnippet"]);
        Claim { hash, snippet: after, earlier, ..self }
    }

    /// The queries for the claimed texts.
    pub(super) fn snippet_queries(&self) -> impl Iterator<Item = ObservationQuery> {
        let texts = [&self.snippet, &self.earlier].into_iter().flatten();
        texts.map(|text| self.text_query(text))
    }

    /// Whether a digest is the one of the claimed text instead of the whole file.
    pub(super) fn is_digest_of_text(&self, hash: &str) -> bool {
        let text = self.snippet.as_ref();
        text.is_some_and(|text| Digest::of(text.as_bytes()).to_string().eq_ignore_ascii_case(hash))
    }

    /// The query for a text in the file; its lines are compared without their indentation.
    pub(super) fn text_query(&self, text: &str) -> ObservationQuery {
        let lines: Vec<String> = text.lines().map(|line| regex::escape(line.trim())).collect();
        let count = lines.join(r"[ \t]*\r?\n[ \t]*");
        ObservationQuery::Files { pattern: self.path.clone(), count: Some(count) }
    }
}

/// A path without what reports add to it: `x.py (new)`, `x.py:6`, `[x.py](x.py)`, `M x.py`, `x.py - why`.
fn without_notes(path: &str) -> &str {
    let mut path = path.trim();
    if let Some((name, _)) = path.strip_prefix('[').and_then(|rest| rest.split_once("](")) {
        path = name;
    }
    path = path.trim_matches('`');
    for mark in ["A ", "M ", "D ", "+ ", "- "] {
        path = path.strip_prefix(mark).unwrap_or(path);
    }
    let is_file = |text: &str| text.contains(['.', '/']) && !text.contains(' ');
    for separator in [" (", " - ", " – ", " — ", ": "] {
        let name = path.split_once(separator).map(|(name, _)| name.trim_matches('`'));
        path = name.filter(|name| is_file(name)).unwrap_or(path);
    }
    let line = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || c == '-' || c == ':')
    };
    match path.split_once(':') {
        Some((name, lines)) if line(lines) && is_file(name) => name,
        _ => path,
    }
}

/// The keys of a path in an entry.
const PATHS: &[&str] = &["file", "path", "filepath", "filename"];

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
            () if is(&["filewrite", "codeinserted"]) => Some(ClaimKind::Written),
            () if is(&["filecreate"]) => Some(ClaimKind::Created),
            () if is(&["fileedit"]) => Some(ClaimKind::Modified),
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
/// can be an object with `file` or `path`. Entries of `claims` and `fileEdits` count too.
pub(super) fn claims_of(output: &Json, root: &str) -> Vec<Claim> {
    let mut claims: Vec<Claim> = Vec::new();
    let mut add = |claim: Claim| {
        if !claims.contains(&claim) {
            claims.push(claim);
        }
    };
    for (key, value) in sources(output).flatten() {
        let kind = ClaimKind::ALL.into_iter().find(|kind| kind.has_key(key));
        if let Some(kind) = kind {
            for (entry, path) in paths_in(value) {
                add(Claim::new(kind, path, root).with_anchors(entry));
            }
        } else if is_key(key, &["claims", "fileedits"]) {
            for entry in entries(value) {
                let kind = match is_key(key, &["claims"]) {
                    true => ClaimKind::of_entry(entry),
                    false => Some(ClaimKind::Modified),
                };
                let path = field(entry, PATHS).and_then(Json::as_str);
                let path = path.or(entry.as_str());
                if let Some((kind, path)) = kind.zip(path) {
                    add(Claim::new(kind, path, root).with_anchors(entry));
                }
            }
        }
    }
    claims
}

/// The entries of a list of paths, each with its path.
fn paths_in(value: &Json) -> Vec<(&Json, &str)> {
    match value {
        Json::String(path) => vec![(value, path)],
        Json::Array(items) => items
            .iter()
            .filter_map(|item| match item {
                Json::String(path) => Some((item, path.as_str())),
                item => Some((item, field(item, PATHS)?.as_str()?)),
            })
            .collect(),
        _ => Vec::new(),
    }
}
