//! The read statements. Readers have their own connections and never wait for a writer.

use super::large;
use super::schema::{SEQ_BITS, base_position};
use crate::journal::blob_store::BlobStore;
use crate::journal::references::add_digests;
use crate::journal::{
    Chain, InboxItem, JournalError, Ledger, LedgerRow, RunQuery, RunRow, StoredEvent,
};
use kb_base::value::{Digest, Json, RunId, Timestamp, read_back};
use kb_core::redaction::Masked;
use kb_core::run::Event;
use kb_core::run::RunStatus;
use rusqlite::{Connection, OptionalExtension, Row, Rows, params};
use std::collections::{BTreeMap, BTreeSet};

const ROW: &str =
    "SELECT run, definition, status, started_at, ended_at, epoch, kb_version FROM runs";

pub(super) fn run(connection: &Connection, run: &RunId) -> Result<RunRow, JournalError> {
    let found = connection
        .prepare_cached(&format!("{ROW} WHERE run = ?1"))?
        .query_row([run.as_str()], |row| Ok(run_row(row)))
        .optional()?;
    found.ok_or_else(|| JournalError::NoRun(run.to_string()))?
}

pub(super) fn frozen(connection: &Connection, run: &RunId) -> Result<Json, JournalError> {
    let number = run_number(connection, run)?;
    let mut query = connection.prepare_cached("SELECT body FROM frozen WHERE number = ?1")?;
    let found = query.query_row([number], |row| {
        let body = row.get_ref(0)?.as_str().ok();
        Ok(body.and_then(|body| read_back(body).ok()))
    });
    found.optional()?.flatten().ok_or_else(|| damaged(run.as_str(), "its frozen state"))
}

pub(super) fn list(connection: &Connection) -> Result<Vec<RunRow>, JournalError> {
    let mut query = connection.prepare_cached(&format!("{ROW} ORDER BY number DESC"))?;
    readable(query.query([])?)
}

/// The rows that can be read. The others are named by [`damaged_runs`].
fn readable(mut rows: Rows<'_>) -> Result<Vec<RunRow>, JournalError> {
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.extend(run_row(row));
    }
    Ok(found)
}

/// Why rows of runs cannot be read, newest first.
pub(super) fn damaged_runs(connection: &Connection) -> Result<Vec<String>, JournalError> {
    let mut query = connection.prepare_cached(&format!("{ROW} ORDER BY number DESC"))?;
    let mut rows = query.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.extend(run_row(row).err().map(|error| error.to_string()));
    }
    Ok(found)
}

/// The runs that may be in a query, newest first, until `take` has enough.
pub(super) fn select(
    connection: &Connection,
    query: &RunQuery,
    mut take: impl FnMut(RunRow) -> Result<bool, JournalError>,
) -> Result<(), JournalError> {
    let statuses = serde_json::to_string(&query.stored_statuses()).unwrap_or_default();
    let mut rows = connection.prepare_cached(&format!(
        "{ROW} WHERE (?1 = '[]' OR status IN (SELECT value FROM json_each(?1)))
           AND (?2 IS NULL OR definition = ?2) AND (?3 IS NULL OR started_at >= ?3)
           AND (?4 IS NULL OR number < (SELECT number FROM runs WHERE run = ?4))
         ORDER BY number DESC"
    ))?;
    let before = query.before.as_ref().map(RunId::as_str);
    let since = query.since.map(|since| since.0);
    let mut rows = rows.query(params![statuses, query.definition, since, before])?;
    while let Some(row) = rows.next()? {
        if let Ok(row) = run_row(row)
            && !take(row)?
        {
            break;
        }
    }
    Ok(())
}

/// The runs that ended at this time or later, newest first.
pub(super) fn ended_since(
    connection: &Connection,
    since: Timestamp,
) -> Result<Vec<RunRow>, JournalError> {
    let text = format!("{ROW} WHERE ended_at >= ?1 ORDER BY number DESC");
    readable(connection.prepare_cached(&text)?.query([since.0])?)
}

/// The runs that wait for a person, newest first.
pub(super) fn waiting(connection: &Connection) -> Result<Vec<RunRow>, JournalError> {
    let text = format!("{ROW} WHERE status = ?1 ORDER BY number DESC");
    let status = RunStatus::Waiting.as_str();
    readable(connection.prepare_cached(&text)?.query([status])?)
}

