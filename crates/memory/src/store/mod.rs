//! [`MemoryStore`]: the database of entries in the state folder of a project.
//!
//! It is a file of its own beside the journal: a damaged one stops no run, and an older `kb` can still read the journal.
//! Every change is one transaction, so that a killed process leaves an entry as it was before or after. Processes share
//! the file.

mod changes;
mod conflicts;
mod faq;
mod files;
#[cfg(test)]
mod flood;
mod hits;
mod propose;
mod read;
mod rows;
mod schema;
#[cfg(test)]
mod tests;
mod values;
mod vectors;

pub use values::{
    Admitted, CheckOutcome, Event, Feedback, Forgotten, Hit, Limits, Query, Reader, Stats, Synced,
};

use crate::error::MemoryError;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The memory of a project. Can be shared between threads; processes share the file.
pub struct MemoryStore {
    connection: Mutex<Connection>,
}

impl MemoryStore {
    /// The name of its database in the state folder.
    pub const FILE: &str = schema::LAYOUT.file;

    /// Opens the memory of a state folder and creates both if they are missing.
    ///
    /// # Errors
    ///
    /// [`MemoryError::Database`] if the file is damaged, newer than this `kb`, or cannot be opened.
    pub fn open(state_dir: &Path) -> Result<MemoryStore, MemoryError> {
        let connection = kb_database::open(state_dir, &schema::LAYOUT)?;
        connection.execute_batch("PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON;")?;
        Ok(MemoryStore { connection: Mutex::new(connection) })
    }

    /// Whether a state folder has a memory.
    pub fn exists_in(state_dir: &Path) -> bool {
        state_dir.join(Self::FILE).is_file()
    }

    /// Writes a consistent copy to a new file, while other processes go on.
    ///
    /// # Errors
    ///
    /// [`MemoryError::Database`] if the database cannot be read, or the file exists.
    pub fn copy_to(&self, path: &Path) -> Result<(), MemoryError> {
        self.connection().execute("VACUUM INTO ?1", [path.to_string_lossy()])?;
        Ok(())
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the database in one transaction.
    fn change<T>(
        &self,
        change: impl FnOnce(&Transaction<'_>) -> Result<T, MemoryError>,
    ) -> Result<T, MemoryError> {
        let mut connection = self.connection();
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let done = change(&transaction)?;
        transaction.commit()?;
        Ok(done)
    }
}
