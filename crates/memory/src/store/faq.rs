//! The FAQ in the store: how entries helped, and which are archived because they do not.

use super::MemoryStore;
use super::rows::{by_id, set_state};
use super::values::{Event, Feedback};
use crate::entry::{Entry, State};
use crate::error::MemoryError;
use crate::faq::{FAQ, FaqEntry, LEAST_HELPFUL};
use kb_base::value::Timestamp;
use kb_learning::wilson;
use rusqlite::{Connection, params};

impl MemoryStore {
    /// The entries of the FAQ in these states, those that changed last first; all but forgotten ones without states.
    pub fn faq(&self, states: &[State]) -> Result<Vec<FaqEntry>, MemoryError> {
        let all = self.list(states)?;
        let connection = self.connection();
        let entries = all.iter().map(|entry| of(&connection, entry));
        Ok(entries.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }

    /// An entry of the memory as one of the FAQ; `None` if it is none.
    pub fn faq_entry(&self, entry: &Entry) -> Result<Option<FaqEntry>, MemoryError> {
        Ok(of(&self.connection(), entry)?)
    }

    /// Counts one use of an entry of the FAQ: by `key`, once. Archives an entry that no person shared once the upper bound of
    /// its helpful uses falls below [`LEAST_HELPFUL`], which takes 16 uses of which none helped. Returns whether it did.
    ///
    /// # Errors
    ///
    /// [`MemoryError::Unknown`] if there is no such entry of the FAQ.
    pub fn faq_feedback(
        &self,
        id: &str,
        key: &str,
        feedback: Feedback,
        at: Timestamp,
    ) -> Result<bool, MemoryError> {
        self.change(|connection| {
            let unknown = || MemoryError::Unknown(id.to_owned());
            let entry = by_id(connection, id)?.ok_or_else(unknown)?;
            if !entry.tags.iter().any(|tag| tag == FAQ) {
                return Err(unknown());
            }
            connection.execute(
                "INSERT INTO entry_use (number, run, outcome, at)
                 SELECT number, ?2, ?3, ?4 FROM entry WHERE id = ?1
                 ON CONFLICT (number, run) DO UPDATE SET outcome = coalesce(outcome, ?3)",
                params![id, key, feedback.as_str(), at.0],
            )?;
            let (helped, not) = uses(connection, id)?;
            let (_, upper) = wilson(helped, helped + not);
            let may = matches!(entry.state, State::Candidate | State::Verified | State::Stale);
            if !may || upper >= LEAST_HELPFUL {
                return Ok(false);
            }
            let note = format!("it helped {helped} of {} times", helped + not);
            let event = Event::new(at, "kb", "archived").note(note);
            set_state(connection, &entry, State::Archived, &event)?;
            Ok(true)
        })
    }
}

fn of(connection: &Connection, entry: &Entry) -> rusqlite::Result<Option<FaqEntry>> {
    Ok(FaqEntry::of(entry, uses(connection, &entry.id)?))
}

/// How often an entry helped, and how often it did not.
fn uses(connection: &Connection, id: &str) -> rusqlite::Result<(u64, u64)> {
    let sql =
        "SELECT coalesce(sum(outcome = 'helped'), 0), coalesce(sum(outcome = 'didNotHelp'), 0)
               FROM entry_use WHERE number = (SELECT number FROM entry WHERE id = ?1)";
    connection
        .prepare_cached(sql)?
        .query_row([id], |row| Ok((row.get::<_, i64>(0)? as u64, row.get::<_, i64>(1)? as u64)))
}
