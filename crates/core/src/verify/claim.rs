//! Claims: statements of an output about files.

use super::keys::{entries, field, is_key, sources, words};
use super::normalized_path::{normalized, normalized_exact};
use super::observation::ObservationQuery;
use super::statement::{Act, Meaning, is_path, means};
use super::{call_claim, command_claim};
use kb_base::value::{Digest, Json};
use std::collections::BTreeSet;
use std::fmt;

/// A statement of an output about one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Claim {
    pub(super) kind: ClaimKind,
    /// Normalized like the paths of file changes.
    pub(super) path: String,
    /// The same as it is written, if the output has white space or notes around it.
    pub(super) spaced: Option<String>,
    /// Whether words beside the path were left out, which nothing compares.
    pub(super) noted: bool,
    /// The kind that its entry names, such as `edit`.
    pub(super) named: Option<ClaimKind>,
    /// Claimed SHA-256 of the content, in hexadecimal digits.
    pub(super) hash: Option<String>,
    /// A text that the file is claimed to contain, with its indentation.
    pub(super) snippet: Option<String>,
    /// A text that the file is claimed to contain, or to have contained before the change.
    pub(super) earlier: Option<String>,
    /// Claimed number of changed lines.
    pub(super) lines: Option<u64>,
    /// Whether the output says of the path that it was created and that it was deleted.
    pub(super) temporary: bool,
}

impl Claim {
    fn new(kind: ClaimKind, path: &str, root: &str) -> Claim {
        let plain = without_notes(path);
        let spaced = (plain != path).then(|| normalized_exact(path, root));
        let noted = has_notes(path, plain);
        let path = normalized(plain, root);
        Claim {
            kind,
            path,
            spaced,
            noted,
            named: None,
            hash: None,
            snippet: None,
            earlier: None,
            lines: None,
            temporary: false,
        }
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
            let text = text(names).filter(|text| !text.trim().is_empty());
            text.map(str::to_owned)
        };
        let after = snippet(&["aftersnippet", "snippet", "inserted"]);
        let earlier = snippet(&["beforesnippet"]);
        let is_new = self.kind == ClaimKind::Created;
        let all = field(entry, &["lines", "linecount"]).filter(|_| is_new);
        let lines = field(entry, &["lineschanged", "changedlines"]).or(all).and_then(Json::as_u64);
        Claim { named: kind_of_change(entry), hash, snippet: after, earlier, lines, ..self }
    }

    /// The queries for the claimed texts.
    pub(super) fn snippet_queries(&self) -> impl Iterator<Item = ObservationQuery> {
        let texts = [&self.snippet, &self.earlier].into_iter().flatten();
        texts.map(|text| self.text_query(text))
    }

    /// Whether a digest is the one of the claimed text instead of the whole file.
    pub(super) fn is_digest_of_text(&self, hash: &str) -> bool {
        let is = |text: &str| Digest::of(text.as_bytes()).to_string().eq_ignore_ascii_case(hash);
        let text = self.snippet.as_deref();
        text.is_some_and(|text| [text, text.trim_end(), text.trim()].into_iter().any(is))
    }

    /// The query for a text in the file; its lines are compared without their indentation.
    pub(super) fn text_query(&self, text: &str) -> ObservationQuery {
        let lines = text.trim().lines();
        let lines: Vec<String> = lines.map(|line| regex::escape(line.trim())).collect();
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

/// Whether the text around a path says more than the mark of a change, such as `M`.
fn has_notes(text: &str, path: &str) -> bool {
    let rest = text.replacen(path, "", 1);
    let rest = rest.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    rest.filter(|word| !["A", "M", "D"].contains(word)).any(|word| !path.contains(word))
}

/// The keys of a path in an entry.
const PATHS: &[&str] = &["file", "path", "filepath", "filename"];

/// What an output states about a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ClaimKind {
    Created,
    Modified,
    /// Created or modified.
    Written,
    /// Created, modified or deleted.
    Changed,
    Deleted,
}

impl ClaimKind {
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

    /// The kind of the paths that a key lists, by its words without `files` and the like. Words in the table of
    /// statements count too: what was `updated` or `saved` is written.
    fn of_key(key: &str) -> Option<ClaimKind> {
        let words = words(key);
        let mut own = words.iter().filter(|word| {
            !["file", "files", "path", "paths", "to", "list"].contains(&word.as_str())
        });
        let (word, None) = (own.next()?, own.next()) else { return None };
        ClaimKind::of_word(word)
    }

