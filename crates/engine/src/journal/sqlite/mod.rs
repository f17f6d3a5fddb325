//! The SQLite back end: one database with a write-ahead log (WAL mode), a folder of blobs, one lock file per leased run.
//!
//! All writes of a process use one connection and are grouped into transactions. Reads use their own
//! connections and never wait for a writer. Start at [`SqliteJournal`].

mod backup;
mod group_commit;
mod journal;
mod large;
mod read;
mod schema;
mod syncer;
mod write;
mod write_job;
mod writer;

pub(super) use backup::restore;
pub use journal::SqliteJournal;

use super::JournalError;
use kb_attempt::is_out_of_space;
use rusqlite::ErrorCode;
pub(super) use schema::FILE;
use schema::JournalPaths;
use std::fs::{self, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;

impl From<rusqlite::Error> for JournalError {
    fn from(error: rusqlite::Error) -> Self {
        let disk =
            |what: &str| JournalError::Disk { what: format!("{what}: {error}"), folder: None };
        let text = match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => return JournalError::Full(None),
            Some(ErrorCode::SystemIoFailure) => return disk("I/O error of the journal"),
            Some(ErrorCode::CannotOpen) => return disk("the journal cannot be opened"),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                format!("the journal file is damaged: {error}")
            }
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied)
                if is_permission_error(&error) =>
            {
                return JournalError::Denied(format!("the journal cannot be written: {error}"));
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                return JournalError::Locked;
            }
            _ => format!("the journal failed: {error}"),
        };
        JournalError::Broken(text)
    }
}

/// Whether permissions are the cause. SQLite also reports a journal as read-only that was moved or
/// needs recovery.
fn is_permission_error(error: &rusqlite::Error) -> bool {
    use rusqlite::ffi::{SQLITE_PERM, SQLITE_READONLY, SQLITE_READONLY_DIRECTORY};
    let code = error.sqlite_error().map(|error| error.extended_code);
    matches!(code, Some(SQLITE_PERM | SQLITE_READONLY | SQLITE_READONLY_DIRECTORY))
}

impl JournalError {
    /// Adds the folder of the journal. SQLite reports exhausted quotas, file size limits and missing
    /// shared memory as disk failures, so a probe write decides between a full and a failed disk.
    fn with_folder(self, paths: &JournalPaths) -> JournalError {
        let folder = Some(paths.directory.clone());
        match self {
            JournalError::Full(None) => JournalError::Full(folder),
            JournalError::Disk { what, folder: None } => match probe_space(paths) {
                Err(error) if is_out_of_space(&error) => JournalError::Full(folder),
                _ => JournalError::Disk { what, folder },
            },
            other => other,
        }
    }
}

/// Size of a probe write: one page of SQLite's shared memory.
const PROBE_BYTES: usize = 64 << 10;

/// Writes a little at the size that the journal has now, and removes it.
fn probe_space(paths: &JournalPaths) -> io::Result<()> {
    let length = |path| fs::metadata(path).map_or(0, |file| file.len());
    let end = length(&paths.database).max(length(&paths.wal));
    let path = paths.directory.join(format!(".probe-{}", std::process::id()));
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path);
    let written = file.and_then(|mut file| {
        file.seek(SeekFrom::Start(end))?;
        file.write_all(&[0; PROBE_BYTES])?;
        file.sync_data()
    });
    let _ = fs::remove_file(&path);
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::ffi;

    #[test]
    fn a_moved_journal_is_not_a_permission_error() {
        let of =
            |code| JournalError::from(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None));
        assert!(matches!(of(ffi::SQLITE_READONLY), JournalError::Denied(_)));
        assert!(matches!(of(ffi::SQLITE_READONLY_DIRECTORY), JournalError::Denied(_)));
        assert!(matches!(of(ffi::SQLITE_READONLY_DBMOVED), JournalError::Broken(_)));
    }
}