/// The newest run that is not a child run, of this definition and with this status if they are given.
pub(super) fn latest(
    connection: &Connection,
    definition: Option<&str>,
    status: Option<RunStatus>,
) -> Result<Option<RunRow>, JournalError> {
    let mut query = connection.prepare_cached(&format!(
        "{ROW} WHERE (?1 IS NULL OR definition = ?1) AND (?2 IS NULL OR status = ?2) AND NOT EXISTS (
           SELECT 1 FROM frozen WHERE frozen.number = runs.number
           AND json_valid(frozen.body) AND json_extract(frozen.body, '$.parent') IS NOT NULL)
         ORDER BY number DESC"
    ))?;
    let status = status.map(RunStatus::as_str);
    let mut rows = query.query((definition, status))?;
    while let Some(row) = rows.next()? {
        if let Ok(row) = run_row(row) {
            return Ok(Some(row));
        }
    }
    Ok(None)
}

/// The parent of every child run.
pub(super) fn parents(connection: &Connection) -> Result<BTreeMap<RunId, RunId>, JournalError> {
    let mut query = connection.prepare_cached(
        "SELECT run, CASE WHEN json_valid(body) THEN json_extract(body, '$.parent.run') END AS parent
         FROM runs JOIN frozen USING (number) WHERE parent IS NOT NULL",
    )?;
    let mut rows = query.query([])?;
    let mut found = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let id =
            |column: usize| row.get::<_, String>(column).ok().and_then(|id| RunId::new(id).ok());
        found.extend(id(0).zip(id(1)));
    }
    Ok(found)
}

fn run_row(row: &Row<'_>) -> Result<RunRow, JournalError> {
    let (run, status): (String, String) = (row.get(0)?, row.get(2)?);
    let epoch: i64 = row.get(5)?;
    Ok(RunRow {
        definition: row.get(1)?,
        status: RunStatus::parse(&status).ok_or_else(|| damaged(&run, "its status"))?,
        started_at: Timestamp(row.get(3)?),
        ended_at: row.get::<_, Option<i64>>(4)?.map(Timestamp),
        epoch: epoch as u64,
        kb_version: row.get(6)?,
        run: RunId::new(&run).map_err(|_| damaged(&run, "its id"))?,
    })
}

fn damaged(run: &str, what: &str) -> JournalError {
    JournalError::Broken(format!("run `{run}` cannot be read: {what} is damaged"))
}

/// All run ids, newest first.
pub(super) fn run_ids(connection: &Connection) -> Result<Vec<RunId>, JournalError> {
    let mut query = connection.prepare_cached("SELECT run FROM runs ORDER BY number DESC")?;
    let texts: Vec<String> = query.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(texts.iter().filter_map(|text| RunId::new(text).ok()).collect())
}

pub(super) fn events(
    connection: &Connection,
    run: &RunId,
    after: u64,
    limit: usize,
    blobs: &BlobStore,
) -> Result<Vec<StoredEvent>, JournalError> {
    let base = base_position(run_number(connection, run)?);
    let from = base.saturating_add(after.min(u64::from(u32::MAX)) as i64);
    let mut query = connection.prepare_cached(
        "SELECT position, at, epoch, body, digest FROM events
         WHERE position > ?1 AND position < ?2 ORDER BY position LIMIT ?3",
    )?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = query.query_and_then(params![from, base + (1 << SEQ_BITS), limit], |row| {
        let position: i64 = row.get(0)?;
        let (at, epoch): (i64, i64) = (row.get(1)?, row.get(2)?);
        let (seq, body) = ((position - base) as u64, row.get_ref(3)?);
        let body = body.as_str().map_err(|_| damaged(run.as_str(), &format!("event {seq}")))?;
        let event: Event = read_back(&large::event_of(body, blobs)?)
            .map_err(|error| damaged(run.as_str(), &format!("event {seq}")).with_cause(&error))?;
        let event = Masked::composed(event);
        let digest = digest(row, 4)?;
        Ok(StoredEvent { seq, at: Timestamp(at), epoch: epoch as u64, event, digest })
    })?;
    rows.collect()
}

/// A stored digest of 32 bytes. A value of another length is treated as missing.
pub(super) fn digest(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Digest>> {
    let stored: Option<Vec<u8>> = row.get(column)?;
    let bytes = stored.and_then(|bytes| bytes.try_into().ok());
    Ok(bytes.map(Digest::from_bytes))
}

/// The hash chain of a run; `None` if it has none.
pub(super) fn chain(connection: &Connection, run: &RunId) -> Result<Option<Chain>, JournalError> {
    let found = connection
        .prepare_cached("SELECT last_seq, head FROM runs WHERE run = ?1")?
        .query_row([run.as_str()], |row| Ok((row.get::<_, i64>(0)?, digest(row, 1)?)))
        .optional()?;
    let (seq, head) = found.ok_or_else(|| JournalError::NoRun(run.to_string()))?;
    Ok(head.map(|head| Chain::at(seq as u64, head)))
}

/// The number of the last event of a run.
pub(super) fn last_seq(connection: &Connection, run: &RunId) -> Result<u64, JournalError> {
    let found = connection
        .prepare_cached("SELECT last_seq FROM runs WHERE run = ?1")?
        .query_row([run.as_str()], |row| row.get::<_, i64>(0))
        .optional()?;
    found.map(|seq| seq as u64).ok_or_else(|| JournalError::NoRun(run.to_string()))
}

/// The digests in the stored texts of all runs.
pub(super) fn digests(
    connection: &Connection,
    blobs: &BlobStore,
) -> Result<BTreeSet<Digest>, JournalError> {
    let mut found = BTreeSet::new();
    for table in ["events", "frozen"] {
        let mut query = connection.prepare(&format!("SELECT body FROM {table}"))?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            let body = String::from_utf8_lossy(row.get_ref(0)?.as_bytes().unwrap_or_default());
            add_digests(&body, &mut found);
            // A damaged blob refers to nothing that can be read.
            if let Some(Ok(text)) = large::blob_of(&body).map(|digest| blobs.get(&digest)) {
                add_digests(&String::from_utf8_lossy(&text), &mut found);
            }
        }
    }
    Ok(found)
}

