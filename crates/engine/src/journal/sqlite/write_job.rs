//! [`WriteJob`]: one write of a transaction, and its result.

use crate::journal::JournalError;
use rusqlite::Connection;

/// A write inside a transaction. It must be refused before it writes anything.
pub(super) type WriteJob = Box<dyn FnOnce(&Connection) -> Result<u64, WriteError> + Send>;

/// Why a write failed.
pub(super) enum WriteError {
    /// The write is not allowed; the other writes of the transaction continue.
    Refused(JournalError),
    /// The database failed; the whole transaction is rolled back.
    Failed(rusqlite::Error),
}

impl From<rusqlite::Error> for WriteError {
    fn from(error: rusqlite::Error) -> Self {
        WriteError::Failed(error)
    }
}

/// The result of a write.
pub(super) type Answer = Result<u64, JournalError>;
