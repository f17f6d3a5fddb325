//! Vectors of the parts of files, and the parts whose vectors are most similar to that of a question.
//!
//! A vector is stored as whole numbers of 8 bits with one factor for all of them, by the digest of the text that it
//! was made of, so that a part that did not change keeps it. All stored vectors are of one model. A question is
//! compared with all of them.

use crate::chunk::text_of;
use crate::embedder::{EmbedError, Embedder};
use crate::files::{Files, shown_lines};
use crate::index::{Index, change, digest};
use kb_base::diagnostic::Code;
use kb_base::value::{Digest, Failure, cut_to_chars};
use kb_database::DatabaseError;
use rusqlite::{Connection, OptionalExtension, params};
use std::cmp::Ordering;

/// Number of parts that are compared further: those with the most similar vectors.
const NEAREST: usize = 200;
/// Size of the factor of a stored vector in bytes.
const FACTOR: usize = 4;

/// The vector of a question.
#[derive(Debug, Clone, Copy)]
pub struct Meaning<'a> {
    /// The key of the model that made it.
    pub key: &'a str,
    /// Its numbers.
    pub vector: &'a [f32],
}

/// What came of making vectors.
#[derive(Debug, Default)]
pub struct Embedded {
    /// Parts that have a vector now and had none before.
    pub made: usize,
    /// Parts whose text the server refuses, while it takes others.
    pub refused: usize,
    /// Why it was not continued.
    pub failure: Option<Failure>,
}

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
        let mut made = Embedded::default();
        self.adopt(embedder.key(), dimensions)?;
        let mut dimensions = dimensions;
        let missing = self.without_vector()?;
        let mut read = LastRead { files, last: None };
        for batch in missing.chunks(embedder.batch().max(1)) {
            if stop() {
                break;
            }
            let with_text = batch.iter().filter_map(|part| {
                Some((part, cut_to_chars(&read.text(part)?, embedder.max_chars())))
            });
            let (parts, texts): (Vec<&Part>, Vec<String>) = with_text.unzip();
            if texts.is_empty() {
                continue;
            }
            let vectors = match vectors_of(embedder, &texts, dimensions.is_some()) {
                Ok(vectors) => vectors,
                Err(error) => {
                    made.failure = Some(error.failure().clone());
                    break;
                }
            };
            for vector in vectors.iter().flatten() {
                if *dimensions.get_or_insert(vector.len()) != vector.len() {
                    made.failure = Some(other_length(dimensions, vector.len()));
                    return Ok(made);
                }
            }
            self.store(embedder.key(), dimensions, &parts, &vectors)?;
            let refused = vectors.iter().filter(|vector| vector.is_none()).count();
            made.refused += refused;
            made.made += vectors.len() - refused;
        }
        Ok(made)
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
        dimensions: Option<usize>,
        parts: &[&Part],
        vectors: &[Option<Vec<f32>>],
    ) -> Result<(), DatabaseError> {
        let Some(length) = dimensions else { return Ok(()) };
        // Another process may use another model.
        self.adopt(key, dimensions)?;
        let change = change(&self.connection)?;
        let name = "INSERT OR IGNORE INTO vector_model (one, key, dimensions) VALUES (1, ?1, ?2)";
        change.execute(name, params![key, length as i64])?;
        for (part, vector) in parts.iter().zip(vectors) {
            let value = vector.as_deref().map(quantised).unwrap_or_default();
            change
                .prepare_cached("INSERT OR REPLACE INTO vector (sha256, value) VALUES (?1, ?2)")?
                .execute(params![part.key, value])?;
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
        let mut rows = query.query([])?;
        let mut similar: Vec<(f32, i64)> = Vec::new();
        while let Some(row) = rows.next()? {
            let value = row.get_ref(1)?.as_blob().unwrap_or_default();
            if let Some(similarity) = similarity(meaning.vector, value) {
                similar.push((similarity, row.get(0)?));
            }
        }
        let order = |one: &(f32, i64), other: &(f32, i64)| {
            other.0.partial_cmp(&one.0).unwrap_or(Ordering::Equal).then(one.1.cmp(&other.1))
        };
        similar.sort_unstable_by(order);
        // Other roots have parts too.
        let mut query = self.connection.prepare_cached(
            "SELECT chunk.id FROM vector
             JOIN chunk ON chunk.sha256 = vector.sha256
             JOIN file ON file.version = chunk.version AND file.root = ?1
             WHERE vector.id = ?2 ORDER BY chunk.id",
        )?;
        let mut found = Vec::new();
        for (_, id) in similar {
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

/// The vectors of texts. If the server refuses them together, they are sent one by one; a text that it refuses while it
/// takes others (`takes_others`, or of these) has none, and is not sent again.
fn vectors_of(
    embedder: &dyn Embedder,
    texts: &[String],
    takes_others: bool,
) -> Result<Vec<Option<Vec<f32>>>, EmbedError> {
    let refused = match embedder.embed(texts) {
        Ok(vectors) => return Ok(vectors.into_iter().map(Some).collect()),
        Err(error @ EmbedError::Unavailable(_)) => return Err(error),
        Err(error @ EmbedError::Unusable(_)) => error,
    };
    let mut found = Vec::new();
    if texts.len() > 1 {
        for text in texts {
            match embedder.embed(std::slice::from_ref(text)) {
                Ok(mut own) => found.push(own.pop()),
                Err(EmbedError::Unusable(_)) => found.push(None),
                Err(error @ EmbedError::Unavailable(_)) => return Err(error),
            }
        }
    } else {
        found.push(None);
    }
    let takes_others = takes_others || found.iter().any(Option::is_some);
    if takes_others { Ok(found) } else { Err(refused) }
}

fn other_length(expected: Option<usize>, found: usize) -> Failure {
    let expected = expected.unwrap_or_default();
    let message = format!("the model makes vectors of {expected} and of {found} dimensions");
    let help = "set `dimensions` in `knowledge.embeddings`, or use another model";
    Failure::new(Code::RESPONSE_UNUSABLE, message).help(help)
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

/// A vector of length 1 as it is stored: a factor and whole numbers of 8 bits. All zeros have the factor 0.
fn quantised(vector: &[f32]) -> Vec<u8> {
    let length = vector.iter().map(|own| f64::from(*own).powi(2)).sum::<f64>().sqrt();
    let most = vector.iter().fold(0f32, |most, own| most.max(own.abs()));
    let factor = if length > 0.0 { (f64::from(most) / length / 127.0) as f32 } else { 0.0 };
    let number = |own: &f32| ((own / most.max(f32::MIN_POSITIVE)) * 127.0).round() as i8 as u8;
    factor.to_le_bytes().into_iter().chain(vector.iter().map(number)).collect()
}

/// How similar a stored vector is to that of a question. `None` if they have different lengths.
fn similarity(question: &[f32], stored: &[u8]) -> Option<f32> {
    let (factor, numbers) = stored.split_at_checked(FACTOR)?;
    if numbers.len() != question.len() {
        return None;
    }
    let sum: f32 =
        question.iter().zip(numbers).map(|(own, other)| own * f32::from(*other as i8)).sum();
    Some(sum * f32::from_le_bytes(factor.try_into().ok()?))
}
