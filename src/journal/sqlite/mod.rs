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
mod writer;

pub use journal::SqliteJournal;

use super::JournalError;
use super::error::is_out_of_space;
use rusqlite::ErrorCode;
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
            Some(ErrorCode::SystemIoFailure) => return disk("the disk of the journal fails"),
            Some(ErrorCode::CannotOpen) => return disk("the journal cannot be opened"),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                format!("the journal file is damaged: {error}")
            }
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) if is_about_rights(&error) => {
                return JournalError::Denied(format!("the journal cannot be written: {error}"));
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                "another process keeps the journal locked".to_owned()
            }
            _ => format!("the journal fails: {error}"),
        };
        JournalError::Broken(text)
    }
}

/// Whether it is the permissions that keep a journal from being written: SQLite also calls one
/// read-only that was moved, or has to be repaired first.
fn is_about_rights(error: &rusqlite::Error) -> bool {
    use rusqlite::ffi::{SQLITE_PERM, SQLITE_READONLY, SQLITE_READONLY_DIRECTORY};
    let code = error.sqlite_error().map(|error| error.extended_code);
    matches!(code, Some(SQLITE_PERM | SQLITE_READONLY | SQLITE_READONLY_DIRECTORY))
}

impl JournalError {
    /// The same, with the folder that it is about. SQLite knows one cause for want of room, where
    /// the system has more (quotas, limits of size, shared memory): what it calls a failure of the
    /// disk is tried out.
    fn with_folder(self, places: &JournalPaths) -> JournalError {
        let folder = Some(places.directory.clone());
        match self {
            JournalError::Full(None) => JournalError::Full(folder),
            JournalError::Disk { what, folder: None } => match probe_space(places) {
                Err(error) if is_out_of_space(&error) => JournalError::Full(folder),
                _ => JournalError::Disk { what, folder },
            },
            other => other,
        }
    }
}

/// As much as a page of shared memory takes.
const ROOM: usize = 64 << 10;

/// Writes a little where the journal would go on, and takes it back.
fn probe_space(places: &JournalPaths) -> io::Result<()> {
    let length = |path| fs::metadata(path).map_or(0, |file| file.len());
    let end = length(&places.database).max(length(&places.wal));
    let path = places.directory.join(format!(".room-{}", std::process::id()));
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path);
    let tried = file.and_then(|mut file| {
        file.seek(SeekFrom::Start(end))?;
        file.write_all(&[0; ROOM])?;
        file.sync_data()
    });
    let _ = fs::remove_file(&path);
    tried
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::ffi;

    #[test]
    fn a_journal_that_was_moved_is_no_matter_of_rights() {
        let of =
            |code| JournalError::from(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None));
        assert!(matches!(of(ffi::SQLITE_READONLY), JournalError::Denied(_)));
        assert!(matches!(of(ffi::SQLITE_READONLY_DIRECTORY), JournalError::Denied(_)));
        assert!(matches!(of(ffi::SQLITE_READONLY_DBMOVED), JournalError::Broken(_)));
    }
}
