//! The layout of a database, and how it is opened.

use crate::error::DatabaseError;
use crate::private::{private_file, private_folder};
use rusqlite::{Connection, OpenFlags};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a statement waits for a write of another process.
const BUSY: Duration = Duration::from_secs(15);

/// A database of `kb`: the name of its file and its tables.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    /// Name of the file in its folder.
    pub file: &'static str,
    /// The version that this `kb` writes, stored in `user_version`.
    pub version: i64,
    /// The statements that bring a database of an earlier version to [`Layout::version`]; 0 is a database without
    /// tables. They are executed in one transaction, which also sets the version.
    pub upgrade: fn(i64) -> String,
    /// What survives a crash of the system.
    pub sync: SyncLevel,
}

/// What of the committed writes survives a crash of the system. A killed process loses none of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncLevel {
    /// All of them.
    Full,
    /// All but the last ones; the database is consistent. For what can be computed again.
    Normal,
}

/// Opens a database and creates it, with its folder, if it is missing.
///
/// # Errors
///
/// A newer database is refused and not changed. A damaged one is [`DatabaseError::is_damaged`].
pub fn open(folder: &Path, layout: &Layout) -> Result<Connection, DatabaseError> {
    private_folder(folder).map_err(|error| DatabaseError::of_file("make", folder, error))?;
    let path = folder.join(layout.file);
    // Opening a pipe would wait for its other end, and a device has no end.
    if let Some(other) = with_ends(&path).find(|path| !is_file_or_missing(path)) {
        let error = std::io::Error::other("it is not a file");
        return Err(DatabaseError::of_file("open", &other, error));
    }
    private_file(&path).map_err(|error| DatabaseError::of_file("open", &path, error))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(&path, flags)?;
    connection.busy_timeout(BUSY)?;
    let newer = |found| DatabaseError::Newer { path: path.clone(), found, known: layout.version };
    let found = version(&connection)?;
    if found > layout.version {
        return Err(newer(found));
    }
    if write_ahead(&connection)? != "wal" {
        return Err(DatabaseError::NoSharedMemory(folder.to_owned()));
    }
    let sync = match layout.sync {
        SyncLevel::Full => "FULL",
        SyncLevel::Normal => "NORMAL",
    };
    connection
        .execute_batch(&format!("PRAGMA synchronous = {sync}; PRAGMA trusted_schema = OFF;"))?;
    if found < layout.version {
        let change =
            connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        // Another process may have done it meanwhile.
        let found = version(&change)?;
        if found > layout.version {
            return Err(newer(found));
        }
        if found < layout.version {
            change.execute_batch(&(layout.upgrade)(found))?;
            change.pragma_update(None, "user_version", layout.version)?;
        }
        change.commit()?;
    }
    Ok(connection)
}

/// Removes a database with its write-ahead log, for one that can be computed again. A missing one is no error.
pub fn remove(folder: &Path, layout: &Layout) -> Result<(), DatabaseError> {
    for path in with_ends(&folder.join(layout.file)) {
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(DatabaseError::of_file("remove", &path, error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// How often the write-ahead log is selected.
const TRIES: usize = 1_000;

/// Selects the write-ahead log; returns the mode that the database has then. While another process selects it in a new
/// database, SQLite refuses this at once. Before a write it waits for the other process.
fn write_ahead(connection: &Connection) -> rusqlite::Result<String> {
    let select = || connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0));
    let is_busy = |error: &rusqlite::Error| {
        error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy)
    };
    for _ in 1..TRIES {
        match select() {
            Err(error) if is_busy(&error) => {
                connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK;")?
            }
            done => return done,
        }
    }
    select()
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// A database and the files that SQLite makes beside it.
fn with_ends(path: &Path) -> impl Iterator<Item = PathBuf> {
    ["", "-wal", "-shm", "-journal"].into_iter().map(|end| {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        PathBuf::from(name)
    })
}

fn is_file_or_missing(path: &Path) -> bool {
    std::fs::metadata(path).map_or(true, |found| found.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    const FIRST: Layout = Layout {
        file: "some.sqlite3",
        version: 1,
        upgrade: |_| "CREATE TABLE a (x INTEGER) STRICT;".to_owned(),
        sync: SyncLevel::Full,
    };

    const SECOND: Layout = Layout {
        version: 2,
        upgrade: |found| {
            let first = if found == 0 { (FIRST.upgrade)(0) } else { String::new() };
            format!("{first} ALTER TABLE a ADD COLUMN y TEXT;")
        },
        ..FIRST
    };

    fn columns(connection: &Connection) -> String {
        let statement = connection.prepare("SELECT * FROM a").unwrap();
        statement.column_names().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_database_is_private_and_upgraded_and_a_newer_one_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("state/below");
        assert_eq!(columns(&open(&own, &FIRST).unwrap()), "x");
        assert_eq!(columns(&open(&own, &SECOND).unwrap()), "x y");
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&own), mode(&own.join(FIRST.file))), (0o700, 0o600));
        let refused = open(&own, &FIRST).unwrap_err();
        assert!(matches!(refused, DatabaseError::Newer { found: 2, known: 1, .. }));
        remove(&own, &SECOND).unwrap();
        assert_eq!(columns(&open(&own, &SECOND).unwrap()), "x y");
    }

    #[test]
    fn processes_that_open_a_new_database_at_once_all_get_it() {
        for _ in 0..100 {
            let folder = tempfile::tempdir().unwrap();
            let start = std::sync::Barrier::new(4);
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        start.wait();
                        assert_eq!(columns(&open(folder.path(), &SECOND).unwrap()), "x y");
                    });
                }
            });
        }
    }

    #[test]
    fn a_failed_upgrade_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        open(folder.path(), &FIRST).unwrap();
        let upgrade = |_| "ALTER TABLE a ADD COLUMN z TEXT; CREATE TABLE a (x INTEGER);".to_owned();
        open(folder.path(), &Layout { version: 2, upgrade, ..FIRST }).unwrap_err();
        assert_eq!(columns(&open(folder.path(), &FIRST).unwrap()), "x");
    }

    #[test]
    fn what_is_no_database_is_damaged_and_what_is_no_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FIRST.file);
        std::fs::write(&path, "no database ".repeat(500)).unwrap();
        assert!(open(folder.path(), &FIRST).unwrap_err().is_damaged());
        remove(folder.path(), &FIRST).unwrap();
        std::fs::create_dir(&path).unwrap();
        let refused = open(folder.path(), &FIRST).unwrap_err();
        assert!(!refused.is_damaged());
        assert!(refused.to_string().contains("it is not a file"), "{refused}");
    }
}
