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
    /// Head of the run's hash chain with this event as its last; `None` where no chain is kept.
    pub digest: Option<Digest>,
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
