//! The database schema, its versions, and the opening of connections.

use crate::journal::JournalError;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The oldest schema version that this `kb` reads. Stored in `user_version`.
const OLDEST: i64 = 2;

/// The statements that make a journal of each version, from the oldest on, one of the next version.
const MIGRATIONS: &[&str] = &[];

/// The schema version that this `kb` writes, and the newest that it reads.
pub(super) const VERSION: i64 = OLDEST + MIGRATIONS.len() as i64;

/// How long a write waits for a write of another process.
const BUSY: Duration = Duration::from_secs(15);

/// Page cache of a connection as SQLite expects it: KiB, negated. Events are appended and read in
/// order, so older pages are not used again; the default of 2 MiB would fill up with them.
const CACHE: i64 = -256;

/// `position` is `number << 40 | seq`: one integer key, so that the events of a run are adjacent. The
/// frozen state has its own table because every append rewrites the row in `runs`.
const TABLES: &str = "
BEGIN;
CREATE TABLE runs (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    run TEXT NOT NULL UNIQUE,
    definition TEXT NOT NULL,
    status TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    epoch INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,
    kb_version TEXT NOT NULL,
    head BLOB
) STRICT;
CREATE TABLE frozen (
    number INTEGER PRIMARY KEY REFERENCES runs (number),
    body TEXT NOT NULL
) STRICT;
CREATE TABLE events (
    position INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    type TEXT NOT NULL,
    body TEXT NOT NULL,
    digest BLOB
) STRICT;
CREATE TABLE inbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    number INTEGER NOT NULL REFERENCES runs (number),
    key TEXT NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    taken INTEGER NOT NULL DEFAULT 0,
    UNIQUE (number, key)
) STRICT;
CREATE INDEX inbox_open ON inbox (number, id) WHERE taken = 0;
PRAGMA user_version = 2;
COMMIT;
";

const WRITES: OpenFlags = OpenFlags::SQLITE_OPEN_READ_WRITE.union(OpenFlags::SQLITE_OPEN_NO_MUTEX);

/// Bits of a position that contain the event number.
pub(super) const SEQ_BITS: u32 = 40;

/// The position before the first event of a run.
pub(super) fn base_position(number: i64) -> i64 {
    number << SEQ_BITS
}

/// The name of the database in the folder of a journal.
pub(in crate::journal) const FILE: &str = "journal.sqlite3";

/// Paths of the files in a journal's folder.
#[derive(Debug, Clone)]
pub(super) struct JournalPaths {
    pub(super) directory: PathBuf,
    pub(super) database: PathBuf,
    pub(super) wal: PathBuf,
    pub(super) locks: PathBuf,
    pub(super) blobs: PathBuf,
}

impl JournalPaths {
    pub(super) fn of(directory: &Path) -> JournalPaths {
        JournalPaths {
            directory: directory.to_owned(),
            database: directory.join(FILE),
            wal: directory.join(format!("{FILE}-wal")),
            locks: directory.join("locks"),
            blobs: directory.join("blobs"),
        }
    }
}

/// Creates the folder and the database if they are missing. Refuses a newer database without
/// changing it.
pub(super) fn prepare(paths: &JournalPaths) -> Result<(), JournalError> {
    for directory in [&paths.directory, &paths.locks, &paths.blobs] {
        private_folder(directory)?;
    }
    require_files(paths)?;
    if paths.database.exists() && check_version(paths)? == VERSION {
        return Ok(());
    }
    let lock_path = paths.locks.join(".create");
    let lock = open_private(&lock_path)?;
    flock(&lock, FlockOperation::LockExclusive)
        .map_err(|error| JournalError::of_file("lock", &lock_path, &error.into()))?;
    match paths.database.exists().then(|| check_version(paths)).transpose()? {
        Some(VERSION) => Ok(()), // another process created it first
        Some(found) if found >= OLDEST => migrate(paths, found, MIGRATIONS),
        // An older `kb` created the file before its tables and was killed in between.
        Some(_) => fill(&paths.database),
        None => create(paths),
    }
}

/// Refuses anything but a file in the place of a file of the journal: opening a pipe would wait for its
/// other end, and a device has no end.
fn require_files(paths: &JournalPaths) -> Result<(), JournalError> {
    let beside = ["-wal", "-shm", "-journal"].map(|end| {
        let mut path = paths.database.clone().into_os_string();
        path.push(end);
        PathBuf::from(path)
    });
    let lock = paths.locks.join(".create");
    for path in [&paths.database, &lock].into_iter().chain(&beside) {
        if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            return Err(JournalError::Damaged(format!("`{}` is not a file", path.display())));
        }
    }
    Ok(())
}

