//! The contract of a journal in five parts: [`RunIndex`], [`EventLog`], [`Blobs`], [`Inbox`],
//! [`Leases`]. [`Journal`] is all five.
//!
//! All traits are object-safe. The methods that a dispatcher calls while a run executes
//! ([`EventLog::append`], [`EventLog::chain_head`], [`Inbox::pending`], [`Inbox::acknowledge`],
//! [`Leases::release`]) return futures, so a back end may wait for a network. All other methods are
//! synchronous and may block for as long as one request takes: they are called before a run starts,
//! by readers, and for blobs. An asynchronous caller runs them with `spawn_blocking`. A back end
//! without local files keeps a local cache for [`Blobs`]: it may upload what [`Blobs::put_blob`]
//! stored together with the next append, which is the first write that refers to it.
//!
//! `tests/it/journal_contract.rs` checks these rules for every back end.

use super::{
    Backup, Batch, InboxItem, JournalError, Ledger, NamedLocks, NewRun, RunQuery, RunRow,
    StoredEvent,
};
use futures::future::BoxFuture;
use kb_base::value::{Digest, Json, RunId, Timestamp};
use kb_core::redaction::Masked;
use kb_core::run::RunStatus;
use std::collections::BTreeMap;
use std::path::Path;

/// The runs of a journal and what each run froze at its start.
pub trait RunIndex: Send + Sync {
    /// Creates a run and acquires its lease. Returns the epoch, which is 1. Fails if the run exists.
    fn create(&self, new: NewRun) -> Result<u64, JournalError>;

    /// The row of one run.
    fn run(&self, run: &RunId) -> Result<RunRow, JournalError>;

    /// The frozen state of a run: definition texts, parameters, tier → model, prices, script. It may
    /// be as large as the definitions, so [`RunRow`] does not contain it.
    fn frozen(&self, run: &RunId) -> Result<Json, JournalError>;

    /// Why runs cannot be listed, each with the id of its run. [`list`](RunIndex::list) and all other methods that
    /// return several runs leave them out.
    fn damaged(&self) -> Result<Vec<String>, JournalError> {
        Ok(Vec::new())
    }

    /// All runs, newest first.
    fn list(&self) -> Result<Vec<RunRow>, JournalError>;

    /// The runs that a query includes, newest first.
    fn select(&self, query: &RunQuery) -> Result<Vec<RunRow>, JournalError> {
        let mut rows = self.list()?.into_iter().peekable();
        if let Some(before) = &query.before {
            rows.by_ref().find(|row| row.run == *before);
        }
        Ok(rows.filter(|row| query.includes(row)).take(query.limit).collect())
    }

