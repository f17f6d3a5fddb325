use crate::journal::JournalError;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use rustix::fs::{FlockOperation, flock};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The version that this `kb` writes and the newest that it reads; kept in `user_version`.
pub(super) const VERSION: i64 = 2;

/// How long a write waits for another process's.
const BUSY: Duration = Duration::from_secs(15);

/// What a connection holds of the file, in KiB below zero. Events are appended at one place and read in
/// their order, so that pages from long ago are of no use; the 2 MiB of old would fill up with them.
const CACHE: i64 = -256;

/// `position` is `number << 40 | seq`: one integer key, so that a run's events lie together and are
/// appended at one place. What is frozen has a table of its own because a row of `runs` is written
/// anew with every append.
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

/// What version 2 has more than version 1: the hash chain. Runs from before have none; a `kb` that
/// was at work on one goes on as it did.
const SECOND: &str = "
BEGIN IMMEDIATE;
ALTER TABLE runs ADD COLUMN head BLOB;
ALTER TABLE events ADD COLUMN digest BLOB;
PRAGMA user_version = 2;
COMMIT;
";

const WRITES: OpenFlags = OpenFlags::SQLITE_OPEN_READ_WRITE.union(OpenFlags::SQLITE_OPEN_NO_MUTEX);

/// Bits of a position that count events.
pub(super) const SEQ_BITS: u32 = 40;

/// The first position of a run's events, less one.
pub(super) fn base_position(number: i64) -> i64 {
    number << SEQ_BITS
}

/// The files of a journal's folder.
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
            database: directory.join("journal.sqlite3"),
            wal: directory.join("journal.sqlite3-wal"),
            locks: directory.join("locks"),
            blobs: directory.join("blobs"),
        }
    }
}

/// Makes the folder and its database where they are missing; refuses a newer one untouched.
pub(super) fn prepare(places: &JournalPaths) -> Result<(), JournalError> {
    for directory in [&places.directory, &places.locks, &places.blobs] {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)
            .map_err(|error| JournalError::of_file("make", directory, &error))?;
    }
    if places.database.exists() && check_version(places)? == VERSION {
        return Ok(());
    }
    let lock_path = places.locks.join(".create");
    let lock = open_private(&lock_path)?;
    flock(&lock, FlockOperation::LockExclusive)
        .map_err(|error| JournalError::of_file("lock", &lock_path, &error.into()))?;
    match places.database.exists().then(|| check_version(places)).transpose()? {
        Some(VERSION) => Ok(()), // another process was first
        Some(1) => migrate(places),
        // An older `kb` made the file first and filled it then.
        Some(_) => fill(&places.database),
        None => create(places),
    }
}

fn open_private(path: &Path) -> Result<File, JournalError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    options.open(path).map_err(|error| JournalError::of_file("open", path, &error))
}

/// The file's version; 0 where it has no tables yet. Looks through a connection that cannot write,
/// because whatever a newer `kb` has left must stay as it is.
fn check_version(places: &JournalPaths) -> Result<i64, JournalError> {
    let version = |reader: Connection| -> Result<i64, rusqlite::Error> {
        reader.query_row("PRAGMA user_version", [], |row| row.get(0))
    };
    let found = match version(open_reader(places)?) {
        // An older `kb` was killed while it made the file; who reads only may not undo that.
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::ReadOnly) => {
            version(Connection::open_with_flags(&places.database, WRITES)?)?
        }
        other => other?,
    };
    match found > VERSION {
        true => Err(JournalError::Newer { found, known: VERSION }),
        false => Ok(found),
    }
}

/// Brings a journal of version 1 to the present one; all of it or nothing.
fn migrate(places: &JournalPaths) -> Result<(), JournalError> {
    let connection = open_writer(places)?;
    connection.execute_batch(SECOND).map_err(|error| {
        let _ = connection.execute_batch("ROLLBACK");
        error.into()
    })
}