/// Creates a folder that only its owner can enter, with the folders above it.
pub(super) fn private_folder(directory: &Path) -> Result<(), JournalError> {
    let created = kb_database::private_folder(directory);
    created.map_err(|error| JournalError::of_file("make", directory, &error))
}

fn open_private(path: &Path) -> Result<File, JournalError> {
    let opened = kb_database::private_file(path);
    opened.map_err(|error| JournalError::of_file("open", path, &error))
}

/// Schema version of the file; 0 if it has no tables yet. Uses a read-only connection, so that the
/// database of a newer `kb` is not changed.
fn check_version(paths: &JournalPaths) -> Result<i64, JournalError> {
    let version = |reader: Connection| -> Result<i64, rusqlite::Error> {
        reader.query_row("PRAGMA user_version", [], |row| row.get(0))
    };
    let found = match version(open_reader(paths)?) {
        // An older `kb` was killed while it created the file; only a writer can recover that.
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::ReadOnly) => {
            version(Connection::open_with_flags(&paths.database, WRITES)?)?
        }
        other => other?,
    };
    if found > VERSION { Err(JournalError::Newer { found, known: VERSION }) } else { Ok(found) }
}

/// Migrates a journal of an earlier version, in one transaction for each version.
fn migrate(paths: &JournalPaths, found: i64, steps: &[&str]) -> Result<(), JournalError> {
    let connection = open_writer(paths)?;
    for (version, statements) in (OLDEST..).zip(steps).filter(|(version, _)| *version >= found) {
        let next = version + 1;
        let all = format!("BEGIN IMMEDIATE; {statements}; PRAGMA user_version = {next}; COMMIT;");
        connection.execute_batch(&all).map_err(|error| {
            let _ = connection.execute_batch("ROLLBACK");
            JournalError::from(error)
        })?;
    }
    Ok(())
}

/// Creates the database under a temporary name and renames it, so that a killed process leaves no
/// incomplete journal. The caller has locked `.create`.
fn create(paths: &JournalPaths) -> Result<(), JournalError> {
    let unfinished = paths.directory.join(format!(".new-{FILE}"));
    // Also remove a WAL without its database, which would be applied to the new one.
    for (database, ends) in
        [(&unfinished, &["", "-journal", "-wal", "-shm"][..]), (&paths.database, &["-wal", "-shm"])]
    {
        for end in ends {
            let mut path = database.clone().into_os_string();
            path.push(end);
            remove(Path::new(&path))?;
        }
    }
    let file = open_private(&unfinished)?;
    build(&unfinished)?;
    file.sync_all().map_err(|error| JournalError::of_file("sync", &unfinished, &error))?;
    // Before the database has its name: a process that finds it relies on the folders above it.
    paths.directory.parent().map_or(Ok(()), sync_names)?;
    std::fs::rename(&unfinished, &paths.database)
        .map_err(|error| JournalError::of_file("make", &paths.database, &error))?;
    // SQLite syncs the folder too when it creates a WAL, also for a reader, and does not report a failure.
    sync_folder(&paths.directory).or_else(|error| remove(&paths.database).and(Err(error)))
}

fn remove(path: &Path) -> Result<(), JournalError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(JournalError::of_file("remove", path, &error))
        }
        _ => Ok(()),
    }
}

/// Creates the tables in an empty file that no other process uses. Nothing is synced, and neither a WAL
/// nor a rollback journal is created: a file that is not complete is never used.
fn build(unfinished: &Path) -> Result<(), JournalError> {
    let connection = Connection::open_with_flags(unfinished, WRITES)?;
    journal_mode(&connection, "MEMORY")?;
    connection.execute_batch("PRAGMA synchronous = OFF;")?;
    connection.execute_batch(TABLES)?;
    // The last statement: it marks the file, and the next connection creates the WAL.
    require_wal(&connection, unfinished)?;
    connection.close().map_err(|(_, error)| error.into())
}

/// Creates the tables in the database itself and checkpoints them.
fn fill(database: &Path) -> Result<(), JournalError> {
    let connection = writer_of(database)?;
    connection.execute_batch(TABLES)?;
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    // Closing the last connection removes the WAL.
    connection.close().map_err(|(_, error)| error.into())
}

/// Syncs the folder and all folders above it, any of which may be new and not synced yet.
fn sync_names(directory: &Path) -> Result<(), JournalError> {
    directory.ancestors().try_for_each(sync_folder)
}

/// Syncs the entries of a folder. That of another user is left out: its entries existed before.
fn sync_folder(folder: &Path) -> Result<(), JournalError> {
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        Err(error) if error.kind() != io::ErrorKind::PermissionDenied => {
            Err(JournalError::of_file("sync", folder, &error))
        }
        _ => Ok(()),
    }
}

