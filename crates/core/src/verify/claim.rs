//! Claims: statements of an output about files.

use super::claim_entry::{
    changed_as, denies, has_notes, is_denied, kind_of_change, marked_as, name_of_change, paths_in,
    renames, without_notes,
};
use super::claim_kind::ClaimKind;
use super::claimed_digest::ClaimedDigest;
use super::keys::{entries, field, is_key, is_neutral, sources, words};
use super::normalized_path::{normalized, normalized_exact};
use super::observation::ObservationQuery;
use super::statement::{Act, Meaning, Sentence, is_path, means};
use super::{call_claim, command_claim};
use kb_base::value::{Digest, Json};
use std::collections::BTreeSet;

/// Keys of an entry with the SHA-256 of the content.
const DIGESTS: [&str; 8] = [
    "contenthash",
    "sha256",
    "hash",
    "digest",
    "checksum",
    "contentsha256",
    "sha256sum",
    "filehash",
];

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
    /// Whether its entry, or a note beside the path, says that it was not done.
    pub(super) denied: bool,
    /// The kind that its entry names, such as `edit`.
    pub(super) named: Option<ClaimKind>,
    /// Claimed digest of the content.
    pub(super) hash: Option<ClaimedDigest>,
    /// A text that the file is claimed to contain, with its indentation.
    pub(super) snippet: Option<String>,
    /// A text that the file is claimed to contain, or to have contained before the change.
    pub(super) earlier: Option<String>,
    /// Claimed number of changed lines.
    pub(super) lines: Option<u64>,
    /// Whether the output says of the path that it was created and that it was deleted.
    pub(super) temporary: bool,
    /// Whether the output says of the path that it was created.
    pub(super) also_made: bool,
    /// A key above it that is none of a report, so that what is below can be a plan, or the work of others.
    pub(super) below: Option<String>,
    /// The path that it is claimed to have had before.
    pub(super) renamed: Option<String>,
    /// How often the list has it.
    pub(super) times: usize,
    /// Number of the list.
    list: usize,
    /// Whether the texts are claimed to be new.
    pub(super) is_insertion: bool,
    /// Whether it is called added, as lines of an old file can be.
    pub(super) added: bool,
    /// The text as it is written.
    pub(super) text: String,
}

impl Claim {
    fn new(kind: ClaimKind, path: &str, root: &str) -> Claim {
        let text = path;
        let plain = without_notes(path);
        let spaced = (plain != path).then(|| normalized_exact(path, root));
        let noted = has_notes(path, plain);
        let path = normalized(plain, root);
        Claim {
            kind,
            path,
            spaced,
            noted,
            denied: noted && denies(&text.replacen(plain, "", 1)),
            named: None,
            hash: None,
            snippet: None,
            earlier: None,
            lines: None,
            temporary: false,
            also_made: false,
            below: None,
            renamed: None,
            times: 1,
            list: 0,
            is_insertion: false,
            added: false,
            text: text.to_owned(),
        }
    }

    /// Adds the digest and the texts of an entry, or of its `anchor`.
    fn with_anchors(self, entry: &Json) -> Claim {
        let anchor = field(entry, &["anchor"]);
        let text = |names: &[&str]| {
            let values = [Some(entry), anchor].into_iter().flatten();
            values.filter_map(|object| field(object, names)?.as_str()).next()
        };
        let hash = text(&DIGESTS).map(ClaimedDigest::of);
        let snippet = |names: &[&str]| {
            let text = text(names).filter(|text| !text.trim().is_empty());
            text.map(str::to_owned)
        };
        let earlier = snippet(&["beforesnippet"]);
        // Nothing in place of something is a text; nothing alone shows nothing.
        let after = text(&["aftersnippet", "snippet", "inserted"]).map(str::to_owned);
        let after = after.filter(|text| earlier.is_none() || !text.trim().is_empty());
        let is_new = self.kind == ClaimKind::Created;
        let all = field(entry, &["lines", "linecount"]).filter(|_| is_new);
        let lines = field(entry, &["lineschanged", "changedlines"]).or(all).and_then(Json::as_u64);
        let kind = field(entry, &["kind", "type"]).and_then(Json::as_str);
        let is_insertion = kind.is_some_and(|kind| is_key(kind, &["codeinserted"]));
        let named = kind_of_change(entry);
        let denied = self.denied || is_denied(entry);
        Claim { denied, named, hash, snippet: after, earlier, lines, is_insertion, ..self }
    }

