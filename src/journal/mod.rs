//! What happened, stored: events with expected versions, blobs, the inbox, the list of runs.
//!
//! Two classes of durability (DESIGN §4): ordered writes are in the WAL before their effects and
//! synced within 50 ms; durable ones are synced first.

use crate::run::{Event, RunStatus};
use crate::value::{Digest, Json, RunId, Timestamp};

/// Whether an append is synced before it is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// In the WAL: survives kill -9.
    Ordered,
    /// Synced: survives a power cut.
    Durable,
}

/// An event with its place.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredEvent {
    /// From 1, without gaps.
    pub seq: u64,
    /// When it was decided.
    pub at: Timestamp,
    /// The holder's epoch.
    pub epoch: u64,
    /// What happened.
    pub event: Event,
}

/// A run as its list shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRow {
    /// Its id.
    pub run: RunId,
    /// The definition's id.
    pub definition: String,
    /// As last stored; a `running` row whose holder is gone is reported `interrupted`.
    pub status: RunStatus,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended, if it has.
    pub ended_at: Option<Timestamp>,
    /// The holder's epoch.
    pub epoch: u64,
    /// The version of `kb` that began it.
    pub kb_version: String,
    /// Everything that is frozen: definition texts, parameters, tier → model, prices, script.
    pub frozen: Json,
}

/// Something another process wants of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct InboxItem {
    /// Unique; taken once.
    pub id: i64,
    /// `cancel`, `approve`, `answer`.
    pub kind: String,
    /// What it says.
    pub body: Json,
}

/// Why the journal cannot.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// No such run; names the nearest.
    #[error("no run `{0}`")]
    NoRun(String),
    /// A prefix names several runs.
    #[error("`{prefix}` names {count} runs")]
    Ambiguous {
        /// What was given.
        prefix: String,
        /// How many it fits.
        count: usize,
    },
    /// Another holder has the run.
    #[error("run `{run}` has another holder")]
    Held {
        /// Which run.
        run: String,
        /// The holder's process id.
        pid: u32,
    },
    /// This holder's epoch is over.
    #[error("this process no longer holds run `{0}`")]
    Stale(String),
    /// Written by a newer `kb`.
    #[error("the journal has version {found}; this `kb` reads up to {known}")]
    Newer {
        /// The file's version.
        found: i64,
        /// Ours.
        known: i64,
    },
    /// No room.
    #[error("the disk that holds the journal is full")]
    Full,
    /// Anything else of the disk or the database.
    #[error("{0}")]
    Broken(String),
}

/// What is needed to begin a run.
#[derive(Debug, Clone)]
pub struct NewRun {
    /// Its id.
    pub run: RunId,
    /// The definition's id.
    pub definition: String,
    /// When.
    pub at: Timestamp,
    /// Everything that is frozen.
    pub frozen: Json,
}

/// Where runs live. One process holds a run at a time, by its epoch.
pub trait Journal: Send + Sync {
    /// Makes the run and takes hold of it; epoch 1.
    fn create(&self, new: NewRun) -> Result<u64, JournalError>;
    /// Takes hold of a run whose holder is gone; its new epoch.
    fn take(&self, run: &RunId) -> Result<u64, JournalError>;
    /// Lets go; others may take it at once.
    fn release(&self, run: &RunId, epoch: u64);
    /// Appends events after `expected` (the last seq the caller knows; 0 at first), all or none.
    /// `status` is the run's status after them. Returns the new last seq.
    fn append(
        &self,
        run: &RunId,
        epoch: u64,
        expected: u64,
        at: Timestamp,
        events: &[Event],
        status: RunStatus,
        durability: Durability,
    ) -> Result<u64, JournalError>;
    /// Events after a seq, in order.
    fn events(&self, run: &RunId, after: u64) -> Result<Vec<StoredEvent>, JournalError>;
    /// One run.
    fn run(&self, run: &RunId) -> Result<RunRow, JournalError>;
    /// All runs, newest first.
    fn list(&self) -> Result<Vec<RunRow>, JournalError>;
    /// The run that a text names: an id, a unique prefix, or `@last`.
    fn find(&self, text: &str) -> Result<RunId, JournalError>;
    /// Stores bytes by their digest; storing them again is nothing.
    fn put_blob(&self, bytes: &[u8]) -> Result<Digest, JournalError>;
    /// Reads a blob, checked against its digest.
    fn blob(&self, digest: &Digest) -> Result<Vec<u8>, JournalError>;
    /// Leaves something for a run's holder; the same `key` again is nothing.
    fn post(&self, run: &RunId, key: &str, kind: &str, body: Json) -> Result<(), JournalError>;
    /// What was left and not taken yet, oldest first.
    fn inbox(&self, run: &RunId) -> Result<Vec<InboxItem>, JournalError>;
    /// Marks items as taken; call it after the events they became are stored.
    fn taken(&self, run: &RunId, ids: &[i64]) -> Result<(), JournalError>;
    /// Whether a process holds the run now.
    fn is_held(&self, run: &RunId) -> Result<bool, JournalError>;
}
