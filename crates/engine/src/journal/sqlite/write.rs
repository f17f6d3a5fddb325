//! The write statements, each for use in one transaction of [`super::group_commit`].

use super::large;
use super::schema::base_position;
use super::write_job::WriteError;
use crate::journal::blob_store::BlobStore;
use crate::journal::ledger::event_type;
use crate::journal::{Chain, JournalError, NewRun};
use kb_base::value::{Digest, RunId, Timestamp};
use kb_core::redaction::Masked;
use kb_core::run::{Event, RunStatus};
use rusqlite::{Connection, OptionalExtension, params};

/// An append in stored form. It is prepared before the transaction starts.
pub(super) struct Append {
    pub(super) run: RunId,
    pub(super) epoch: u64,
    pub(super) expected: u64,
    pub(super) at: Timestamp,
    pub(super) bodies: Vec<String>,
    /// Digests of the hash chain, one per event; empty if the run has no chain.
    pub(super) digests: Vec<Digest>,
    pub(super) status: RunStatus,
    /// Inbox messages that the events acknowledge.
    pub(super) acknowledged: Vec<i64>,
}

impl Append {
    /// The head of the hash chain after the append.
    fn head(&self) -> Option<&[u8]> {
        self.digests.last().map(|digest| digest.as_bytes().as_slice())
    }
}

/// The row texts of events, in order. Events that are too large for a row are stored as blobs.
pub(super) fn bodies(
    events: &[Masked<Event>],
    blobs: &BlobStore,
) -> Result<Vec<String>, JournalError> {
    let body = |event: &Masked<Event>| {
        let text = serde_json::to_string(event)
            .map_err(|error| JournalError::Broken(format!("an event has no JSON form: {error}")))?;
        large::row_of(text, blobs)
    };
    events.iter().map(body).collect()
}

