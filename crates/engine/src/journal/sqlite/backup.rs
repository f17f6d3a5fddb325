//! Backups: one SQLite file with the tables of the journal, its blobs, and other files of the state
//! folder.

use super::read;
use super::schema::{JournalPaths, VERSION};
use crate::journal::blob_store::BlobStore;
use crate::journal::{Backup, JournalError};
use kb_base::value::Digest;
use rusqlite::{Connection, OpenFlags, params};
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

const TABLES: &str = "
CREATE TABLE backup_blobs (digest TEXT PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
CREATE TABLE backup_files (name TEXT PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
";

/// Writes a backup to `file`, which must not exist. The copy of the database is one read transaction; the
/// caller keeps blobs from being removed meanwhile.
pub(super) fn back_up(
    source: &Connection,
    blobs: &BlobStore,
    file: &Path,
    others: &[(&str, Vec<u8>)],
) -> Result<Backup, JournalError> {
    if file.exists() {
        return Err(JournalError::Denied(format!("`{}` exists already", file.display())));
    }
    let unfinished = beside(file, ".part");
    remove(&unfinished)?;
    // Created first, so that the mode of the file is private from the start.
    private(&unfinished)?;
    source.execute("VACUUM INTO ?1", [unfinished.to_string_lossy()])?;
    let done = fill(&unfinished, blobs, others);
    let done = done.and_then(|found| {
        let synced = fs::File::open(&unfinished).and_then(|written| written.sync_all());
        synced
            .and_then(|()| fs::rename(&unfinished, file))
            .map_err(|error| JournalError::of_file("write", file, &error))?;
        Ok(found)
    });
    if done.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    done
}

fn fill(
    path: &Path,
    blobs: &BlobStore,
    others: &[(&str, Vec<u8>)],
) -> Result<Backup, JournalError> {
    let mut copy = Connection::open(path)?;
    let used = read::digests(&copy, blobs)?;
    let transaction = copy.transaction()?;
    transaction.execute_batch(TABLES)?;
    let mut found = Backup::default();
    {
        let mut insert = transaction.prepare("INSERT INTO backup_blobs VALUES (?1, ?2)")?;
        for digest in &used {
            // A text that only looks like a digest names no blob.
            let Ok(bytes) = blobs.get(digest) else { continue };
            insert.execute(params![digest.to_string(), bytes])?;
            found.blobs += 1;
            found.blob_bytes += bytes.len() as u64;
        }
        let mut insert = transaction.prepare("INSERT INTO backup_files VALUES (?1, ?2)")?;
        for (name, bytes) in others {
            insert.execute(params![name, bytes])?;
        }
        let count = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0);
        let runs = transaction.query_row("SELECT count(*) FROM runs", [], count)?;
        found.runs = usize::try_from(runs).unwrap_or_default();
    }
    transaction.commit()?;
    copy.close().map_err(|(_, error)| error)?;
    Ok(found)
}

/// Creates the journal of a folder from a backup. Fails if the folder has one.
pub(in crate::journal) fn restore(file: &Path, directory: &Path) -> Result<Backup, JournalError> {
    let paths = JournalPaths::of(directory);
    if paths.database.exists() {
        let folder = directory.display();
        return Err(JournalError::Denied(format!("`{folder}` has a journal already")));
    }
    let found = check(file)?;
    for folder in [&paths.directory, &paths.locks, &paths.blobs] {
        super::schema::private_folder(folder)?;
    }
    let unfinished = beside(&paths.database, ".restored");
    remove(&unfinished)?;
    private(&unfinished)?;
    copy(file, &unfinished).map_err(|error| JournalError::of_file("write", &unfinished, &error))?;
    let restored = extract(&unfinished, &paths);
    let restored = restored.and_then(|()| {
        fs::rename(&unfinished, &paths.database)
            .map_err(|error| JournalError::of_file("make", &paths.database, &error))
    });
    if restored.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    restored.map(|()| found)
}

/// Copies a file into an existing one with plain reads and writes, whose failures the tests of full disks
/// plant.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let mut source = fs::File::open(from)?;
    let mut target = OpenOptions::new().write(true).truncate(true).open(to)?;
    let mut part = vec![0; 64 << 10];
    loop {
        match source.read(&mut part)? {
            0 => return target.sync_all(),
            count => target.write_all(&part[..count])?,
        }
    }
}

/// What a backup contains, if it is complete and of a known version.
fn check(file: &Path) -> Result<Backup, JournalError> {
    let unreadable = |error: rusqlite::Error| {
        JournalError::Broken(format!("`{}` is not a backup: {error}", file.display()))
    };
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let backup = Connection::open_with_flags(file, flags).map_err(unreadable)?;
    let number = |sql: &str| backup.query_row(sql, [], |row| row.get::<_, i64>(0));
    let version = number("PRAGMA user_version").map_err(unreadable)?;
    if version > VERSION {
        return Err(JournalError::Newer { found: version, known: VERSION });
    }
    let state: String =
        backup.query_row("PRAGMA quick_check", [], |row| row.get(0)).map_err(unreadable)?;
    if state != "ok" {
        return Err(JournalError::Damaged(format!("`{}` is damaged: {state}", file.display())));
    }
    let blobs = number("SELECT count(*) FROM backup_blobs").map_err(unreadable)?;
    let bytes = number("SELECT coalesce(sum(length(bytes)), 0) FROM backup_blobs");
    Ok(Backup {
        runs: number("SELECT count(*) FROM runs").map_err(unreadable)? as usize,
        blobs: blobs as usize,
        blob_bytes: bytes.map_err(unreadable)? as u64,
    })
}

/// Moves the blobs and other files of a copied backup into the folder.
fn extract(copy: &Path, paths: &JournalPaths) -> Result<(), JournalError> {
    let connection = Connection::open(copy)?;
    let blobs = BlobStore::new(paths.blobs.clone());
    {
        let mut query = connection.prepare("SELECT digest, bytes FROM backup_blobs")?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            let (name, bytes): (String, Vec<u8>) = (row.get(0)?, row.get(1)?);
            if Digest::from_hex(&name) != Some(blobs.put(&bytes)?) {
                return Err(JournalError::Damaged(format!("the blob `{name}` is damaged")));
            }
        }
        let mut query = connection.prepare("SELECT name, bytes FROM backup_files")?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            let (name, bytes): (String, Vec<u8>) = (row.get(0)?, row.get(1)?);
            if name.contains('/') || name.starts_with('.') {
                return Err(JournalError::Damaged(format!("`{name}` is not a file of a backup")));
            }
            let path = paths.directory.join(&name);
            private(&path)?;
            fs::write(&path, bytes).map_err(|e| JournalError::of_file("write", &path, &e))?;
        }
    }
    connection.execute_batch("DROP TABLE backup_blobs; DROP TABLE backup_files; VACUUM;")?;
    connection.close().map_err(|(_, error)| error.into())
}

fn private(path: &Path) -> Result<(), JournalError> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    options.open(path).map(drop).map_err(|error| JournalError::of_file("write", path, &error))
}

fn remove(path: &Path) -> Result<(), JournalError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(JournalError::of_file("remove", path, &error))
        }
        _ => Ok(()),
    }
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}
