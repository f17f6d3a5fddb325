//! Rows of the tables as values, and what other files of the store share.

use super::values::Event;
use crate::entry::{Anchor, Entry, Kind, Scope, State, Trust};
use kb_base::value::{Digest, RunId, Timestamp};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, params};

/// The columns of [`entry`], in order.
pub(super) const COLUMNS: &str = "number, id, kind, subject, text, tags, scope, state, trust, author, run, step, \
     approved_by, created, updated, last_verified, last_accessed, access_count";

/// Reads an entry whose columns are [`COLUMNS`], with its anchors and checks.
pub(super) fn entry(connection: &Connection, row: &Row<'_>) -> rusqlite::Result<Entry> {
    let number: i64 = row.get(0)?;
    let time = |at: usize| row.get::<_, Option<i64>>(at).map(|at| at.map(Timestamp));
    let run = |at: usize| -> rusqlite::Result<Option<RunId>> {
        let text: Option<String> = row.get(at)?;
        text.map(|text| RunId::new(text).map_err(|_| unreadable(at))).transpose()
    };
    Ok(Entry {
        id: row.get(1)?,
        kind: named(row, 2, Kind::parse)?,
        subject: row.get(3)?,
        text: row.get(4)?,
        tags: json(5, &row.get::<_, String>(5)?)?,
        scope: run(6)?.map_or(Scope::Project, Scope::Run),
        state: named(row, 7, State::parse)?,
        trust: named(row, 8, Trust::parse)?,
        author: row.get(9)?,
        run: run(10)?,
        step: row.get(11)?,
        approved_by: row.get(12)?,
        created: Timestamp(row.get(13)?),
        updated: Timestamp(row.get(14)?),
        last_verified: time(15)?,
        last_accessed: time(16)?,
        access_count: row.get::<_, i64>(17)?.unsigned_abs(),
        anchors: anchors(connection, number)?,
        checks: checks(connection, number)?,
    })
}

fn named<T>(row: &Row<'_>, at: usize, parse: fn(&str) -> Option<T>) -> rusqlite::Result<T> {
    parse(&row.get::<_, String>(at)?).ok_or_else(|| unreadable(at))
}

fn json<T: serde::de::DeserializeOwned>(at: usize, text: &str) -> rusqlite::Result<T> {
    serde_json::from_str(text).map_err(|_| unreadable(at))
}

/// A value that this version cannot have written.
fn unreadable(at: usize) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(at, Type::Text, "an unknown value".into())
}

fn anchors(connection: &Connection, number: i64) -> rusqlite::Result<Vec<Anchor>> {
    let sql = "SELECT path, sha256, excerpt FROM entry_anchor WHERE number = ?1 ORDER BY rowid";
    let mut query = connection.prepare_cached(sql)?;
    let rows = query.query_map([number], |row| {
        let sha256: Option<String> = row.get(1)?;
        Ok(Anchor {
            path: row.get(0)?,
            sha256: sha256.as_deref().and_then(Digest::from_hex),
            excerpt: row.get(2)?,
        })
    })?;
    rows.collect()
}

fn checks(connection: &Connection, number: i64) -> rusqlite::Result<Vec<kb_base::value::Json>> {
    let sql = "SELECT body FROM entry_check WHERE number = ?1 ORDER BY rowid";
    let mut query = connection.prepare_cached(sql)?;
    let rows = query.query_map([number], |row| json(0, &row.get::<_, String>(0)?))?;
    rows.collect()
}

/// The entries that a condition selects, with its parameters.
pub(super) fn select(
    connection: &Connection,
    condition: &str,
    values: impl rusqlite::Params,
) -> rusqlite::Result<Vec<Entry>> {
    let mut query =
        connection.prepare_cached(&format!("SELECT {COLUMNS} FROM entry WHERE {condition}"))?;
    let rows = query.query_map(values, |row| entry(connection, row))?;
    rows.collect()
}

/// One entry by its id.
pub(super) fn by_id(connection: &Connection, id: &str) -> rusqlite::Result<Option<Entry>> {
    Ok(select(connection, "id = ?1", [id])?.into_iter().next())
}

/// The number of an entry in the tables.
pub(super) fn number_of(connection: &Connection, id: &str) -> rusqlite::Result<Option<i64>> {
    let mut query = connection.prepare_cached("SELECT number FROM entry WHERE id = ?1")?;
    query.query_row([id], |row| row.get(0)).optional()
}

/// Sets the state of an entry and adds the event. Nothing changes if it has the state.
pub(super) fn set_state(
    connection: &Connection,
    entry: &Entry,
    state: State,
    event: &Event,
) -> rusqlite::Result<()> {
    if entry.state == state {
        return Ok(());
    }
    connection.execute(
        "UPDATE entry SET state = ?2, updated = ?3 WHERE id = ?1",
        params![entry.id, state.as_str(), event.at.0],
    )?;
    add_event(connection, &entry.id, event)
}

/// Adds an event of an entry.
pub(super) fn add_event(connection: &Connection, id: &str, event: &Event) -> rusqlite::Result<()> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO entry_event (entry, at, by, what, note) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    insert.execute(params![id, event.at.0, event.by, event.what, event.note])?;
    Ok(())
}
