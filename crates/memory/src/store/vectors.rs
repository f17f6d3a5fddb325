//! Vectors of entries, and the entries whose vectors are most similar to that of a question.

use super::MemoryStore;
use super::hits::hit;
use super::values::{LIVE, Query, Reader};
use crate::error::MemoryError;
use kb_knowledge::{
    Embedded, Embedder, Meaning, make_vectors, most_similar, quantised, stored_length,
};
use rusqlite::{Connection, params};

/// Number of entries that are found by their vectors.
const NEAREST: usize = 15;

/// An entry without a vector: its number, its subject and its text.
type Missing = (i64, Option<String>, String);

impl MemoryStore {
    /// Makes the vectors of entries that have none of this model and length, until `stop` says so or the server fails. One of
    /// another model takes its place. The database is not locked while the server works.
    pub fn embed(
        &self,
        embedder: &dyn Embedder,
        dimensions: usize,
        stop: &mut dyn FnMut() -> bool,
    ) -> Result<Embedded, MemoryError> {
        let missing = without_vector(&self.connection(), embedder.key(), dimensions)?;
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

fn without_vector(
    connection: &Connection,
    model: &str,
    dimensions: usize,
) -> rusqlite::Result<Vec<Missing>> {
    let sql = format!(
        "SELECT number, subject, text FROM entry WHERE {LIVE} AND number NOT IN
         (SELECT number FROM entry_vector WHERE model = ?1 AND length(value) IN (0, ?2)) ORDER BY number"
    );
    let mut query = connection.prepare_cached(&sql)?;
    let rows = query.query_map(params![model, stored_length(dimensions) as i64], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?))
    })?;
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
    let similar = most_similar(vectors.query([meaning.key])?, meaning.vector)?;
    let mut found = Vec::new();
    for number in similar {
        if found.len() >= NEAREST {
            break;
        }
        if hit(connection, number, 0.0, query, reader)?.is_some() {
            found.push(number);
        }
    }
    Ok(found)
}
