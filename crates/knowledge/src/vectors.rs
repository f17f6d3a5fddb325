//! Vectors of the parts of files, and the parts whose vectors are most similar to that of a question.
//!
//! A vector is stored by the digest of the text that it was made of, so that a part that did not change keeps it. All
//! stored vectors are of one model. A question is compared with all of them.

use crate::chunk::text_of;
use crate::embedder::Embedder;
use crate::files::{Files, shown_lines};
use crate::index::{Index, change, digest};
use crate::vector::{Embedded, Keyed, Meaning, make_vectors, most_similar, quantised};
use kb_base::value::Digest;
use kb_database::DatabaseError;
use rusqlite::{Connection, OptionalExtension, params};

/// Number of parts that are compared further: those with the most similar vectors.
const NEAREST: usize = 200;

/// A part without a vector.
struct Part {
    path: String,
    sha256: Digest,
    symbol: String,
    lines: (u32, u32),
    key: Vec<u8>,
}

impl Index {
    /// Makes the vectors of parts that have none, until `stop` says so or the server fails. `dimensions` is the length that
    /// they must have, if it is known. Vectors of another model or length are removed before.
    pub fn embed(
        &mut self,
        files: &dyn Files,
        embedder: &dyn Embedder,
        dimensions: Option<usize>,
        stop: &mut dyn FnMut() -> bool,
    ) -> Result<Embedded, DatabaseError> {
        self.adopt(embedder.key(), dimensions)?;
        let missing = self.without_vector()?;
        let mut read = LastRead { files, last: None };
        let mut texts =
            missing.into_iter().filter_map(|part| read.text(&part).map(|text| (part.key, text)));
        make_vectors(embedder, dimensions, &mut texts, stop, &mut |length, made| {
            self.store(embedder.key(), length, made)
        })
    }

    /// Removes the vectors of other models, and those of another length if it is known.
    fn adopt(&self, key: &str, dimensions: Option<usize>) -> Result<(), DatabaseError> {
        let is_own = |(other, length): (String, i64)| {
            other == key && dimensions.is_none_or(|own| length == own as i64)
        };
        if model(&self.connection)?.is_some_and(is_own) {
            return Ok(());
        }
        let change = change(&self.connection)?;
        change.execute_batch("DELETE FROM vector; DELETE FROM vector_model;")?;
        Ok(change.commit()?)
    }

    fn store(
        &self,
        key: &str,
        length: usize,
        made: &[Keyed<Vec<u8>>],
    ) -> Result<(), DatabaseError> {
        // Another process may use another model.
        self.adopt(key, Some(length))?;
        let change = change(&self.connection)?;
        let name = "INSERT OR IGNORE INTO vector_model (one, key, dimensions) VALUES (1, ?1, ?2)";
        change.execute(name, params![key, length as i64])?;
        for (sha256, vector) in made {
            let value = vector.as_deref().map(quantised).unwrap_or_default();
            change
                .prepare_cached("INSERT OR REPLACE INTO vector (sha256, value) VALUES (?1, ?2)")?
                .execute(params![sha256, value])?;
        }
        Ok(change.commit()?)
    }

    fn without_vector(&self) -> rusqlite::Result<Vec<Part>> {
        let mut query = self.connection.prepare_cached(
            "SELECT file.path, version.sha256, symbol, start, end, chunk.sha256 FROM file
             JOIN version ON version.id = file.version
             JOIN chunk ON chunk.version = version.id
             WHERE file.root = ?1 AND chunk.sha256 NOT IN (SELECT sha256 FROM vector)
             ORDER BY file.path, start",
        )?;
        let rows = query.query_map([self.root], |row| {
            Ok(Part {
                path: row.get(0)?,
                sha256: digest(row, 1)?,
                symbol: row.get(2)?,
                lines: (row.get(3)?, row.get(4)?),
                key: row.get(5)?,
            })
        })?;
        rows.collect()
    }

    /// The parts whose vectors are most similar to that of the question, the most similar one first.
    pub(crate) fn nearest(&self, meaning: &Meaning<'_>) -> rusqlite::Result<Vec<i64>> {
        if model(&self.connection)?.is_none_or(|(key, _)| key != meaning.key) {
            return Ok(Vec::new());
        }
        // All vectors in the order in which they are stored; to read them part by part takes many times as long.
        let mut query = self.connection.prepare_cached("SELECT id, value FROM vector")?;
        let similar = most_similar(query.query([])?, meaning.vector)?;
        // Other roots have parts too.
        let mut query = self.connection.prepare_cached(
            "SELECT chunk.id FROM vector
             JOIN chunk ON chunk.sha256 = vector.sha256
             JOIN file ON file.version = chunk.version AND file.root = ?1
             WHERE vector.id = ?2 ORDER BY chunk.id",
        )?;
        let mut found = Vec::new();
        for id in similar {
            for own in query.query_map([self.root, id], |row| row.get(0))? {
                found.push(own?);
            }
            if found.len() >= NEAREST {
                break;
            }
        }
        Ok(found)
    }

    /// Number of parts with a vector of this model.
    pub fn embedded(&self, key: &str) -> Result<u64, DatabaseError> {
        if model(&self.connection)?.is_none_or(|(own, _)| own != key) {
            return Ok(0);
        }
        let count = "SELECT count(*) FROM file JOIN chunk ON chunk.version = file.version
                     JOIN vector ON vector.sha256 = chunk.sha256 WHERE file.root = ?1 AND length(value) > 0";
        let count: i64 = self.connection.query_row(count, [self.root], |row| row.get(0))?;
        Ok(count.unsigned_abs())
    }
}

/// The key of the model of the stored vectors, and their length.
fn model(connection: &Connection) -> rusqlite::Result<Option<(String, i64)>> {
    let sql = "SELECT key, dimensions FROM vector_model";
    let mut query = connection.prepare_cached(sql)?;
    query.query_row([], |row| Ok((row.get(0)?, row.get(1)?))).optional()
}

/// The texts of parts; the file that was read last is kept.
struct LastRead<'f> {
    files: &'f dyn Files,
    last: Option<(String, Option<Shown>)>,
}

/// The digest and the shown lines of a file.
type Shown = (Digest, Vec<String>);

impl LastRead<'_> {
    /// The text of a part, masked; `None` if its file has another content now.
    fn text(&mut self, part: &Part) -> Option<String> {
        if self.last.as_ref().is_none_or(|(path, _)| *path != part.path) {
            let content = self.files.read(&part.path).map(|content| {
                let text = content.text.unwrap_or_default();
                (content.sha256, shown_lines(&text, self.files))
            });
            self.last = Some((part.path.clone(), content));
        }
        let (sha256, lines) = self.last.as_ref()?.1.as_ref()?;
        let (first, last) = part.lines;
        let lines =
            lines.get(first as usize - 1..last as usize).filter(|_| *sha256 == part.sha256)?;
        Some(text_of(&part.path, &part.symbol, &lines.join("\n")))
    }
}
