//! The rows of a journal as values: runs, events, inbox messages.

use kb_base::value::{Digest, Json, RunId, Timestamp};
use kb_core::redaction::Masked;
use kb_core::run::{Event, RunStatus};

/// Whether an append is synced to disk before it is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// Written to the WAL: survives `kill -9`.
    Ordered,
    /// Synced to disk: survives a power cut.
    Durable,
}

/// An event with its position in the run.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredEvent {
    /// Number of the event, from 1 without gaps.
    pub seq: u64,
    /// Time of the decision.
    pub at: Timestamp,
    /// Epoch of the lease under which it was written.
    pub epoch: u64,
    /// The event, which contains no secret.
    pub event: Masked<Event>,
    /// Head of the run's hash chain up to this event; `None` if the journal keeps no chain.
    pub digest: Option<Digest>,
}

/// A run as lists show it.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRow {
    /// Run id.
    pub run: RunId,
    /// Id of the definition that the run executes.
    pub definition: String,
    /// Last stored status. A `running` run without a lease owner is reported as `interrupted`.
    pub status: RunStatus,
    /// Start time.
    pub started_at: Timestamp,
    /// End time; `None` until the run has ended.
    pub ended_at: Option<Timestamp>,
    /// Epoch of the current or last lease.
    pub epoch: u64,
    /// Version of `kb` that created the run.
    pub kb_version: String,
}

/// A message from another process to the lease owner of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct InboxItem {
    /// Id, unique in the journal.
    pub id: i64,
    /// Kind of message: `cancel`, `approve` or `answer`.
    pub kind: String,
    /// Content of the message.
    pub body: Json,
}

/// What a backup contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Backup {
    /// How many runs the journal has.
    pub runs: usize,
    /// Number of blobs.
    pub blobs: usize,
    /// Number of their bytes.
    pub blob_bytes: u64,
}

/// The data that creates a run.
#[derive(Debug, Clone)]
pub struct NewRun {
    /// Run id.
    pub run: RunId,
    /// Id of the definition that the run executes.
    pub definition: String,
    /// Start time.
    pub at: Timestamp,
    /// Frozen state: see [`RunIndex::frozen`](super::RunIndex::frozen).
    pub frozen: Masked<Json>,
}