/// Which events a ledger has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LedgerPart {
    All,
    /// The first and the last one.
    Ends,
}

/// A consistent snapshot of a run as it is stored.
pub(super) fn ledger(
    connection: &Connection,
    run: &RunId,
    part: LedgerPart,
) -> Result<Ledger, JournalError> {
    // One read transaction, so that the row and its events are consistent.
    let snapshot = connection.unchecked_transaction()?;
    let base = base_position(run_number(&snapshot, run)?);
    let which = match part {
        LedgerPart::All => "position > ?1 AND position < ?2",
        LedgerPart::Ends => {
            "position IN ((SELECT min(position) FROM events WHERE position > ?1 AND position < ?2),
               (SELECT max(position) FROM events WHERE position > ?1 AND position < ?2))"
        }
    };
    let rows = snapshot
        .prepare_cached(&format!(
            "SELECT position, at, epoch, type, body, digest FROM events WHERE {which} ORDER BY position"
        ))?
        .query_map(params![base, base + (1 << SEQ_BITS)], |row| {
            Ok(LedgerRow {
                seq: (row.get::<_, i64>(0)? - base) as u64,
                at: Timestamp(row.get(1)?),
                epoch: row.get::<_, i64>(2)? as u64,
                kind: String::from_utf8_lossy(row.get_ref(3)?.as_bytes()?).into_owned(),
                body: row.get_ref(4)?.as_bytes()?.to_vec(),
                digest: digest(row, 5)?,
                blob: row.get_ref(4)?.as_str().ok().and_then(large::blob_of),
            })
        })?
        .collect::<Result<Vec<_>, _>>()?;
    let ledger = snapshot.query_row(
        "SELECT definition, started_at, kb_version, status, last_seq, head, body, ended_at, epoch
         FROM runs JOIN frozen USING (number) WHERE run = ?1",
        [run.as_str()],
        |row| {
            Ok(Ledger {
                run: run.clone(),
                definition: row.get(0)?,
                started_at: Timestamp(row.get(1)?),
                kb_version: row.get(2)?,
                status: row.get(3)?,
                last_seq: row.get::<_, i64>(4)? as u64,
                keeps_chain: true,
                head: digest(row, 5)?,
                frozen: row.get(6)?,
                ended_at: row.get::<_, Option<i64>>(7)?.map(Timestamp),
                epoch: row.get::<_, i64>(8)? as u64,
                rows,
            })
        },
    );
    ledger.optional()?.ok_or_else(|| damaged(run.as_str(), "its frozen state"))
}

impl JournalError {
    fn with_cause(self, error: &serde_json::Error) -> JournalError {
        JournalError::Broken(format!("{self}: {error}"))
    }
}

pub(super) fn inbox(connection: &Connection, run: &RunId) -> Result<Vec<InboxItem>, JournalError> {
    let number = run_number(connection, run)?;
    let mut query = connection.prepare_cached(
        "SELECT id, kind, body FROM inbox WHERE number = ?1 AND taken = 0 ORDER BY id",
    )?;
    let rows = query.query_and_then([number], |row| {
        let body: String = row.get(2)?;
        let body = serde_json::from_str(&body).map_err(|_| damaged(run.as_str(), "its inbox"))?;
        Ok(InboxItem { id: row.get(0)?, kind: row.get(1)?, body })
    })?;
    rows.collect()
}

pub(super) fn run_number(connection: &Connection, run: &RunId) -> Result<i64, JournalError> {
    let found = connection
        .prepare_cached("SELECT number FROM runs WHERE run = ?1")?
        .query_row([run.as_str()], |row| row.get(0))
        .optional()?;
    found.ok_or_else(|| JournalError::NoRun(run.to_string()))
}
