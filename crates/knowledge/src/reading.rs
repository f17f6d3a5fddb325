//! Files that are read again: their contents are cut into chunks, on all processors, and stored.

use crate::chunk::{Chunk, chunks, text_of};
use crate::files::{Files, Patience, Stamp, shown_lines};
use crate::words::Terms;
use kb_base::value::Digest;
use rusqlite::{OptionalExtension, Transaction, params};
use std::num::NonZero;

/// A file that changed less than this before it was read can change again without another time, in nanoseconds.
const UNSETTLED: i64 = 2_000_000_000;
/// Maximum number of threads.
const THREADS: usize = 8;

/// A file with the content that it has now.
struct Read<'p> {
    path: &'p str,
    stamp: Stamp,
    sha256: Digest,
    content: ReadContent,
}

/// What of a content is stored.
enum ReadContent {
    /// All of it, under this number.
    Known(i64),
    /// Nothing yet: its lines, masked.
    New(Vec<String>),
    /// Nothing yet: its parts, and the terms of its path.
    Cut(String, Vec<Part>),
}

/// A chunk as it is stored.
struct Part {
    chunk: Chunk,
    sha256: Digest,
    name: String,
    body: String,
}

/// Stores the contents that files have now. Without a stamp a file is read again by the next synchronisation too.
pub(crate) fn read_again<'p>(
    change: &Transaction<'_>,
    root: i64,
    paths: impl Iterator<Item = (&'p str, Option<Stamp>)>,
    files: &dyn Files,
    terms: &mut Vec<Terms>,
) -> rusqlite::Result<()> {
    let mut all = Vec::new();
    for (path, stamp) in paths {
        match read(change, path, stamp, files)? {
            Some(read) => all.push(read),
            None => forget(change, root, path)?,
        }
    }
    cut(&mut all, terms, files.patience());
    for file in &all {
        let version = store(change, file)?;
        let Read { path, stamp, .. } = file;
        change
            .prepare_cached(
                "INSERT OR REPLACE INTO file (root, path, size, mtime, ctime, version)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![root, path, stamp.size as i64, stamp.mtime, stamp.ctime, version])?;
    }
    Ok(())
}

fn read<'p>(
    change: &Transaction<'_>,
    path: &'p str,
    stamp: Option<Stamp>,
    files: &dyn Files,
) -> rusqlite::Result<Option<Read<'p>>> {
    let now = files.now();
    let Some(content) = files.read(path) else { return Ok(None) };
    // A file that changes after its stat data were read has other ones now, or is not settled.
    let settled = stamp.filter(|stamp| now.saturating_sub(stamp.ctime) > UNSETTLED);
    let stamp = settled.unwrap_or(Stamp { size: 0, mtime: 0, ctime: 0 });
    let find = "SELECT id FROM version WHERE path = ?1 AND sha256 = ?2";
    let mut find = change.prepare_cached(find)?;
    let sha256 = content.sha256;
    let known = find.query_row(params![path, sha256.as_bytes()], |row| row.get(0)).optional()?;
    let text = content.text.as_deref().unwrap_or_default();
    let content =
        known.map_or_else(|| ReadContent::New(shown_lines(text, files)), ReadContent::Known);
    Ok(Some(Read { path, stamp, sha256, content }))
}

/// Cuts the new contents into parts, on all processors.
fn cut(all: &mut [Read<'_>], terms: &mut Vec<Terms>, patience: Patience) {
    let new: Vec<&mut Read<'_>> =
        all.iter_mut().filter(|read| matches!(read.content, ReadContent::New(_))).collect();
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    let threads = threads.min(THREADS).min(new.len().max(1));
    terms.resize_with(threads.max(terms.len()), Terms::default);
    let mut lanes: Vec<Vec<&mut Read<'_>>> = (0..threads).map(|_| Vec::new()).collect();
    new.into_iter().enumerate().for_each(|(at, read)| lanes[at % threads].push(read));
    let mut lanes = lanes.into_iter().zip(terms);
    let own = lanes.next();
    std::thread::scope(|scope| {
        for (lane, terms) in lanes {
            scope.spawn(move || lane.into_iter().for_each(|read| parts(read, terms, patience)));
        }
        if let Some((lane, terms)) = own {
            lane.into_iter().for_each(|read| parts(read, terms, patience));
        }
    });
}

fn parts(read: &mut Read<'_>, terms: &mut Terms, patience: Patience) {
    let ReadContent::New(lines) = &read.content else { return };
    let path = read.path;
    // Names in the masked text hold no secret.
    let chunks = match lines.as_slice() {
        [] => Vec::new(),
        lines => chunks(path, &lines.join("\n"), &mut *patience()),
    };
    let part = |chunk: Chunk| {
        let body = lines[chunk.start as usize - 1..chunk.end as usize].join("\n");
        Part {
            sha256: Digest::of(text_of(path, &chunk.symbol, &body)),
            name: terms.text(&format!("{} {}", chunk.symbol, chunk.names.join(" "))),
            body: terms.text(&body),
            chunk,
        }
    };
    let parts = chunks.into_iter().map(part).collect();
    read.content = ReadContent::Cut(terms.text(path), parts);
}

/// The number under which the content of a file is stored.
fn store(change: &Transaction<'_>, read: &Read<'_>) -> rusqlite::Result<i64> {
    let (path_terms, parts) = match &read.content {
        ReadContent::Known(version) => return Ok(*version),
        ReadContent::New(_) => ("", &[][..]),
        ReadContent::Cut(path_terms, parts) => (path_terms.as_str(), parts.as_slice()),
    };
    let add = "INSERT INTO version (path, sha256) VALUES (?1, ?2)";
    change.prepare_cached(add)?.execute(params![read.path, read.sha256.as_bytes()])?;
    let version = change.last_insert_rowid();
    for Part { chunk, sha256, name, body } in parts {
        let add = "INSERT INTO chunk (version, symbol, kind, start, end, sha256) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let row =
            params![version, chunk.symbol, chunk.kind, chunk.start, chunk.end, sha256.as_bytes()];
        change.prepare_cached(add)?.execute(row)?;
        let id = change.last_insert_rowid();
        let add = "INSERT INTO chunk_fts (rowid, name, path, body) VALUES (?1, ?2, ?3, ?4)";
        change.prepare_cached(add)?.execute(params![id, name, path_terms, body])?;
    }
    Ok(version)
}

/// Forgets a file of a root. What no other one has is swept later.
pub(crate) fn forget(change: &Transaction<'_>, root: i64, path: &str) -> rusqlite::Result<()> {
    let sql = "DELETE FROM file WHERE root = ?1 AND path = ?2";
    change.prepare_cached(sql)?.execute(params![root, path]).map(|_| ())
}
