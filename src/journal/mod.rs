//! What happened, stored: events with expected versions, blobs, the inbox, the list of runs.
//!
//! Two classes of durability (DESIGN §4): ordered writes are in the WAL before their effects and
//! synced within 50 ms; durable ones are synced first. One process holds a run at a time; its epoch
//! stands in every event, and a write with an older epoch is refused. This room decides nothing: it
//! stores what it is given or says clearly why it cannot.
//!
//! [`sqlite::SqliteJournal`] is the one that is shipped, [`memory::MemoryJournal`] keeps the same
//! promises without a disk; one conformance test holds both to them.

mod batch;
mod blob_store;
mod chain;
mod contract;
mod error;
mod lease;
mod ledger;
pub mod memory;
mod selection;
pub mod sqlite;
mod stored;

pub use batch::Batch;
pub use chain::Chain;
pub use contract::Journal;
pub use error::JournalError;
pub use ledger::{Break, BreakKind, Ledger, LedgerRow};
pub use stored::{Durability, InboxItem, NewRun, RunRow, StoredEvent};
