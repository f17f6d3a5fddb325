//! Entries that say different things about one subject.

use super::rows::{select, set_state};
use super::values::{Event, LIVE, state_alone};
use crate::entry::{Entry, State, Trust};
use kb_base::value::Timestamp;
use rusqlite::{Connection, OptionalExtension};

/// Gives all live entries of a subject their states. The most trusted one stays as it is, and the others are conflicted;
/// where several are most trusted, all are, and a person decides. The order of the entries does not matter. Returns the
/// ids that contradict each other, in order.
///
/// A less trusted text does not take a more trusted one out of prompts: otherwise a sentence in a web page could silence
/// what people approved.
pub(super) fn settle(
    connection: &Connection,
    subject_key: Option<&str>,
    at: Timestamp,
) -> rusqlite::Result<Vec<String>> {
    let Some(key) = subject_key.filter(|key| !key.is_empty()) else { return Ok(Vec::new()) };
    let condition = format!("subject_key = ?1 AND {LIVE} ORDER BY number");
    let all = select(connection, &condition, [key])?;
    let top = all.iter().map(|entry| entry.trust).max().unwrap_or(Trust::External);
    let most_trusted = all.iter().filter(|entry| entry.trust == top).count();
    for entry in &all {
        let wins = entry.trust == top && most_trusted == 1;
        let state = match entry.state {
            _ if !wins => State::Conflicted,
            State::Conflicted => state_alone(entry, has_file(connection, entry)?),
            other => other,
        };
        let what = if state == State::Conflicted { "conflicted" } else { "conflict resolved" };
        set_state(connection, entry, state, &Event::new(at, "kb", what))?;
    }
    Ok(if all.len() > 1 { all.into_iter().map(|entry| entry.id).collect() } else { Vec::new() })
}

/// Whether an entry is shared as a file.
pub(super) fn has_file(connection: &Connection, entry: &Entry) -> rusqlite::Result<bool> {
    let mut query = connection.prepare_cached("SELECT file FROM entry WHERE id = ?1")?;
    let file: Option<Option<String>> = query.query_row([&entry.id], |row| row.get(0)).optional()?;
    Ok(file.flatten().is_some())
}

/// The key of the subject of an entry.
pub(super) fn subject_key(connection: &Connection, id: &str) -> rusqlite::Result<Option<String>> {
    let mut query = connection.prepare_cached("SELECT subject_key FROM entry WHERE id = ?1")?;
    Ok(query.query_row([id], |row| row.get(0)).optional()?.flatten())
}