/// Makes the database under another name first: whoever is killed on the way leaves no journal
/// rather than half of one. Who calls this holds the lock.
fn create(places: &JournalPaths) -> Result<(), JournalError> {
    sync_names(&places.directory)?;
    let unfinished = places.directory.join(".new-journal.sqlite3");
    // Beside what such a one left, a log without its database: it belongs to none that is to come.
    for (database, ends) in [
        (&unfinished, &["", "-journal", "-wal", "-shm"][..]),
        (&places.database, &["-wal", "-shm"]),
    ] {
        for end in ends {
            let mut path = database.clone().into_os_string();
            path.push(end);
            remove(Path::new(&path))?;
        }
    }
    drop(open_private(&unfinished)?);
    fill(&unfinished)?;
    // SQLite has synced it; whoever writes first makes its name safe.
    std::fs::rename(&unfinished, &places.database)
        .map_err(|error| JournalError::of_file("make", &places.database, &error))
}

fn remove(path: &Path) -> Result<(), JournalError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(JournalError::of_file("remove", path, &error))
        }
        _ => Ok(()),
    }
}

/// Gives a database its tables, all in its one file.
fn fill(database: &Path) -> Result<(), JournalError> {
    let connection = writer_of(database)?;
    connection.execute_batch(TABLES)?;
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    // The last connection takes its log with it.
    connection.close().map_err(|(_, error)| error.into())
}

/// Makes sure that the folder is found again after a power cut. Any of those above it may be new,
/// and whoever made it may not have lived to do this.
fn sync_names(directory: &Path) -> Result<(), JournalError> {
    for folder in directory.ancestors() {
        let synced = File::open(folder).and_then(|folder| folder.sync_all());
        match synced {
            Ok(()) => {}
            // Somebody else's folder, whose names are not ours to care for.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
            Err(error) => return Err(JournalError::of_file("sync", folder, &error)),
        }
    }
    Ok(())
}

/// A connection that writes; [`super::writer::Writer`] says which commits SQLite syncs.
pub(super) fn open_writer(places: &JournalPaths) -> Result<Connection, JournalError> {
    writer_of(&places.database)
}

fn writer_of(database: &Path) -> Result<Connection, JournalError> {
    let connection = Connection::open_with_flags(database, WRITES)?;
    connection.busy_timeout(BUSY)?;
    let mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    if mode != "wal" {
        let place = database.parent().unwrap_or(database).display();
        return Err(JournalError::Broken(format!(
            "the file system of `{place}` cannot share memory between processes, which the \
             journal needs"
        )));
    }
    connection.execute_batch("PRAGMA synchronous = NORMAL; PRAGMA trusted_schema = OFF;")?;
    connection.pragma_update(None, "cache_size", CACHE)?;
    Ok(connection)
}

/// A connection that only reads.
pub(super) fn open_reader(places: &JournalPaths) -> Result<Connection, JournalError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(&places.database, flags)?;
    connection.busy_timeout(BUSY)?;
    connection.execute_batch("PRAGMA trusted_schema = OFF;")?;
    connection.pragma_update(None, "cache_size", CACHE)?;
    match can_read(&connection) {
        Err(error) if lacks_shared_memory(&error) => {
            drop(connection);
            open_without_shared_memory(places).or(Err(error.into()))
        }
        // Whatever else there is, whoever reads will hear of it.
        _ => Ok(connection),
    }
}

fn can_read(connection: &Connection) -> rusqlite::Result<()> {
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))
}

/// Whether shared memory is what could not be had.
fn lacks_shared_memory(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{CannotOpen, DiskFull, SystemIoFailure};
    matches!(error.sqlite_error_code(), Some(CannotOpen | DiskFull | SystemIoFailure))
}

/// A reader where the disk has no room for the memory that connections share. Nobody shares it then:
/// either this connection is alone and keeps it for itself, or nothing waits in the WAL.
fn open_without_shared_memory(places: &JournalPaths) -> rusqlite::Result<Connection> {
    let alone = || {
        let connection = Connection::open_with_flags(&places.database, WRITES)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        connection.execute_batch("PRAGMA locking_mode = EXCLUSIVE; PRAGMA query_only = ON;")?;
        can_read(&connection).map(|()| connection)
    };
    alone().or_else(|error| {
        if std::fs::metadata(&places.wal).is_ok_and(|wal| wal.len() > 0) {
            return Err(error);
        }
        let path = percent_encoding::utf8_percent_encode(
            &places.database.to_string_lossy(),
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