    /// Whether another claim says the same of the path, whatever else the output says of it.
    pub(super) fn says(&self, other: &Claim) -> bool {
        fn said(claim: &Claim) -> impl PartialEq + '_ {
            let Claim { kind, path, spaced, noted, named, hash, snippet, earlier, .. } = claim;
            let Claim { lines, below, renamed, is_insertion, .. } = claim;
            let texts = (spaced, hash, snippet, earlier, below, renamed);
            (kind, path, noted, named, lines, is_insertion, texts)
        }
        said(self) == said(other)
    }

    /// The queries for the claimed texts.
    pub(super) fn snippet_queries(&self) -> impl Iterator<Item = ObservationQuery> {
        let texts = [&self.snippet, &self.earlier].into_iter().flatten();
        texts.map(|text| self.text_query(text))
    }

    /// Whether a digest is the one of the claimed text instead of the whole file.
    pub(super) fn is_digest_of_text(&self, hash: &ClaimedDigest) -> bool {
        let is = |text: &str| hash.is_of(Digest::of(text.as_bytes())) == Some(true);
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

/// The keys of a path in an entry.
const PATHS: &[&str] = &["file", "path", "filepath", "filename"];

/// Whether a key has what the step did, and no plan and no work of others.
fn is_of_report(key: &str) -> bool {
    let key = words(key).concat();
    is_neutral(&key) || has_entries(&key) || ["files", "file", "paths"].contains(&key.as_str())
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
    let mut reader = Reader { root, writes, list: 0, claims: Vec::new(), above: Vec::new() };
    reader.read(output, 0);
    let mut claims = reader.claims;
    let of = |is: &dyn Fn(ClaimKind) -> bool| -> BTreeSet<String> {
        claims.iter().filter(|claim| is(claim.kind)).map(|claim| claim.path.clone()).collect()
    };
    let made = of(&|kind| matches!(kind, ClaimKind::Created | ClaimKind::Written));
    let deleted = of(&|kind| kind == ClaimKind::Deleted);
    for claim in &mut claims {
        // `a.py (temporary, deleted)`
        let is_gone = claim.noted && Sentence::whole(&claim.text).has(Meaning::Act(Act::Deleted));
        claim.temporary = made.contains(&claim.path) && (is_gone || deleted.contains(&claim.path));
        claim.also_made = made.contains(&claim.path);
    }
    claims
}

/// The kinds of changes that an output lists, also those whose list is empty.
pub(super) fn listed_kinds(output: &Json, claims: &[Claim]) -> BTreeSet<ClaimKind> {
    let empty = kinds_of_lists(output, |value| value.as_array().is_some_and(Vec::is_empty));
    with_parts(claims.iter().map(|claim| claim.kind).chain(empty).collect())
}

/// The kinds of changes whose list is `null`, or is empty below a key that can be about something else than files.
pub(super) fn missing_kinds(output: &Json) -> BTreeSet<ClaimKind> {
    let is_none = |value: &Json| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
    let other = sources(output).flatten().filter(|(key, value)| {
        let is_plain = words(key).iter().any(|word| means(word, Meaning::Change));
        is_plain && is_none(value)
    });
    let other = other.filter_map(|(key, _)| ClaimKind::of_key(key));
    with_parts(kinds_of_lists(output, Json::is_null).chain(other).collect())
}

/// The kinds of changes whose list is empty.
pub(super) fn denied_kinds(output: &Json) -> BTreeSet<ClaimKind> {
    kinds_of_lists(output, |value| value.as_array().is_some_and(Vec::is_empty)).collect()
}

/// The kinds of the lists of files that fit.
fn kinds_of_lists(output: &Json, fits: fn(&Json) -> bool) -> impl Iterator<Item = ClaimKind> {
    // `removed: []` may be about dependencies, `fixed: []` about problems.
    let names_files = |key: &str| {
        let key = key.to_lowercase();
        key.contains("file")
            || key.contains("path")
            || ["created", "modified", "deleted", "changes"].contains(&&*key)
    };
    // Also those of `files: {modified: […], deleted: []}`.
    let below = sources(output).flatten().filter(|(key, _)| is_of_report(key));
    let below = below.filter_map(|(_, value)| value.as_object());
    sources(output).chain(below).flatten().filter_map(move |(key, value)| {
        (names_files(key) && fits(value)).then(|| ClaimKind::of_key(key)).flatten()
    })
}

/// A list of all changes lists those of each kind.
fn with_parts(all: BTreeSet<ClaimKind>) -> BTreeSet<ClaimKind> {
    match all.contains(&ClaimKind::Changed) {
        true => [ClaimKind::Created, ClaimKind::Modified, ClaimKind::Deleted].into(),
        false => all,
    }
}

struct Reader<'r> {
    root: &'r str,
    writes: bool,
    /// Number of the list that is read.
    list: usize,
    claims: Vec<Claim>,
    /// The keys above, without the one that has the paths.
    above: Vec<String>,
}

