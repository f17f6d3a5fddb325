//! The index: chunks of files by the digests of their contents, and the terms by which they are found.

use crate::files::{Corpus, Files, Stamp};
use crate::reading::{forget, read_again};
use crate::words::Terms;
use kb_base::value::Digest;
use kb_database::{DatabaseError, Layout, SyncLevel};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Files whose changes are stored together. Other processes wait so long for a write.
const BATCH: usize = 200;

/// The database of the index in the state folder of a project.
pub(crate) const LAYOUT: Layout =
    Layout { file: "index.sqlite3", version: 2, upgrade, sync: SyncLevel::Normal };

/// The index is made again from the files, so the tables of an earlier version are removed.
fn upgrade(found: i64) -> String {
    let earlier = if found > 0 {
        "DROP TABLE chunk_fts; DROP TABLE chunk; DROP TABLE file; DROP TABLE version; DROP TABLE root;
         DROP TABLE IF EXISTS vector; DROP TABLE IF EXISTS vector_model;"
    } else {
        ""
    };
    format!("{earlier}{TABLES}")
}

/// A `version` is a content that a path has in at least one root: the project itself, or the worktree of a step.
/// `chunk_fts` holds terms only and no texts (`content = ''`), separated by spaces. `vector` has vectors of one model by
/// the digests of the texts of chunks; that of a text that the model refuses is empty.
const TABLES: &str = "
CREATE TABLE root (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE version (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL,
    sha256 BLOB NOT NULL,
    UNIQUE (path, sha256)
) STRICT;
CREATE TABLE file (
    root INTEGER NOT NULL REFERENCES root (id),
    path TEXT NOT NULL,
    size INTEGER NOT NULL,
    mtime INTEGER NOT NULL,
    ctime INTEGER NOT NULL,
    version INTEGER NOT NULL REFERENCES version (id),
    PRIMARY KEY (root, path)
) STRICT, WITHOUT ROWID;
CREATE INDEX file_version ON file (version);
CREATE TABLE chunk (
    id INTEGER PRIMARY KEY,
    version INTEGER NOT NULL REFERENCES version (id),
    symbol TEXT NOT NULL,
    kind TEXT NOT NULL,
    start INTEGER NOT NULL,
    end INTEGER NOT NULL,
    sha256 BLOB NOT NULL
) STRICT;
CREATE INDEX chunk_version ON chunk (version);
CREATE INDEX chunk_sha256 ON chunk (sha256);
CREATE TABLE vector (id INTEGER PRIMARY KEY, sha256 BLOB NOT NULL UNIQUE, value BLOB NOT NULL) STRICT;
CREATE TABLE vector_model (one INTEGER PRIMARY KEY, key TEXT NOT NULL, dimensions INTEGER NOT NULL) STRICT;
CREATE VIRTUAL TABLE chunk_fts USING fts5 (
    name, path, body, content = '', contentless_delete = 1, tokenize = 'ascii'
);
";

/// The index of one root: a project, or a copy of it in which a step works.
pub struct Index {
    pub(crate) connection: Connection,
    pub(crate) root: i64,
    /// The terms of the words that were indexed, for each thread that makes them.
    terms: Vec<Terms>,
}

/// What a synchronisation found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Synced {
    /// Files of the root.
    pub files: usize,
    /// Files that were read, because they are new or changed.
    pub read: usize,
    /// Files that are gone.
    pub gone: usize,
}

/// How the files of now differ from the indexed ones.
struct Compared {
    files: usize,
    changed: Vec<(String, Stamp)>,
    gone: Vec<String>,
}

impl Compared {
    fn synced(&self) -> Synced {
        Synced { files: self.files, read: self.changed.len(), gone: self.gone.len() }
    }
}

/// What an index holds of its root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored {
    /// Indexed files of code and of prose.
    pub files: (u64, u64),
    /// Their chunks.
    pub chunks: u64,
}

impl Index {
    /// Name of the database in the state folder.
    pub const FILE: &str = LAYOUT.file;

    /// Executes work with the index of a root, which is a real path, in the database of a state folder; without a folder,
    /// in memory. A damaged database is removed, and the work is done again with an empty one.
    pub fn with<T>(
        folder: Option<&Path>,
        root: &Path,
        mut work: impl FnMut(&mut Index) -> Result<T, DatabaseError>,
    ) -> Result<T, DatabaseError> {
        let mut opened = || work(&mut Index::open(folder, root)?);
        match (opened(), folder) {
            (Err(error), Some(folder)) if error.is_damaged() => {
                kb_database::remove(folder, &LAYOUT)?;
                opened()
            }
            (done, _) => done,
        }
    }

    /// Removes the database of a state folder. The next synchronisation makes it again.
    pub fn remove(folder: &Path) -> Result<(), DatabaseError> {
        kb_database::remove(folder, &LAYOUT)
    }

    fn open(folder: Option<&Path>, root: &Path) -> Result<Index, DatabaseError> {
        let connection = match folder {
            Some(folder) => kb_database::open(folder, &LAYOUT)?,
            None => {
                let connection = Connection::open_in_memory()?;
                connection.execute_batch(TABLES)?;
                connection
            }
        };
        let path = root.to_string_lossy();
        let known = "SELECT id FROM root WHERE path = ?1";
        let found = connection.query_row(known, [&path], |row| row.get(0)).optional()?;
        let root = match found {
            Some(id) => id,
            None => {
                connection.execute("INSERT OR IGNORE INTO root (path) VALUES (?1)", [&path])?;
                connection.query_row(known, [&path], |row| row.get(0))?
            }
        };
        Ok(Index { connection, root, terms: Vec::new() })
    }

