//! The tables of the store, their version, and how it is opened.

use kb_database::{Layout, SyncLevel};
use kb_engine::journal::JournalError;
use rusqlite::{Connection, OpenFlags};
use std::path::Path;

/// The version that this `kb` writes, stored in `user_version`.
const VERSION: i64 = 3;

/// The name of the database in the state folder of a project.
pub(super) const FILE: &str = "serve.sqlite3";

/// A fire has the key under which its trigger fires once: the nominal time, the id of a delivery, the
/// digest of a file. Nominal times in a row that did not fire share a row.
const TABLES: &str = "
CREATE TABLE IF NOT EXISTS triggers (
    trigger TEXT PRIMARY KEY,
    digest TEXT,
    cursor INTEGER NOT NULL,
    paused TEXT,
    failures INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE IF NOT EXISTS fires (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    trigger TEXT NOT NULL,
    key TEXT NOT NULL,
    playbook TEXT NOT NULL,
    nominal INTEGER,
    until INTEGER,
    run TEXT UNIQUE,
    digest TEXT,
    state TEXT NOT NULL,
    reason TEXT,
    params TEXT NOT NULL DEFAULT '{}',
    depth INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0,
    at INTEGER NOT NULL,
    started_at INTEGER,
    ended_at INTEGER,
    by TEXT,
    UNIQUE (trigger, key)
) STRICT;
CREATE INDEX IF NOT EXISTS fires_open ON fires (state) WHERE state IN ('queued', 'started');
CREATE INDEX IF NOT EXISTS fires_of ON fires (trigger, id);
CREATE TABLE IF NOT EXISTS deliveries (
    hook TEXT NOT NULL,
    key TEXT NOT NULL,
    run TEXT,
    at INTEGER NOT NULL,
    PRIMARY KEY (hook, key)
) STRICT;
CREATE TABLE IF NOT EXISTS messages (
    id TEXT NOT NULL,
    topic TEXT NOT NULL,
    body TEXT NOT NULL,
    run TEXT,
    at INTEGER NOT NULL,
    taken INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (topic, id)
) STRICT;
CREATE TABLE IF NOT EXISTS tokens (
    hash TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE IF NOT EXISTS notifications (
    id TEXT PRIMARY KEY,
    hook TEXT NOT NULL,
    run TEXT NOT NULL,
    event TEXT NOT NULL,
    body TEXT NOT NULL,
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    due INTEGER NOT NULL,
    problem TEXT,
    at INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS notifications_due ON notifications (due) WHERE state = 'waiting';
CREATE TABLE IF NOT EXISTS notes (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS changes (
    trigger TEXT PRIMARY KEY,
    what TEXT NOT NULL,
    by TEXT,
    at INTEGER NOT NULL
) STRICT;
";

/// Opens an existing store of this version for reading.
pub(super) fn read(state_dir: &Path) -> Option<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(state_dir.join(FILE), flags).ok()?;
    let version = connection.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0));
    (version.ok()? == VERSION).then_some(connection)
}

/// Opens the store of a state folder and creates both if they are missing.
pub(super) fn open(state_dir: &Path) -> Result<Connection, JournalError> {
    Ok(kb_database::open(state_dir, &LAYOUT)?)
}

const LAYOUT: Layout = Layout { file: FILE, version: VERSION, upgrade, sync: SyncLevel::Full };

fn upgrade(found: i64) -> String {
    let before = if found == 2 { "ALTER TABLE fires ADD COLUMN by TEXT;" } else { "" };
    format!("{before} {TABLES}")
}