pub(super) fn append(connection: &Connection, append: &Append) -> Result<u64, WriteError> {
    let last = append.expected + append.bodies.len() as u64;
    let ended_at = append.status.has_ended().then_some(append.at.0);
    let number: Option<i64> = connection
        .prepare_cached(
            "UPDATE runs SET last_seq = ?1, status = ?2, ended_at = ?3, head = coalesce(?7, head)
             WHERE run = ?4 AND epoch = ?5 AND last_seq = ?6 RETURNING number",
        )?
        .query_row(
            params![
                last as i64,
                append.status.as_str(),
                ended_at,
                append.run.as_str(),
                append.epoch as i64,
                append.expected as i64,
                append.head()
            ],
            |row| row.get(0),
        )
        .optional()?;
    let Some(number) = number else { return Err(refusal(connection, append)?) };
    let mut insert = connection.prepare_cached(
        "INSERT INTO events (position, at, epoch, type, body, digest)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    let first = base_position(number) + append.expected as i64 + 1;
    for (i, (position, body)) in (first..).zip(&append.bodies).enumerate() {
        let kind = std::str::from_utf8(event_type(body.as_bytes())).unwrap_or("unknown");
        let digest = append.digests.get(i).map(|digest| digest.as_bytes().as_slice());
        insert.execute(params![position, append.at.0, append.epoch as i64, kind, body, digest])?;
    }
    mark_taken(connection, number, &append.acknowledged)?;
    Ok(last)
}

/// Why an append matched no row: no such run, a wrong sequence number, or a lost lease.
fn refusal(connection: &Connection, append: &Append) -> Result<WriteError, rusqlite::Error> {
    let found: Option<(i64, i64)> = connection
        .query_row(
            "SELECT epoch, last_seq FROM runs WHERE run = ?1",
            [append.run.as_str()],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .optional()?;
    Ok(WriteError::Refused(match found {
        None => JournalError::NoRun(append.run.to_string()),
        Some((epoch, last)) if epoch == append.epoch as i64 => {
            JournalError::out_of_sequence(&append.run, append.expected, last as u64)
        }
        Some(_) => JournalError::LeaseLost(append.run.to_string()),
    }))
}

/// `frozen` is the stored text, which the first digest of the chain covers.
pub(super) fn create(
    connection: &Connection,
    new: &NewRun,
    frozen: &str,
    chain: Chain,
) -> Result<u64, WriteError> {
    let made = connection.execute(
        "INSERT INTO runs (run, definition, status, started_at, epoch, last_seq, kb_version, head)
         VALUES (?1, ?2, ?3, ?4, 1, 0, ?5, ?6) ON CONFLICT DO NOTHING",
        params![
            new.run.as_str(),
            new.definition,
            RunStatus::Running.as_str(),
            new.at.0,
            env!("CARGO_PKG_VERSION"),
            chain.head().as_bytes().as_slice()
        ],
    )?;
    if made == 0 {
        return Err(WriteError::Refused(JournalError::exists(&new.run)));
    }
    connection.execute(
        "INSERT INTO frozen (number, body) VALUES (?1, ?2)",
        params![connection.last_insert_rowid(), frozen],
    )?;
    Ok(1)
}

/// Removes a run that has ended.
pub(super) fn remove(connection: &Connection, run: &RunId) -> Result<u64, WriteError> {
    let number = run_number(connection, run)?;
    let status: String =
        connection
            .query_row("SELECT status FROM runs WHERE number = ?1", [number], |row| row.get(0))?;
    if !RunStatus::parse(&status).is_some_and(RunStatus::has_ended) {
        return Err(WriteError::Refused(JournalError::not_ended(run)));
    }
    let (first, last) = (base_position(number), base_position(number + 1));
    connection
        .execute("DELETE FROM events WHERE position > ?1 AND position < ?2", [first, last])?;
    for table in ["inbox", "frozen", "runs"] {
        connection.execute(&format!("DELETE FROM {table} WHERE number = ?1"), [number])?;
    }
    Ok(0)
}

pub(super) fn next_epoch(connection: &Connection, run: &RunId) -> Result<u64, WriteError> {
    let epoch: Option<i64> = connection
        .query_row(
            "UPDATE runs SET epoch = epoch + 1 WHERE run = ?1 RETURNING epoch",
            [run.as_str()],
            |row| row.get(0),
        )
        .optional()?;
    let none = || WriteError::Refused(JournalError::NoRun(run.to_string()));
    epoch.map(|epoch| epoch as u64).ok_or_else(none)
}

pub(super) fn post(
    connection: &Connection,
    run: &RunId,
    key: &str,
    kind: &str,
    body: &str,
) -> Result<u64, WriteError> {
    let number = run_number(connection, run)?;
    let new = connection.execute(
        "INSERT INTO inbox (number, key, kind, body) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT DO NOTHING",
        params![number, key, kind, body],
    )?;
    Ok(new as u64)
}

pub(super) fn acknowledge(
    connection: &Connection,
    run: &RunId,
    epoch: u64,
    ids: &[i64],
) -> Result<u64, WriteError> {
    let number = run_number(connection, run)?;
    let current: i64 = connection
        .prepare_cached("SELECT epoch FROM runs WHERE number = ?1")?
        .query_row([number], |row| row.get(0))?;
    if current != epoch as i64 {
        return Err(WriteError::Refused(JournalError::LeaseLost(run.to_string())));
    }
    mark_taken(connection, number, ids)?;
    Ok(0)
}

fn mark_taken(connection: &Connection, number: i64, ids: &[i64]) -> Result<(), rusqlite::Error> {
    if ids.is_empty() {
        return Ok(());
    }
    let mut mark =
        connection.prepare_cached("UPDATE inbox SET taken = 1 WHERE id = ?1 AND number = ?2")?;
    ids.iter().try_for_each(|id| mark.execute([*id, number]).map(drop))
}

fn run_number(connection: &Connection, run: &RunId) -> Result<i64, WriteError> {
    let found = connection
        .prepare_cached("SELECT number FROM runs WHERE run = ?1")?
        .query_row([run.as_str()], |row| row.get(0))
        .optional()?;
    found.ok_or_else(|| WriteError::Refused(JournalError::NoRun(run.to_string())))
}