    /// Brings the index to the files of now: reads those whose stat data changed, and forgets those that are gone.
    pub fn sync(&mut self, files: &dyn Files) -> Result<Synced, DatabaseError> {
        let found = self.compare(files)?;
        for batch in found.changed.chunks(BATCH) {
            let batch = batch.iter().map(|(path, stamp)| (path.as_str(), Some(*stamp)));
            let change = change(&self.connection)?;
            read_again(&change, self.root, batch, files, &mut self.terms)?;
            change.commit()?;
        }
        let synced = found.synced();
        if synced.read + synced.gone > 0 {
            let change = change(&self.connection)?;
            for path in &found.gone {
                forget(&change, self.root, path)?;
            }
            sweep(&change)?;
            change.commit()?;
        }
        Ok(synced)
    }

    /// What a synchronisation would find. Changes nothing.
    pub fn pending(&self, files: &dyn Files) -> Result<Synced, DatabaseError> {
        Ok(self.compare(files)?.synced())
    }

    fn compare(&self, files: &dyn Files) -> Result<Compared, DatabaseError> {
        let mut listed = files.list();
        // A name with a secret is stored nowhere.
        listed.retain(|(path, _)| files.mask(path) == *path);
        let count = listed.len();
        let mut known = self.stamps()?;
        // A file of the list is no longer among the known ones, whether it changed or not.
        let mut is_changed = |(path, stamp): &(String, Stamp)| known.remove(path) != Some(*stamp);
        let changed = listed.into_iter().filter(|file| is_changed(file)).collect();
        Ok(Compared { files: count, changed, gone: known.into_keys().collect() })
    }

    /// What the index holds of the root.
    pub fn stored(&self, files: &dyn Files) -> Result<Stored, DatabaseError> {
        let mut query = self.connection.prepare("SELECT path FROM file WHERE root = ?1")?;
        let mut by_corpus = (0, 0);
        for path in query.query_map([self.root], |row| row.get::<_, String>(0))? {
            match files.corpus(&path?) {
                Corpus::Code => by_corpus.0 += 1,
                Corpus::Docs => by_corpus.1 += 1,
            }
        }
        let count = "SELECT count(*) FROM chunk JOIN file USING (version) WHERE root = ?1";
        let chunks: i64 = self.connection.query_row(count, [self.root], |row| row.get(0))?;
        Ok(Stored { files: by_corpus, chunks: chunks.unsigned_abs() })
    }

    /// Reads one file again. Without a stamp it is read again by the next synchronisation too.
    pub(crate) fn refresh(&mut self, path: &str, files: &dyn Files) -> Result<(), DatabaseError> {
        let change = change(&self.connection)?;
        let one = std::iter::once((path, None));
        read_again(&change, self.root, one, files, &mut self.terms)?;
        sweep(&change)?;
        Ok(change.commit()?)
    }

    fn stamps(&self) -> rusqlite::Result<BTreeMap<String, Stamp>> {
        let sql = "SELECT path, size, mtime, ctime FROM file WHERE root = ?1";
        let mut query = self.connection.prepare_cached(sql)?;
        let rows = query.query_map([self.root], |row| {
            let size: i64 = row.get(1)?;
            let stamp = Stamp { size: size.unsigned_abs(), mtime: row.get(2)?, ctime: row.get(3)? };
            Ok((row.get(0)?, stamp))
        })?;
        rows.collect()
    }
}

/// A write that other processes wait for.
pub(crate) fn change(connection: &Connection) -> rusqlite::Result<Transaction<'_>> {
    Transaction::new_unchecked(connection, TransactionBehavior::Immediate)
}

/// Removes contents that no file has, and roots that are no folder any more.
fn sweep(change: &Transaction<'_>) -> rusqlite::Result<()> {
    let mut query = change.prepare_cached("SELECT id, path FROM root")?;
    let roots = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let roots: Vec<(i64, String)> = roots.collect::<Result<_, _>>()?;
    for (id, _) in roots.iter().filter(|(_, path)| !PathBuf::from(path).is_dir()) {
        change.execute("DELETE FROM file WHERE root = ?1", [id])?;
        change.execute("DELETE FROM root WHERE id = ?1", [id])?;
    }
    const UNUSED: &str = "SELECT id FROM version WHERE id NOT IN (SELECT version FROM file)";
    change.execute_batch(&format!(
        "DELETE FROM chunk_fts WHERE rowid IN (SELECT id FROM chunk WHERE version IN ({UNUSED}));
         DELETE FROM chunk WHERE version IN ({UNUSED});
         DELETE FROM version WHERE id IN ({UNUSED});
         DELETE FROM vector WHERE sha256 NOT IN (SELECT sha256 FROM chunk);"
    ))
}

/// The digest in a column of 32 bytes.
pub(crate) fn digest(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Digest> {
    row.get(column).map(Digest::from_bytes)
}
