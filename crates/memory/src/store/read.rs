//! Reading entries: by id, by state, by words.

use super::MemoryStore;
use super::hits::hit;
use super::rows::select;
use super::values::{Event, Hit, LIVE, Query, Reader, Stats};
use super::vectors::nearest;
use crate::entry::{Entry, State};
use crate::error::MemoryError;
use kb_base::value::{RunId, Timestamp};
use kb_knowledge::{Meaning, match_any, merged};
use rusqlite::{Connection, params};

impl MemoryStore {
    /// The entries in these states, those that changed last first; all but forgotten ones if there are no states.
    pub fn list(&self, states: &[State]) -> Result<Vec<Entry>, MemoryError> {
        let connection = self.connection();
        let mut all = select(&connection, "1 ORDER BY updated DESC, number DESC", [])?;
        all.retain(|entry| match states {
            [] => entry.state != State::Forgotten,
            states => states.contains(&entry.state),
        });
        Ok(all)
    }

    /// An entry by its id, or by the start of it if only one begins so.
    ///
    /// # Errors
    ///
    /// [`MemoryError::Unknown`] if there is none, or several.
    pub fn find(&self, name: &str) -> Result<Entry, MemoryError> {
        let connection = self.connection();
        let mut found = select(&connection, "id = ?1", [name])?;
        if found.is_empty() && name.len() >= 4 {
            found = select(&connection, "substr(id, 1, length(?1)) = ?1 LIMIT 2", [name])?;
        }
        match (found.pop(), found.is_empty()) {
            (Some(entry), true) => Ok(entry),
            _ => Err(MemoryError::Unknown(name.to_owned())),
        }
    }

    /// The events of an entry, the oldest first.
    pub fn events(&self, id: &str) -> Result<Vec<Event>, MemoryError> {
        let connection = self.connection();
        let sql = "SELECT at, by, what, note FROM entry_event WHERE entry = ?1 ORDER BY sequence";
        let mut query = connection.prepare_cached(sql)?;
        let rows = query.query_map([id], |row| {
            let at = Timestamp(row.get(0)?);
            Ok(Event { at, by: row.get(1)?, what: row.get(2)?, note: row.get(3)? })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Ids of the other live entries about the subject of an entry.
    pub fn conflicts(&self, id: &str) -> Result<Vec<String>, MemoryError> {
        let connection = self.connection();
        let sql = format!(
            "SELECT id FROM entry WHERE id <> ?1 AND {LIVE} AND subject_key <> ''
             AND subject_key = (SELECT subject_key FROM entry WHERE id = ?1) ORDER BY number"
        );
        let mut query = connection.prepare_cached(&sql)?;
        let rows = query.query_map([id], |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The entries that have one of the words, and those with the most similar meaning if the query has one, best first, as
    /// far as the reader may see them.
    pub fn search(&self, query: &Query<'_>, reader: Reader<'_>) -> Result<Vec<Hit>, MemoryError> {
        let texts = std::iter::once(query.text).chain(query.terms.iter().map(String::as_str));
        let matching = match_any(texts);
        let connection = self.connection();
        let words = match &matching {
            Some(matching) => with_words(&connection, matching)?,
            None => Vec::new(),
        };
        let nearest = match &query.meaning {
            Some(meaning) => nearest(&connection, meaning, query, reader)?,
            None => Vec::new(),
        };
        let ordered = if nearest.is_empty() {
            words
        } else {
            let words: Vec<i64> = words.iter().map(|(number, _)| *number).collect();
            merged(&words, &nearest)
        };
        let mut found = Vec::new();
        for (number, score) in ordered {
            if found.len() >= query.limit {
                break;
            }
            found.extend(hit(&connection, number, score, query, reader)?);
        }
        Ok(found)
    }

    /// Entries that a specialist in a run of this lineage may be shown without asking: first those that have a word of the
    /// text, or a similar meaning, then the others that people share.
    pub fn relevant(
        &self,
        text: &str,
        meaning: Option<Meaning<'_>>,
        kinds: &[crate::Kind],
        lineage: &[RunId],
    ) -> Result<Vec<Entry>, MemoryError> {
        const MOST: usize = 40;
        let query = Query { text, meaning, kinds, limit: MOST, ..Query::default() };
        let hits = self.search(&query, Reader::Specialist(lineage))?;
        let mut found: Vec<Entry> = hits.into_iter().map(|hit| hit.entry).collect();
        let connection = self.connection();
        let shared = "state = 'shared' ORDER BY updated DESC LIMIT 40";
        for entry in select(&connection, shared, [])? {
            let fits = kinds.is_empty() || kinds.contains(&entry.kind);
            if fits && !found.iter().any(|own| own.id == entry.id) {
                found.push(entry);
            }
        }
        found.truncate(MOST);
        Ok(found)
    }

    /// Counts that these entries were shown to a specialist of a run. Their age does not change.
    pub fn note_access(
        &self,
        ids: &[String],
        run: Option<&RunId>,
        at: Timestamp,
    ) -> Result<(), MemoryError> {
        self.change(|connection| {
            for id in ids {
                connection.execute(
                    "UPDATE entry SET access_count = access_count + 1, last_accessed = ?2 WHERE id = ?1",
                    params![id, at.0],
                )?;
                connection.execute(
                    "INSERT OR IGNORE INTO entry_use (number, run, at)
                     SELECT number, ?2, ?3 FROM entry WHERE id = ?1 AND ?2 IS NOT NULL",
                    params![id, run.map(RunId::as_str), at.0],
                )?;
            }
            Ok(())
        })
    }

    /// Numbers about the memory.
    pub fn stats(&self) -> Result<Stats, MemoryError> {
        let mut stats = Stats::default();
        let connection = self.connection();
        select(&connection, "1", [])?.iter().for_each(|entry| stats.count(entry));
        let number = |sql: &str| -> rusqlite::Result<u64> {
            connection.query_row(sql, [], |row| row.get::<_, i64>(0)).map(i64::unsigned_abs)
        };
        stats.helped = number("SELECT count(*) FROM entry_use WHERE outcome = 'helped'")?;
        stats.did_not_help = number("SELECT count(*) FROM entry_use WHERE outcome = 'didNotHelp'")?;
        stats.bytes =
            number("SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()")?;
        Ok(stats)
    }
}

/// The numbers of the entries with one of the words, best first, with their scores.
fn with_words(connection: &Connection, matching: &str) -> rusqlite::Result<Vec<(i64, f64)>> {
    let mut statement = connection.prepare_cached(
        "SELECT rowid, -bm25(entry_fts) FROM entry_fts WHERE entry_fts MATCH ?1
         ORDER BY bm25(entry_fts), rowid",
    )?;
    let rows = statement.query_map([matching], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}
