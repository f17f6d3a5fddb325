//! What people and checks change: rejected, forgotten, checked, used, archived.

use super::MemoryStore;
use super::conflicts::{has_file, settle, subject_key};
use super::propose::remove_parts;
use super::rows::{add_event, by_id, number_of, select, set_state};
use super::values::{CheckOutcome, Event, Feedback, Forgotten, state_alone};
use crate::entry::{Entry, Scope, State};
use crate::error::MemoryError;
use kb_base::value::{RunId, Timestamp};
use rusqlite::{Connection, params};
use std::time::Duration;

impl MemoryStore {
    /// Checks that an entry can be shared, and returns it. The caller writes its file, which
    /// [`MemoryStore::sync_files`] takes over.
    ///
    /// # Errors
    ///
    /// [`MemoryError::Refused`] for an entry that is shared, forgotten or about one run, and while another shared entry has its
    /// subject.
    pub fn approvable(&self, id: &str) -> Result<Entry, MemoryError> {
        let connection = self.connection();
        let entry = required(&connection, id)?;
        if has_file(&connection, &entry)? {
            let help = format!("change its file, `{}`", crate::SharedFile::path_of(id));
            return Err(MemoryError::refused(format!("`{id}` is shared already"), help));
        }
        if let Scope::Run(run) = &entry.scope {
            let message =
                format!("`{id}` says that something is absent, which holds for run `{run}`");
            return Err(MemoryError::refused(message, "what is absent now can come later"));
        }
        if !entry.state.is_live() {
            let message = format!("`{id}` is {}", entry.state.as_str());
            return Err(MemoryError::refused(message, "add the sentence again: `kb memory add`"));
        }
        let key = subject_key(&connection, id)?.unwrap_or_default();
        let same = "subject_key = ?1 AND file IS NOT NULL AND id <> ?2";
        if let Some(other) = select(&connection, same, [key.as_str(), id])?.first() {
            let message =
                format!("`{id}` contradicts `{}`, which is shared: {}", other.id, other.text);
            let help =
                format!("decide: `kb memory forget {}`, or `kb memory reject {id}`", other.id);
            return Err(MemoryError::refused(message, help));
        }
        Ok(entry)
    }

    /// A person says that an entry is not to be used. The sentence is not proposed again.
    pub fn reject(&self, id: &str, event: &Event) -> Result<Entry, MemoryError> {
        self.change(|connection| {
            let entry = required(connection, id)?;
            set_state(connection, &entry, State::Forgotten, event)?;
            settle(connection, subject_key(connection, id)?.as_deref(), event.at)?;
            required(connection, id)
        })
    }

    /// Forgets an entry: it is found no more. With `purge` its texts are deleted, and only the event with its id stays.
    pub fn forget(
        &self,
        id: &str,
        by: &str,
        purge: bool,
        at: Timestamp,
    ) -> Result<Forgotten, MemoryError> {
        self.change(|connection| {
            let entry = required(connection, id)?;
            let key = subject_key(connection, id)?;
            let what = if purge { "purged" } else { "forgotten" };
            if purge {
                if let Some(number) = number_of(connection, id)? {
                    remove_parts(connection, number)?;
                    connection.execute("DELETE FROM entry WHERE number = ?1", [number])?;
                }
                connection.execute("UPDATE entry_event SET note = NULL WHERE entry = ?1", [id])?;
                add_event(connection, id, &Event::new(at, by, what))?;
            } else {
                connection.execute("UPDATE entry SET file = NULL WHERE id = ?1", [id])?;
                set_state(connection, &entry, State::Forgotten, &Event::new(at, by, what))?;
            }
            settle(connection, key.as_deref(), at)?;
            Ok(())
        })?;
        if purge {
            let connection = self.connection();
            // The pages with the texts are overwritten, and the log that still has them is emptied.
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        }
        Ok(Forgotten { id: id.to_owned(), purged: purge })
    }

    /// Records the outcome of the checks and anchors of an entry, which decides whether it is verified or stale.
    pub fn record_check(
        &self,
        id: &str,
        outcome: &CheckOutcome,
        at: Timestamp,
    ) -> Result<Entry, MemoryError> {
        self.change(|connection| {
            let entry = required(connection, id)?;
            let event = Event::new(at, &outcome.by, "checked");
            let (passed, event) = match &outcome.failed {
                Some(why) => (false, event.note(why.clone())),
                None => (true, event.note("passed")),
            };
            if passed {
                for (path, digest) in &outcome.digests {
                    connection.execute(
                        "UPDATE entry_anchor SET sha256 = ?3 WHERE path = ?2
                         AND number = (SELECT number FROM entry WHERE id = ?1)",
                        params![id, path, digest.to_string()],
                    )?;
                }
            }
            if passed && outcome.has_checks {
                connection.execute(
                    "UPDATE entry SET last_verified = ?2 WHERE id = ?1",
                    params![id, at.0],
                )?;
            }
            let now = required(connection, id)?;
            let alone = state_alone(&now, has_file(connection, &now)?);
            let state = match now.state {
                State::Candidate | State::Verified | State::Shared | State::Stale if passed => {
                    alone
                }
                State::Verified | State::Shared => State::Stale,
                other => other,
            };
            let changed = state != now.state;
            set_state(connection, &now, state, &event)?;
            if !changed {
                add_event(connection, id, &event)?;
            }
            required(connection, &entry.id)
        })
    }

    /// Records how an entry helped in a run; once for each run, so that repeating it changes nothing.
    pub fn feedback(
        &self,
        id: &str,
        run: &RunId,
        feedback: Feedback,
        at: Timestamp,
    ) -> Result<(), MemoryError> {
        self.change(|connection| {
            required(connection, id)?;
            connection.execute(
                "INSERT INTO entry_use (number, run, outcome, at)
                 SELECT number, ?2, ?3, ?4 FROM entry WHERE id = ?1
                 ON CONFLICT (number, run) DO UPDATE SET outcome = coalesce(outcome, ?3)",
                params![id, run.as_str(), feedback.as_str(), at.0],
            )?;
            Ok(())
        })
    }

    /// Archives entries that no person shared and whose checks did not pass for so long. Returns their number.
    pub fn archive_old(&self, at: Timestamp, after: Duration) -> Result<usize, MemoryError> {
        let before = at.0.saturating_sub(i64::try_from(after.as_millis()).unwrap_or(i64::MAX));
        let old = "file IS NULL AND state IN ('candidate', 'verified', 'stale', 'conflicted')
             AND max(created, coalesce(last_verified, 0)) < ?1";
        if select(&self.connection(), old, [before])?.is_empty() {
            return Ok(0);
        }
        self.change(|connection| {
            let all = select(connection, old, [before])?;
            for entry in &all {
                let event = Event::new(at, "kb", "archived").note("not confirmed for too long");
                set_state(connection, entry, State::Archived, &event)?;
                settle(connection, subject_key(connection, &entry.id)?.as_deref(), at)?;
            }
            Ok(all.len())
        })
    }
}

impl Event {
    /// A rejection by a person.
    pub fn rejected(by: &str, why: Option<String>, at: Timestamp) -> Event {
        Event { note: why, ..Event::new(at, by, "rejected") }
    }
}

fn required(connection: &Connection, id: &str) -> Result<Entry, MemoryError> {
    by_id(connection, id)?.ok_or_else(|| MemoryError::Unknown(id.to_owned()))
}
