//! Why memory did not do what it was asked for.

use kb_database::DatabaseError;

/// Why memory did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// The entry breaks a rule; the texts are what is wrong and the fix.
    #[error("{message}")]
    Refused {
        /// What is wrong.
        message: String,
        /// The fix.
        help: String,
    },
    /// No entry has this id.
    #[error("there is no memory entry `{0}`")]
    Unknown(String),
    /// The database cannot be opened, read or written.
    #[error("the memory of the project cannot be used: {0}")]
    Database(#[from] DatabaseError),
}

impl MemoryError {
    pub(crate) fn refused(message: impl Into<String>, help: impl Into<String>) -> MemoryError {
        MemoryError::Refused { message: message.into(), help: help.into() }
    }
}

impl From<rusqlite::Error> for MemoryError {
    fn from(error: rusqlite::Error) -> Self {
        MemoryError::Database(error.into())
    }
}