    fn of_word(word: &str) -> Option<ClaimKind> {
        let is = |act| means(word, Meaning::Act(act));
        match word {
            "created" | "new" | "create" => Some(ClaimKind::Created),
            "modified" => Some(ClaimKind::Modified),
            "deleted" | "removed" | "delete" | "remove" => Some(ClaimKind::Deleted),
            "write" | "add" | "added" => Some(ClaimKind::Written),
            "edit" | "update" | "modify" => Some(ClaimKind::Changed),
            _ if is(Act::Created) => Some(ClaimKind::Written),
            _ if is(Act::Changed) => Some(ClaimKind::Changed),
            _ => None,
        }
    }
}

impl fmt::Display for ClaimKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            ClaimKind::Created => "created",
            ClaimKind::Modified => "modified",
            ClaimKind::Written => "written",
            ClaimKind::Changed => "changed",
            ClaimKind::Deleted => "deleted",
        })
    }
}

/// Most levels of objects that are read.
const DEPTH: usize = 8;

/// The keys of entries about files, with the kind of an entry that names none.
const ENTRIES: [(&str, Option<ClaimKind>); 2] =
    [("claims", None), ("fileedits", Some(ClaimKind::Written))];

/// Whether a key of an output has entries that claims are read from.
pub(super) fn has_entries(key: &str) -> bool {
    ENTRIES.iter().any(|(name, _)| is_key(key, &[name]))
}

/// The claims of an output about files, in order. `writes`: whether the step is one that changes files; of another step only
/// the plain keys at the top level are claims, because others describe what it read.
pub(super) fn claims_of(output: &Json, root: &str, writes: bool) -> Vec<Claim> {
    let mut reader = Reader { root, writes, claims: Vec::new() };
    reader.read(output, 0);
    let mut claims = reader.claims;
    let of = |is: &dyn Fn(ClaimKind) -> bool| -> BTreeSet<String> {
        claims.iter().filter(|claim| is(claim.kind)).map(|claim| claim.path.clone()).collect()
    };
    let made = of(&|kind| matches!(kind, ClaimKind::Created | ClaimKind::Written));
    let deleted = of(&|kind| kind == ClaimKind::Deleted);
    for claim in &mut claims {
        claim.temporary = made.contains(&claim.path) && deleted.contains(&claim.path);
    }
    claims
}

/// The kinds of changes that an output lists, also those whose list is empty.
pub(super) fn listed_kinds(output: &Json, claims: &[Claim]) -> BTreeSet<ClaimKind> {
    let empty = |(key, value): (&String, &Json)| {
        value.as_array().filter(|list| list.is_empty()).and(ClaimKind::of_key(key))
    };
    let kinds = claims.iter().map(|claim| claim.kind);
    let all: BTreeSet<ClaimKind> =
        kinds.chain(sources(output).flatten().filter_map(empty)).collect();
    match all.contains(&ClaimKind::Changed) {
        true => [ClaimKind::Created, ClaimKind::Modified, ClaimKind::Deleted].into(),
        false => all,
    }
}

struct Reader<'r> {
    root: &'r str,
    writes: bool,
    claims: Vec<Claim>,
}

