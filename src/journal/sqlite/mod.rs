//! The journal on disk: one SQLite file in WAL mode, blobs beside it, a lock file a held run.
//!
//! All writes of a process go through one connection, grouped into transactions; reads have
//! connections of their own and never wait for a writer, in this process or another.

mod group_commit;
mod journal;
mod large;
mod read;
mod schema;
mod syncer;
mod write;

pub use journal::SqliteJournal;

use super::JournalError;
use rusqlite::ErrorCode;

/// An I/O failure for want of room for the shared memory file (`SQLITE_IOERR_SHMSIZE`).
const NO_ROOM_FOR_SHARED_MEMORY: i32 = 4874;

impl From<rusqlite::Error> for JournalError {
    fn from(error: rusqlite::Error) -> Self {
        let text = match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => return JournalError::Full,
            Some(ErrorCode::SystemIoFailure)
                if error.sqlite_extended_error_code() == Some(NO_ROOM_FOR_SHARED_MEMORY) =>
            {
                return JournalError::Full;
            }
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                format!("the journal file is damaged: {error}")
            }
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
                format!("the journal cannot be written: {error}")
            }
            Some(ErrorCode::CannotOpen) => format!("the journal cannot be opened: {error}"),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                "another process keeps the journal locked".to_owned()
            }
            Some(ErrorCode::SystemIoFailure) => format!("the disk of the journal fails: {error}"),
            _ => format!("the journal fails: {error}"),
        };
        JournalError::Broken(text)
    }
}