impl Reader<'_> {
    /// Adds a claim. `word`: what says that the path was changed.
    fn add(&mut self, kind: ClaimKind, path: &str, entry: &Json, word: &str) {
        let mut claim = Claim::new(kind, path, self.root).with_anchors(entry);
        claim.noted |= words(word).iter().any(|word| means(word, Meaning::Effect));
        claim.added = words(word).iter().any(|word| ["add", "added"].contains(&word.as_str()));
        self.push(claim);
    }

    fn rename(&mut self, from: &str, to: &str) {
        self.add(ClaimKind::Deleted, from, &Json::Null, "");
        let mut claim = Claim::new(ClaimKind::Written, to, self.root);
        claim.renamed = Some(normalized(without_notes(from), self.root));
        self.push(claim);
    }

    fn push(&mut self, claim: Claim) {
        let below = self.above.iter().find(|key| !is_of_report(key)).cloned();
        let claim = Claim { below, list: self.list, ..claim };
        match self.claims.iter_mut().find(|own| own.says(&claim)) {
            Some(own) if own.list == claim.list => own.times += 1,
            Some(_) => {}
            None => self.claims.push(claim),
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
        self.list += 1;
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
                    self.add(kind, path, entry, "");
                }
            }
            return;
        }
        if self.writes && words(key).iter().any(|word| means(word, Meaning::Act(Act::Renamed))) {
            return renames(value).into_iter().for_each(|(from, to)| self.rename(from, to));
        }
        let Some(kind) = ClaimKind::of_key(key) else {
            let below = if key == "artifacts" { depth } else { depth + 1 };
            self.above.push(key.to_owned());
            self.read(value, below);
            self.above.pop();
            return;
        };
        // Other words than the plain ones, and keys further below, can mean something else than files.
        let plain = is_top
            && !matches!(kind, ClaimKind::Written | ClaimKind::Changed)
            && !words(key).iter().any(|word| ["removed", "add", "added"].contains(&word.as_str()));
        for (entry, path) in paths_in(value) {
            let is_any = matches!(kind, ClaimKind::Written | ClaimKind::Changed);
            if name_of_change(entry).iter().any(|word| means(word, Meaning::Nothing)) {
                continue;
            }
            let marked = marked_as(path);
            let own = changed_as(entry).or(marked);
            let kind = own.filter(|_| is_any).unwrap_or(kind);
            if let Some(own) = own.filter(|own| *own != kind) {
                self.add(own, path, entry, key);
                // A mark that contradicts its list.
                let last = self.claims.last_mut().filter(|_| marked.is_some());
                last.into_iter().for_each(|claim| claim.noted = true);
            }
            if plain || self.writes && is_path(without_notes(path)) {
                self.add(kind, path, entry, key);
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
            (Some(path), Some(old), _) if self.writes && renames => self.rename(old, path),
            (Some(path), None, Some(kind)) if self.writes && !has_old => {
                self.add(kind, path, entry, &name_of_change(entry).concat());
            }
            _ => {}
        }
    }
}