    /// The newest run, of this definition and with this status if they are given. Child runs do not
    /// count.
    fn latest(
        &self,
        definition: Option<&str>,
        status: Option<RunStatus>,
    ) -> Result<Option<RunRow>, JournalError> {
        let fits = |row: &RunRow| {
            definition.is_none_or(|id| row.definition == id)
                && status.is_none_or(|status| row.status == status)
        };
        for row in self.list()?.into_iter().filter(fits) {
            if self.frozen(&row.run)?.get("parent").is_none_or(Json::is_null) {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    /// The parent of every child run. The parent may have been removed.
    fn parents(&self) -> Result<BTreeMap<RunId, RunId>, JournalError> {
        let mut parents = BTreeMap::new();
        for row in self.list()? {
            let frozen = self.frozen(&row.run)?;
            let parent = frozen["parent"]["run"].as_str();
            if let Some(parent) = parent.and_then(|parent| RunId::new(parent).ok()) {
                parents.insert(row.run, parent);
            }
        }
        Ok(parents)
    }

    /// The runs that ended at this time or later, newest first.
    fn ended_since(&self, since: Timestamp) -> Result<Vec<RunRow>, JournalError> {
        let ended = |row: &RunRow| row.ended_at.is_some_and(|at| at >= since);
        Ok(self.list()?.into_iter().filter(ended).collect())
    }

    /// The runs that wait for a person, newest first.
    fn waiting(&self) -> Result<Vec<RunRow>, JournalError> {
        let waits = |row: &RunRow| row.status == RunStatus::Waiting;
        Ok(self.list()?.into_iter().filter(waits).collect())
    }

    /// Removes a run that has ended, with its events and messages. Its blobs stay until
    /// [`Blobs::remove_unused_blobs`]. Fails with [`JournalError::Leased`] if a process owns the lease
    /// and with [`JournalError::Broken`] if the run has not ended.
    fn remove(&self, run: &RunId) -> Result<(), JournalError>;

    /// Finds a run by its id, a unique prefix of its id, or `@last`, the newest run that is no
    /// child run.
    fn resolve(&self, text: &str) -> Result<RunId, JournalError>;
}

/// The events of a run: append-only, numbered from 1 without gaps.
pub trait EventLog: Send + Sync {
    /// Stores all of a batch or none of it. Returns the number of the last event.
    ///
    /// Fails with [`JournalError::LeaseLost`] if `epoch` is not the epoch of the current lease, and
    /// with [`JournalError::Broken`] if `batch.expected` is not the number of the last event.
    fn append<'a>(
        &'a self,
        run: &'a RunId,
        epoch: u64,
        batch: Batch<'a>,
    ) -> BoxFuture<'a, Result<u64, JournalError>>;

    /// At most `limit` events with numbers greater than `after`, in order.
    fn read_events(
        &self,
        run: &RunId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, JournalError>;

    /// All events with numbers greater than `after`, in order.
    fn events(&self, run: &RunId, after: u64) -> Result<Vec<StoredEvent>, JournalError> {
        self.read_events(run, after, usize::MAX)
    }

    /// The number of the last event; 0 without events.
    fn last_seq(&self, run: &RunId) -> Result<u64, JournalError> {
        Ok(self.events(run, 0)?.last().map_or(0, |last| last.seq))
    }

    /// The head of the run's hash chain; `None` if the journal keeps no chain for the run.
    fn chain_head<'a>(
        &'a self,
        run: &'a RunId,
    ) -> BoxFuture<'a, Result<Option<Digest>, JournalError>>;

    /// The run exactly as it is stored, for verification. Succeeds even if the content is damaged.
    fn ledger(&self, run: &RunId) -> Result<Ledger, JournalError>;

    /// The ledger with its first and its last event alone, for [`Ledger::break_of_ends`].
    fn ledger_ends(&self, run: &RunId) -> Result<Ledger, JournalError> {
        self.ledger(run)
    }
}

/// Large values, stored by their digest.
pub trait Blobs: Send + Sync {
    /// Stores a text and returns its digest. Storing the same text again has no effect.
    fn put_blob(&self, text: &Masked<String>) -> Result<Digest, JournalError>;

    /// Reads a blob. Fails with [`JournalError::Damaged`] if it is missing or does not match its
    /// digest.
    fn blob(&self, digest: &Digest) -> Result<Vec<u8>, JournalError>;

    /// Makes a blob count as stored just now, for an event that will refer to it. Fails with
    /// [`JournalError::Damaged`] as [`Blobs::blob`] does.
    fn renew_blob(&self, digest: &Digest) -> Result<(), JournalError> {
        self.blob(digest).map(drop)
    }

    /// Removes the blobs that no run refers to; returns the number of bytes that they had. A blob that
    /// a lease owner may have stored for an event that it has not appended yet stays.
    fn remove_unused_blobs(&self) -> Result<u64, JournalError>;
}

/// Messages that other processes send to the lease owner of a run.
pub trait Inbox: Send + Sync {
    /// Sends a message. The sender may not know the secrets of the run, so the lease owner masks what
    /// it reads, and the message is removed by the append that follows from it. A message with the same `key` for the same run is stored once, even after
    /// it was acknowledged. The message is durable when this returns. Returns whether it is new.
    fn post(&self, run: &RunId, key: &str, kind: &str, body: Json) -> Result<bool, JournalError>;

    /// Messages that are not acknowledged, oldest first.
    fn pending<'a>(&'a self, run: &'a RunId)
    -> BoxFuture<'a, Result<Vec<InboxItem>, JournalError>>;

    /// Removes messages that led to no event; [`Batch::acknowledged`] removes the others. Fails with
    /// [`JournalError::LeaseLost`] if `epoch` is not current.
    fn acknowledge<'a>(
        &'a self,
        run: &'a RunId,
        epoch: u64,
        ids: &'a [i64],
    ) -> BoxFuture<'a, Result<(), JournalError>>;
}

/// Leases: at most one process drives a run at a time. Each acquisition has a new epoch, and writes
/// with an older epoch are refused.
pub trait Leases: Send + Sync {
    /// Acquires the lease of a run that has no owner and returns the new epoch. Fails with
    /// [`JournalError::Leased`] if a process owns it.
    fn acquire(&self, run: &RunId) -> Result<u64, JournalError>;

    /// The process id of the previous lease owner, if it was killed before it released the lease
    /// that this process owns now.
    fn previous_owner(&self, _run: &RunId) -> Option<u32> {
        None
    }

    /// Notes that the owner of a lease is alive. Has no effect if this process does not own the lease.
    fn renew(&self, _run: &RunId) {}

    /// The last sign of life of an owner that was killed before it released the lease: of the previous one,
    /// if this process owns the lease.
    fn last_renewal(&self, _run: &RunId) -> Option<Timestamp> {
        None
    }

    /// Releases the lease. Has no effect if `epoch` is not current.
    fn release<'a>(&'a self, run: &'a RunId, epoch: u64) -> BoxFuture<'a, ()>;

    /// Releases the lease in the middle of work: for the next owner, this one was killed now. Has no effect if `epoch` is
    /// not current.
    fn abandon<'a>(&'a self, run: &'a RunId, epoch: u64) -> BoxFuture<'a, ()> {
        self.release(run, epoch)
    }

    /// Whether a process owns the lease.
    fn is_leased(&self, run: &RunId) -> Result<bool, JournalError>;
}

/// A complete journal.
pub trait Journal: RunIndex + EventLog + Blobs + Inbox + Leases {
    /// The locks between runs of the project; `None` if no other process can use this journal.
    fn named_locks(&self) -> Option<NamedLocks> {
        None
    }

    /// Prepares the first write, which then takes less time. The write itself reports a failure.
    fn prepare_to_write(&self) {}

    /// A number that changes when another connection writes, also one of another process.
    fn version(&self) -> Result<i64, JournalError> {
        Ok(0)
    }

    /// Writes a consistent copy of the journal with its blobs to a file that must not exist, and these
    /// other files with it. Runs can go on meanwhile.
    fn back_up(&self, _file: &Path, _others: &[(&str, Vec<u8>)]) -> Result<Backup, JournalError> {
        Err(JournalError::Broken("this journal cannot be copied".to_owned()))
    }

    /// Fails if the journal cannot store more data, for example because its disk is full.
    fn check_space(&self) -> Result<(), JournalError> {
        Ok(())
    }
}
