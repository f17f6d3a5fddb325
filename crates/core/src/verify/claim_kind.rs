//! [`ClaimKind`]: what an output states about a path.

use super::keys::{field, is_key, words};
use super::statement::{Act, Meaning, means};
use kb_base::value::Json;
use std::fmt;

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
    pub(super) fn of_entry(entry: &Json) -> Option<ClaimKind> {
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
    pub(super) fn of_key(key: &str) -> Option<ClaimKind> {
        let words = words(key);
        // `filesToCreate` and `toDelete` are plans.
        let is_plan = |pair: &[String]| pair[0] == "to" && ClaimKind::of_word(&pair[1]).is_some();
        if words.windows(2).any(is_plan) {
            return None;
        }
        let mut own = words.iter().filter(|word| {
            !["file", "files", "path", "paths", "to", "list"].contains(&word.as_str())
        });
        let (word, None) = (own.next()?, own.next()) else { return None };
        ClaimKind::of_word(word)
    }

    pub(super) fn of_word(word: &str) -> Option<ClaimKind> {
        let is = |act| means(word, Meaning::Act(act));
        match word {
            "created" | "new" | "create" | "add" | "added" => Some(ClaimKind::Created),
            "modified" => Some(ClaimKind::Modified),
            "deleted" | "removed" | "delete" | "remove" => Some(ClaimKind::Deleted),
            "write" => Some(ClaimKind::Written),
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
