//! Vectors of entries, and the entries whose vectors are most similar to that of a question.

use super::MemoryStore;
use super::rows::{COLUMNS, entry};
use super::values::{Hit, LIVE, Query, Reader, seen_by};
use crate::error::MemoryError;
use kb_knowledge::{
    Embedded, Embedder, Meaning, make_vectors, quantised, similarity, stored_length,
};
use rusqlite::{Connection, params};

/// Number of entries that are found by their vectors.
const NEAREST: usize = 15;

/// An entry without a vector: its number, its subject and its text.
type Missing = (i64, Option<String>, String);

impl MemoryStore {
    /// Makes the vectors of entries that have none, until `stop` says so or the server fails. Vectors of another model, or of
    /// another length than `dimensions`, are removed before. The database is not locked while the server works.
    pub fn embed(
        &self,
        embedder: &dyn Embedder,
        dimensions: usize,
        stop: &mut dyn FnMut() -> bool,
    ) -> Result<Embedded, MemoryError> {
        let missing = self.change(|connection| {
            let others =
                "DELETE FROM entry_vector WHERE model <> ?1 OR length(value) NOT IN (0, ?2)";
            connection
                .execute(others, params![embedder.key(), stored_length(dimensions) as i64])?;
            Ok(without_vector(connection)?)
        })?;
        let mut texts = missing.into_iter().map(|(number, subject, text)| {
            let whole =
                subject.map_or_else(|| text.clone(), |subject| format!("{subject}\n{text}"));
            ((number, text), whole)
        });
        make_vectors(embedder, Some(dimensions), &mut texts, stop, &mut |_, made| {
            self.change(|connection| {
                // An entry whose text changed meanwhile gets the vector of its own text next time.
                let mut insert = connection.prepare_cached(
                    "INSERT OR REPLACE INTO entry_vector (number, model, value)
                     SELECT number, ?3, ?4 FROM entry WHERE number = ?1 AND text = ?2",
                )?;
                for ((number, text), vector) in made {
                    let value = vector.as_deref().map(quantised).unwrap_or_default();
                    insert.execute(params![number, text, embedder.key(), value])?;
                }
                Ok(())
            })
        })
    }
}

fn without_vector(connection: &Connection) -> rusqlite::Result<Vec<Missing>> {
    let sql = format!(
        "SELECT number, subject, text FROM entry
         WHERE {LIVE} AND number NOT IN (SELECT number FROM entry_vector) ORDER BY number"
    );
    let mut query = connection.prepare_cached(&sql)?;
    let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    rows.collect()
}

/// The numbers of the entries that the reader may see whose vectors are most similar to that of the question, the most similar
/// first.
pub(super) fn nearest(
    connection: &Connection,
    meaning: &Meaning<'_>,
    query: &Query<'_>,
    reader: Reader<'_>,
) -> rusqlite::Result<Vec<i64>> {
    let mut vectors =
        connection.prepare_cached("SELECT number, value FROM entry_vector WHERE model = ?1")?;
    let mut rows = vectors.query([meaning.key])?;
    let mut similar: Vec<(f32, i64)> = Vec::new();
    while let Some(row) = rows.next()? {
        let value = row.get_ref(1)?.as_blob().unwrap_or_default();
        if let Some(own) = similarity(meaning.vector, value) {
            similar.push((own, row.get(0)?));
        }
    }
    similar.sort_unstable_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
    let mut found = Vec::new();
    for (_, number) in similar {
        if found.len() >= NEAREST {
            break;
        }
        if hit(connection, number, 0.0, query, reader)?.is_some() {
            found.push(number);
        }
    }
    Ok(found)
}

/// The entry of this number as the reader sees it; `None` if it may not see it or the query is for others.
pub(super) fn hit(
    connection: &Connection,
    number: i64,
    score: f64,
    query: &Query<'_>,
    reader: Reader<'_>,
) -> rusqlite::Result<Option<Hit>> {
    let sql = format!("SELECT {COLUMNS} FROM entry WHERE number = ?1 AND {LIVE}");
    let mut one = connection.prepare_cached(&sql)?;
    let mut rows = one.query_map([number], |row| entry(connection, row))?;
    let found = rows.next().transpose()?;
    Ok(found.and_then(|entry| seen_by(Hit { entry, score }, query, reader)))
}