/// Opens a write connection. [`super::writer::Writer`] decides which commits SQLite syncs.
pub(super) fn open_writer(paths: &JournalPaths) -> Result<Connection, JournalError> {
    writer_of(&paths.database)
}

fn writer_of(database: &Path) -> Result<Connection, JournalError> {
    let connection = Connection::open_with_flags(database, WRITES)?;
    connection.busy_timeout(BUSY)?;
    require_wal(&connection, database)?;
    connection.execute_batch("PRAGMA synchronous = NORMAL; PRAGMA trusted_schema = OFF;")?;
    connection.pragma_update(None, "cache_size", CACHE)?;
    Ok(connection)
}

fn require_wal(connection: &Connection, database: &Path) -> Result<(), JournalError> {
    if journal_mode(connection, "WAL")? == "wal" {
        return Ok(());
    }
    let folder = database.parent().unwrap_or(database).display();
    Err(JournalError::Broken(format!(
        "the file system of `{folder}` does not support shared memory, which the journal needs"
    )))
}

/// Selects a journal mode; returns the mode that the connection has then.
fn journal_mode(connection: &Connection, mode: &str) -> Result<String, rusqlite::Error> {
    connection.query_row(&format!("PRAGMA journal_mode = {mode}"), [], |row| row.get(0))
}

/// Opens a read-only connection.
pub(super) fn open_reader(paths: &JournalPaths) -> Result<Connection, JournalError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(&paths.database, flags)?;
    connection.busy_timeout(BUSY)?;
    connection.execute_batch("PRAGMA trusted_schema = OFF;")?;
    connection.pragma_update(None, "cache_size", CACHE)?;
    match can_read(&connection) {
        Err(error) if lacks_shared_memory(&error) => {
            drop(connection);
            open_without_shared_memory(paths).or(Err(error.into()))
        }
        // The first query reports any other error.
        _ => Ok(connection),
    }
}

fn can_read(connection: &Connection) -> rusqlite::Result<()> {
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))
}

/// Whether shared memory could not be allocated.
fn lacks_shared_memory(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{CannotOpen, DiskFull, SystemIoFailure};
    matches!(error.sqlite_error_code(), Some(CannotOpen | DiskFull | SystemIoFailure))
}

/// Opens a read connection when the disk has no space for SQLite's shared memory: either as the only
/// connection, with the index in private memory, or without the WAL if the WAL is empty.
fn open_without_shared_memory(paths: &JournalPaths) -> rusqlite::Result<Connection> {
    let alone = || {
        let connection = Connection::open_with_flags(&paths.database, WRITES)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        connection.execute_batch("PRAGMA locking_mode = EXCLUSIVE; PRAGMA query_only = ON;")?;
        can_read(&connection).map(|()| connection)
    };
    alone().or_else(|error| {
        if std::fs::metadata(&paths.wal).is_ok_and(|wal| wal.len() > 0) {
            return Err(error);
        }
        let path = percent_encoding::utf8_percent_encode(
            &paths.database.to_string_lossy(),
            percent_encoding::NON_ALPHANUMERIC,
        )
        .to_string();
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_URI;
        let address = format!("file:{path}?immutable=1");
        let connection = Connection::open_with_flags(address, flags)?;
        can_read(&connection).map(|()| connection)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_of_an_earlier_version_is_migrated_version_by_version() {
        let folder = tempfile::tempdir().unwrap();
        let paths = JournalPaths::of(folder.path());
        prepare(&paths).unwrap();
        let version = || check_version(&paths);
        assert_eq!(version().unwrap(), VERSION);
        let set = |version: i64| {
            let writer = open_writer(&paths).unwrap();
            writer.pragma_update(None, "user_version", version).unwrap();
        };
        let columns = |table: &str| {
            let reader = open_reader(&paths).unwrap();
            let statement = reader.prepare(&format!("SELECT * FROM {table}")).unwrap();
            statement.column_names().collect::<Vec<_>>().join(" ")
        };
        let before = columns("runs");
        let add = |name: &str| format!("ALTER TABLE runs ADD COLUMN {name} BLOB");
        let (first, second) = (add("first"), add("second"));
        set(OLDEST + 1);
        // The first step is done already; the second fails and leaves nothing.
        let half = format!("{second}; ALTER TABLE nothing ADD COLUMN x");
        migrate(&paths, OLDEST + 1, &[first.as_str(), half.as_str()]).unwrap_err();
        assert_eq!(columns("runs"), before);
        set(OLDEST);
        migrate(&paths, OLDEST, &[first.as_str(), second.as_str()]).unwrap();
        assert_eq!(columns("runs"), format!("{before} first second"));
        let newer = JournalError::Newer { found: OLDEST + 2, known: VERSION };
        assert_eq!(version().unwrap_err().to_string(), newer.to_string());
    }
}
