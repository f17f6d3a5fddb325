//! New entries.

use super::MemoryStore;
use super::conflicts::settle;
use super::rows::{add_event, by_id, select, set_state};
use super::values::{Admitted, Event, LIVE, Limits};
use crate::draft::Draft;
use crate::entry::{Entry, Scope, State, Trust};
use crate::error::MemoryError;
use kb_base::value::Timestamp;
use kb_knowledge::term_text;
use rusqlite::{Connection, params};

/// Maximum number of entries that one run proposes.
const PER_RUN: i64 = 50;
/// How many archived and forgotten entries are kept for each live one of `maxEntries`.
const OLD_FOR_EACH: usize = 10;

impl MemoryStore {
    /// Stores a draft as a candidate, unless an entry says the same. A person's own draft is a candidate too: it counts
    /// once its file exists.
    ///
    /// # Errors
    ///
    /// [`MemoryError::Refused`] if a person forgot the sentence, if the memory is full, or if the run has proposed
    /// enough.
    pub fn propose(
        &self,
        draft: &Draft,
        at: Timestamp,
        limits: &Limits,
    ) -> Result<Admitted, MemoryError> {
        self.change(|connection| {
            if let Some(same) = select(connection, "text_key = ?1", [&draft.text_key])?.pop() {
                return again(connection, &same, draft, at);
            }
            if let Some(other) = by_id(connection, &draft.id)? {
                let message = format!("the entry `{}` exists and says something else", other.id);
                return Err(MemoryError::refused(message, "choose another id"));
            }
            require_room(connection, draft, limits)?;
            insert(connection, draft, at)?;
            let others = settle(connection, draft.subject_key.as_deref(), at)?;
            let entry = by_id(connection, &draft.id)?;
            let entry = entry.ok_or_else(|| MemoryError::Unknown(draft.id.clone()))?;
            let others: Vec<String> = others.into_iter().filter(|id| *id != entry.id).collect();
            Ok(if others.is_empty() {
                Admitted::New(entry)
            } else {
                Admitted::Conflict(entry, others)
            })
        })
    }
}

/// A sentence that is stored already. Its trust and its state do not rise: a model repeats what it was shown.
fn again(
    connection: &Connection,
    same: &Entry,
    draft: &Draft,
    at: Timestamp,
) -> Result<Admitted, MemoryError> {
    let by_person = draft.trust == Trust::Person;
    match same.state {
        State::Forgotten if !by_person => {
            let message = "a person has rejected or forgotten this sentence".to_owned();
            return Err(MemoryError::refused(message, "a person can add it with `kb memory add`"));
        }
        State::Archived | State::Forgotten => {
            let event = Event::new(at, &draft.author, "proposed again");
            set_state(connection, same, State::Candidate, &event)?;
            connection.execute(
                "UPDATE entry SET last_verified = NULL, created = ?2 WHERE id = ?1",
                params![same.id, at.0],
            )?;
            settle(connection, draft.subject_key.as_deref(), at)?;
        }
        State::Candidate | State::Verified | State::Shared | State::Stale | State::Conflicted => {}
    }
    let entry = by_id(connection, &same.id)?.unwrap_or_else(|| same.clone());
    Ok(Admitted::Duplicate(entry))
}

/// Refuses a draft that the limits leave no room for. People may always add.
fn require_room(
    connection: &Connection,
    draft: &Draft,
    limits: &Limits,
) -> Result<(), MemoryError> {
    if draft.trust == Trust::Person {
        return Ok(());
    }
    let count = |condition: &str| -> rusqlite::Result<i64> {
        let sql = format!("SELECT count(*) FROM entry WHERE {condition}");
        connection.prepare_cached(&sql)?.query_row([], |row| row.get(0))
    };
    let most = limits.max_entries as i64;
    if count(LIVE)? >= most || count("1")? >= most.saturating_mul(OLD_FOR_EACH as i64) {
        let message = format!("the memory is full: it has {most} entries (`memory.maxEntries`)");
        let help = "a person reviews it: `kb memory review`, `kb memory forget ID --purge`";
        return Err(MemoryError::refused(message, help));
    }
    let Some(run) = &draft.run else { return Ok(()) };
    let sql = "SELECT count(*) FROM entry WHERE run = ?1";
    let of_run: i64 =
        connection.prepare_cached(sql)?.query_row([run.as_str()], |row| row.get(0))?;
    if of_run >= PER_RUN {
        let message = format!("this run has proposed {PER_RUN} entries, which is the maximum");
        return Err(MemoryError::refused(
            message,
            "propose what later runs need, and nothing else",
        ));
    }
    Ok(())
}

/// Writes a new candidate into all tables.
pub(super) fn insert(
    connection: &Connection,
    draft: &Draft,
    at: Timestamp,
) -> rusqlite::Result<()> {
    let run = draft.run.as_ref().map(|run| run.as_str());
    let scope = match &draft.scope {
        Scope::Project => None,
        Scope::Run(run) => Some(run.as_str()),
    };
    connection.execute(
        "INSERT INTO entry (id, kind, subject, subject_key, text, text_key, tags, scope, state, trust, author, run, \
         step, created, updated)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 'candidate', ?9, ?10, ?11, ?12, ?13, ?13)",
        params![
            draft.id,
            draft.kind.as_str(),
            draft.subject,
            draft.subject_key,
            draft.text,
            draft.text_key,
            tags_json(draft),
            scope,
            draft.trust.as_str(),
            draft.author,
            run,
            draft.step,
            at.0
        ],
    )?;
    let number = connection.last_insert_rowid();
    write_parts(connection, number, draft)?;
    connection.execute(
        "INSERT INTO entry_source (number, author, run, step, trust, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![number, draft.author, run, draft.step, draft.trust.as_str(), at.0],
    )?;
    add_event(connection, &draft.id, &Event::new(at, &draft.author, "proposed"))
}

/// The tags as a list in JSON.
pub(super) fn tags_json(draft: &Draft) -> String {
    serde_json::to_string(&draft.tags).unwrap_or_else(|_| "[]".to_owned())
}

/// Writes the anchors, the checks and the search terms of an entry, in place of those that it has.
pub(super) fn write_parts(
    connection: &Connection,
    number: i64,
    draft: &Draft,
) -> rusqlite::Result<()> {
    remove_parts(connection, number)?;
    for anchor in &draft.anchors {
        let sha256 = anchor.sha256.map(|digest| digest.to_string());
        connection.execute(
            "INSERT INTO entry_anchor (number, path, sha256, excerpt) VALUES (?1, ?2, ?3, ?4)",
            params![number, anchor.path, sha256, anchor.excerpt],
        )?;
    }
    for check in &draft.checks {
        let body = check.to_string();
        connection.execute(
            "INSERT INTO entry_check (number, body) VALUES (?1, ?2)",
            params![number, body],
        )?;
    }
    let subject = draft.subject.as_deref().unwrap_or_default();
    let terms = term_text(&format!("{subject} {} {}", draft.text, draft.tags.join(" ")));
    connection
        .execute("INSERT INTO entry_fts (rowid, terms) VALUES (?1, ?2)", params![number, terms])?;
    Ok(())
}

/// Removes the anchors, the checks, the search terms and the vector of an entry.
pub(super) fn remove_parts(connection: &Connection, number: i64) -> rusqlite::Result<()> {
    for table in ["entry_anchor", "entry_check", "entry_vector"] {
        connection.execute(&format!("DELETE FROM {table} WHERE number = ?1"), [number])?;
    }
    connection.execute("DELETE FROM entry_fts WHERE rowid = ?1", [number])?;
    Ok(())
}
