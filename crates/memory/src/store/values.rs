//! What the store takes and returns.

use crate::entry::{Entry, Kind, State, rfc3339};
use kb_base::value::{Digest, RunId, Timestamp};
use kb_knowledge::Meaning;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// How much is stored, and how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// `memory.maxEntries`: entries that are neither archived nor forgotten.
    pub max_entries: usize,
    /// `memory.archiveAfter`: age since the last passed check, or since it was proposed, from which an entry that no person
    /// shared is archived.
    pub archive_after: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { max_entries: 2000, archive_after: Duration::from_secs(90 * 24 * 3600) }
    }
}

/// What became of a proposal.
#[derive(Debug, Clone, PartialEq)]
pub enum Admitted {
    /// It is stored.
    New(Entry),
    /// An entry says the same already.
    Duplicate(Entry),
    /// It is stored, and entries with its subject say something else; their ids.
    Conflict(Entry, Vec<String>),
}

impl Admitted {
    /// The entry that was stored, or that says the same.
    pub fn entry(&self) -> &Entry {
        match self {
            Admitted::New(entry) | Admitted::Duplicate(entry) | Admitted::Conflict(entry, _) => {
                entry
            }
        }
    }
}

/// Whose view a search has.
#[derive(Debug, Clone, Copy)]
pub enum Reader<'a> {
    /// A person, who sees all entries but forgotten ones.
    Person,
    /// A specialist in a run with this lineage: the run, and those that started it.
    Specialist(&'a [RunId]),
}

/// What a search is for.
#[derive(Debug, Clone, Default)]
pub struct Query<'a> {
    /// The words; entries with any of them are found.
    pub text: &'a str,
    /// Further words, such as names that the caller knows.
    pub terms: &'a [String],
    /// The vector of the text, if a model made one: entries with similar vectors are found too.
    pub meaning: Option<Meaning<'a>>,
    /// Only entries of these kinds; all if empty.
    pub kinds: &'a [Kind],
    /// Only entries with one of these tags, whatever their case; all if empty.
    pub tags: &'a [String],
    /// Only entries of this author.
    pub author: Option<&'a str>,
    /// Maximum number of entries.
    pub limit: usize,
}

/// An entry that a search found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Hit {
    /// The entry. Its state is the one that the reader sees.
    #[serde(flatten)]
    pub entry: Entry,
    /// How well it fits; higher is better. Comparable within one search only.
    pub score: f64,
}

/// The outcome of the checks and anchors of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckOutcome {
    /// Why it failed; `None`: all passed.
    pub failed: Option<String>,
    /// Whether a check was evaluated, and not only anchors.
    pub has_checks: bool,
    /// The present digests of the files of its anchors, by path.
    pub digests: BTreeMap<String, Digest>,
    /// Who checked: the step of a run, with its place in the journal, or a person.
    pub by: String,
}

/// How an entry helped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Feedback {
    /// The work used it.
    Helped,
    /// It was wrong, or of no use.
    DidNotHelp,
}

impl Feedback {
    /// The name in calls.
    pub fn as_str(self) -> &'static str {
        match self {
            Feedback::Helped => "helped",
            Feedback::DidNotHelp => "didNotHelp",
        }
    }
}

/// What `forget` did.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Forgotten {
    /// The id of the entry.
    pub id: String,
    /// Whether its texts were deleted.
    pub purged: bool,
}

/// A change of an entry.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Event {
    /// When.
    #[serde(serialize_with = "rfc3339")]
    pub at: Timestamp,
    /// The person, the specialist, or `kb`.
    pub by: String,
    /// What happened: `proposed`, `approved`, `checked`, …
    pub what: String,
    /// More about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Event {
    pub(super) fn new(at: Timestamp, by: &str, what: &str) -> Event {
        Event { at, by: by.to_owned(), what: what.to_owned(), note: None }
    }

    pub(super) fn note(self, note: impl Into<String>) -> Event {
        Event { note: Some(note.into()), ..self }
    }
}

/// What the files of the project changed in the store.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Synced {
    /// Ids of new or changed files.
    pub taken: Vec<String>,
    /// Ids whose file is gone.
    pub archived: Vec<String>,
}

/// Numbers about the memory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// Number of entries by state.
    pub states: BTreeMap<&'static str, usize>,
    /// Number of live entries by kind.
    pub kinds: BTreeMap<&'static str, usize>,
    /// Number of live entries by trust.
    pub trust: BTreeMap<&'static str, usize>,
    /// How often entries were shown to specialists.
    pub accesses: u64,
    /// Number of runs in which an entry helped, and in which one did not.
    pub helped: u64,
    /// See [`Stats::helped`].
    pub did_not_help: u64,
    /// Size of the database in bytes.
    pub bytes: u64,
}

impl Stats {
    pub(super) fn count(&mut self, entry: &Entry) {
        *self.states.entry(entry.state.as_str()).or_default() += 1;
        if entry.state.is_live() {
            *self.kinds.entry(entry.kind.as_str()).or_default() += 1;
            *self.trust.entry(entry.trust.as_str()).or_default() += 1;
        }
        self.accesses += entry.access_count;
    }
}

/// The states that count towards `maxEntries`, for SQL.
pub(super) const LIVE: &str = "state NOT IN ('archived', 'forgotten')";

/// The base state of an entry that contradicts no other one.
pub(super) fn state_alone(entry: &Entry, has_file: bool) -> State {
    if has_file {
        State::Shared
    } else if entry.last_verified.is_some() && entry.trust.may_be_verified() {
        State::Verified
    } else {
        State::Candidate
    }
}
