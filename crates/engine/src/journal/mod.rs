//! The journal: the durable, append-only event log of runs.
//!
//! Events with expected sequence numbers, blobs, the inbox, leases and the index of runs. Ordered
//! writes are in the WAL before their effects and synced within 50 ms; durable writes are synced
//! first. This module decides nothing: it stores what it receives or reports why it cannot.
//!
//! Start with the traits of the contract ([`Journal`] and its parts) and [`open()`], which opens the
//! journal of a folder. [`sqlite::SqliteJournal`] is the back end that ships;
//! [`memory::MemoryJournal`] keeps the same contract without a disk. `tests/it/journal_contract.rs`
//! checks every back end. See `docs/durability.md`.

mod batch;
mod blob_store;
mod chain;
mod contract;
mod error;
mod lease;
mod ledger;
mod lock_cycle;
pub mod memory;
mod named_lock;
mod owner_lock;
mod query;
mod references;
mod selection;
pub mod sqlite;
mod stored;

pub use batch::Batch;
pub use chain::Chain;
pub use contract::{Blobs, EventLog, Inbox, Journal, Leases, RunIndex};
pub use error::JournalError;
pub use ledger::{Break, BreakKind, Ledger, LedgerRow};
pub use lock_cycle::LockCycle;
pub use named_lock::{LockQueue, LockRequest, NamedLocks};
pub use owner_lock::{is_owned, release, try_own};
pub use query::RunQuery;
pub use stored::{Backup, Durability, InboxItem, NewRun, RunRow, StoredEvent};

use kb_language::definition::SyncMode;
use std::path::Path;
use std::sync::Arc;

/// The name of the file that a program which uses the journal keeps open.
pub const FILE: &str = sqlite::FILE;

/// Whether a folder has a journal.
pub fn exists_in(directory: &Path) -> bool {
    directory.join(FILE).is_file()
}

/// Creates the journal of a folder from a backup ([`Journal::back_up`]). Fails if the folder has one.
pub fn restore(file: &Path, directory: &Path) -> Result<Backup, JournalError> {
    sqlite::restore(file, directory)
}

/// Opens the journal of a folder and creates both if they are missing. With [`SyncMode::Full`] every
/// write is durable.
pub fn open(directory: &Path, sync: SyncMode) -> Result<Arc<dyn Journal>, JournalError> {
    Ok(Arc::new(sqlite::SqliteJournal::open(directory, sync)?))
}
