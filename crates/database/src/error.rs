//! Why a database cannot be opened.

use std::io;
use std::path::{Path, PathBuf};

/// Why a database cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// A file operation failed.
    #[error("cannot {what} `{}`: {error}", .path.display())]
    File {
        /// What was tried: `make`, `open` or `remove`.
        what: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// A newer `kb` wrote the database.
    #[error("`{}` has version {found}; this `kb` reads up to {known}", .path.display())]
    Newer {
        /// The database.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The newest version that this `kb` reads.
        known: i64,
    },
    /// The file system has no shared memory, which the write-ahead log needs.
    #[error("the file system of `{}` does not support shared memory, which SQLite needs", .0.display())]
    NoSharedMemory(PathBuf),
    /// SQLite failed.
    #[error("{0}")]
    Sqlite(#[from] rusqlite::Error),
}

impl DatabaseError {
    pub(crate) fn of_file(what: &'static str, path: &Path, error: io::Error) -> DatabaseError {
        DatabaseError::File { what, path: path.to_owned(), error }
    }

    /// Whether the file is no database, or a damaged one.
    pub fn is_damaged(&self) -> bool {
        use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
        let DatabaseError::Sqlite(error) = self else { return false };
        matches!(error.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase))
    }
}
