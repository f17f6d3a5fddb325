//! What several runs said in their session states: findings, corrections and blockers that come again.

use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Runs that say the same before it counts as recurring.
pub const MIN_RUNS: usize = 3;

/// What a line of a session state is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NoteKind {
    /// A claim or mention that a gate or judge confirmed.
    Finding,
    /// A claim or mention that a gate or judge refuted.
    Correction,
    /// What hindered the work, or was found missing.
    Blocker,
}

impl NoteKind {
    /// The name in ids and texts.
    pub fn as_str(self) -> &'static str {
        match self {
            NoteKind::Finding => "finding",
            NoteKind::Correction => "correction",
            NoteKind::Blocker => "blocker",
        }
    }
}

/// A line of the session state of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunNote {
    /// Whether it was found out, corrected, or stopped the work.
    pub kind: NoteKind,
    /// Id of the run.
    pub run: String,
    /// Its text, on one line.
    pub text: String,
}

/// A note that several runs have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Recurring {
    /// That of the first of the runs.
    pub kind: NoteKind,
    /// Its text as the first of the runs has it.
    pub text: String,
    /// The runs, at least [`MIN_RUNS`].
    pub runs: Vec<String>,
}

/// The notes that several runs have: the same words, whatever their case and punctuation. Those of most runs first.
pub fn recurring(notes: &[RunNote]) -> Vec<Recurring> {
    let mut groups: BTreeMap<(NoteKind, String), (&str, BTreeSet<&str>)> = BTreeMap::new();
    for note in notes {
        let group =
            groups.entry((note.kind, key(&note.text))).or_insert((&note.text, BTreeSet::new()));
        group.1.insert(&note.run);
    }
    let mut found: Vec<Recurring> = groups
        .into_iter()
        .filter(|((_, key), (_, runs))| !key.is_empty() && runs.len() >= MIN_RUNS)
        .map(|((kind, _), (text, runs))| Recurring {
            kind,
            text: text.to_owned(),
            runs: runs.into_iter().map(str::to_owned).collect(),
        })
        .collect();
    found.sort_by_key(|note| std::cmp::Reverse(note.runs.len()));
    found
}

/// The words of a text.
fn key(text: &str) -> String {
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric() && !"._/-".contains(c));
    // A full stop ends a sentence, and no name.
    let words = words.map(|word| word.trim_end_matches('.'));
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_three_runs_say_recurs_and_what_one_run_repeats_does_not() {
        let note =
            |kind, run: &str, text: &str| RunNote { kind, run: run.into(), text: text.into() };
        let notes = [
            note(NoteKind::Correction, "r1", "`src/a.rs` has `parse`"),
            note(NoteKind::Correction, "r2", "src/a.rs has parse."),
            note(NoteKind::Correction, "r3", "`src/a.rs` has `parse`"),
            note(NoteKind::Finding, "r1", "the port is 8080"),
            note(NoteKind::Finding, "r1", "the port is 8080"),
            note(NoteKind::Finding, "r2", "the port is 8080"),
            note(NoteKind::Blocker, "r3", "the port is 8080"),
            note(NoteKind::Blocker, "r4", "…"),
        ];
        let found = recurring(&notes);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].kind, found[0].runs.len()), (NoteKind::Correction, 3));
        assert_eq!(found[0].text, "`src/a.rs` has `parse`");
    }
}
