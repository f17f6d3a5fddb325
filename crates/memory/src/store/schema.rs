//! The tables of the memory.

use kb_database::{Layout, SyncLevel};

/// The database beside the journal. What people approved is in files of the project; the rest is only here.
pub(super) const LAYOUT: Layout =
    Layout { file: "memory.sqlite3", version: 2, upgrade, sync: SyncLevel::Full };

/// Version 1 had no vectors.
fn upgrade(found: i64) -> String {
    if found < 1 { format!("{TABLES}{VECTORS}") } else { VECTORS.to_owned() }
}

/// The vector of an entry by the model that made it; empty for a text that the model refuses.
const VECTORS: &str = "
CREATE TABLE entry_vector (
    number INTEGER PRIMARY KEY REFERENCES entry (number) ON DELETE CASCADE,
    model TEXT NOT NULL,
    value BLOB NOT NULL
) STRICT;
";

/// `entry_fts` has the search terms of an entry under its number. `entry_event` keeps the id of a purged entry and
/// none of its texts. Deleted texts are overwritten.
const TABLES: &str = "
CREATE TABLE entry (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    subject TEXT,
    subject_key TEXT,
    text TEXT NOT NULL,
    text_key TEXT NOT NULL,
    tags TEXT NOT NULL,
    scope TEXT,
    state TEXT NOT NULL,
    trust TEXT NOT NULL,
    author TEXT NOT NULL,
    run TEXT,
    step TEXT,
    approved_by TEXT,
    file TEXT,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    last_verified INTEGER,
    last_accessed INTEGER,
    access_count INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX entry_subject ON entry (subject_key) WHERE subject_key IS NOT NULL;
CREATE INDEX entry_text ON entry (text_key);
CREATE TABLE entry_source (
    number INTEGER NOT NULL REFERENCES entry (number) ON DELETE CASCADE,
    author TEXT NOT NULL,
    run TEXT,
    step TEXT,
    trust TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;
CREATE INDEX source_of ON entry_source (number);
CREATE TABLE entry_anchor (
    number INTEGER NOT NULL REFERENCES entry (number) ON DELETE CASCADE,
    path TEXT NOT NULL,
    sha256 TEXT,
    excerpt TEXT
) STRICT;
CREATE INDEX anchor_of ON entry_anchor (number);
CREATE TABLE entry_check (
    number INTEGER NOT NULL REFERENCES entry (number) ON DELETE CASCADE,
    body TEXT NOT NULL
) STRICT;
CREATE INDEX check_of ON entry_check (number);
CREATE TABLE entry_use (
    number INTEGER NOT NULL REFERENCES entry (number) ON DELETE CASCADE,
    run TEXT NOT NULL,
    outcome TEXT,
    at INTEGER NOT NULL,
    PRIMARY KEY (number, run)
) STRICT;
CREATE TABLE entry_event (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    entry TEXT NOT NULL,
    at INTEGER NOT NULL,
    by TEXT NOT NULL,
    what TEXT NOT NULL,
    note TEXT
) STRICT;
CREATE INDEX event_of ON entry_event (entry);
CREATE VIRTUAL TABLE entry_fts USING fts5 (terms);
INSERT INTO entry_fts (entry_fts, rank) VALUES ('secure-delete', 1);
";