impl Reader<'_> {
    fn add(&mut self, kind: ClaimKind, path: &str, entry: &Json) {
        let claim = Claim::new(kind, path, self.root).with_anchors(entry);
        if !self.claims.contains(&claim) {
            self.claims.push(claim);
        }
    }

    fn read(&mut self, value: &Json, depth: usize) {
        match value {
            Json::Object(fields) if depth < DEPTH => {
                for (key, value) in fields {
                    self.key(key, value, depth);
                }
            }
            Json::Array(items) if depth < DEPTH => {
                for item in items {
                    self.typed_entry(item);
                    self.read(item, depth + 1);
                }
            }
            Json::Object(_) | Json::Array(_) | Json::String(_) => {}
            Json::Null | Json::Bool(_) | Json::Number(_) => {}
        }
    }

    fn key(&mut self, key: &str, value: &Json, depth: usize) {
        let is_top = depth == 0;
        let name = words(key).concat();
        if means(&name, Meaning::OtherKey)
            || call_claim::is_read(key)
            || command_claim::is_read(key)
        {
            return;
        }
        if let Some((_, kind)) = ENTRIES.iter().find(|(name, _)| is_key(key, &[name])) {
            for entry in entries(value) {
                let path = field(entry, PATHS).and_then(Json::as_str).or(entry.as_str());
                let kind = kind.map(|kind| changed_as(entry).unwrap_or(kind));
                let kind = kind.or_else(|| ClaimKind::of_entry(entry));
                if let Some((kind, path)) = kind.zip(path) {
                    self.add(kind, path, entry);
                }
            }
            return;
        }
        if self.writes && words(key).iter().any(|word| means(word, Meaning::Act(Act::Renamed))) {
            return renames(value).into_iter().for_each(|(from, to)| {
                self.add(ClaimKind::Deleted, from, &Json::Null);
                self.add(ClaimKind::Written, to, &Json::Null);
            });
        }
        let Some(kind) = ClaimKind::of_key(key) else {
            let below = if key == "artifacts" { depth } else { depth + 1 };
            return self.read(value, below);
        };
        // Other words than the plain ones, and keys further below, can mean something else than files.
        let plain = is_top
            && !matches!(kind, ClaimKind::Written | ClaimKind::Changed)
            && !words(key).contains(&"removed".to_owned());
        for (entry, path) in paths_in(value) {
            let is_any = matches!(kind, ClaimKind::Written | ClaimKind::Changed);
            let kind = changed_as(entry).filter(|_| is_any).unwrap_or(kind);
            if plain || self.writes && is_path(without_notes(path)) {
                self.add(kind, path, entry);
            }
        }
    }

    /// An entry such as `{path: a.rs, action: created}`.
    fn typed_entry(&mut self, entry: &Json) {
        let path = field(entry, PATHS).and_then(Json::as_str).filter(|path| is_path(path));
        let kind = kind_of_change(entry);
        let old = field(entry, &["oldpath", "from", "previouspath"]);
        let has_old = old.is_some();
        let old = old.and_then(Json::as_str).filter(|old| is_path(old));
        let renames =
            name_of_change(entry).iter().any(|word| means(word, Meaning::Act(Act::Renamed)));
        match (path, old, kind) {
            (Some(path), Some(old), _) if self.writes && renames => {
                self.add(ClaimKind::Deleted, old, &Json::Null);
                self.add(ClaimKind::Written, path, &Json::Null);
            }
            (Some(path), None, Some(kind)) if self.writes && !has_old => {
                self.add(kind, path, entry)
            }
            _ => {}
        }
    }
}

/// The kind of change that an entry names: `{path: a.rs, changeType: delete}`.
fn kind_of_change(entry: &Json) -> Option<ClaimKind> {
    match name_of_change(entry).as_slice() {
        [word] => ClaimKind::of_word(word),
        _ => None,
    }
}

/// The words of the kind of change that an entry names.
fn name_of_change(entry: &Json) -> Vec<String> {
    let keys = ["action", "kind", "type", "change", "changetype", "operation", "status"];
    field(entry, &keys).and_then(Json::as_str).map(words).unwrap_or_default()
}

/// The kind of an entry of a list of edits. A word for any change says no more than the list.
fn changed_as(entry: &Json) -> Option<ClaimKind> {
    kind_of_change(entry).filter(|kind| *kind != ClaimKind::Changed)
}

/// The pairs of a list of renamed files: `{from, to}`, `{OLD: NEW}` and `OLD -> NEW`.
fn renames(value: &Json) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    for entry in entries(value) {
        if let Some(text) = entry.as_str() {
            let parts = [" -> ", " → ", " => "].iter().find_map(|arrow| text.split_once(arrow));
            found.extend(parts.map(|(from, to)| (from.trim(), to.trim())));
            continue;
        }
        let text = |names: &[&str]| field(entry, names).and_then(Json::as_str);
        match (
            text(&["from", "old", "oldpath", "source"]),
            text(&["to", "new", "newpath", "path", "target"]),
        ) {
            (Some(from), Some(to)) => found.push((from, to)),
            _ => {
                let fields = entry.as_object().into_iter().flatten();
                found.extend(fields.filter_map(|(from, to)| Some((from.as_str(), to.as_str()?))));
            }
        }
    }
    found.retain(|(from, to)| is_path(from) && is_path(to));
    found
}

/// The entries of a list of paths, each with its path.
fn paths_in(value: &Json) -> Vec<(&Json, &str)> {
    const NAMED: &[&str] = &["file", "path", "filepath", "filename", "name"];
    entries(value)
        .filter_map(|entry| match entry {
            Json::String(path) => Some((entry, path.as_str())),
            entry => Some((entry, field(entry, NAMED)?.as_str()?)),
        })
        .collect()
}
