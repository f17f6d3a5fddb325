//! Vectors of texts: how they are made in batches, how they are stored, and how similar two are.
//!
//! A vector is stored as whole numbers of 8 bits with one factor for all of them.

use crate::embedder::{EmbedError, Embedder};
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, cut_to_chars};
use rusqlite::Rows;
use std::cmp::Ordering;
use std::collections::HashMap;

/// Size of the factor of a stored vector in bytes.
const FACTOR: usize = 4;
/// How little the first places of an order count above the next ones where two orders are merged (reciprocal rank fusion).
const EVEN: f64 = 60.0;

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

/// A text under its key in the store, with its vector; none if the server refuses the text.
pub type Keyed<K> = (K, Option<Vec<f32>>);

/// Stores a batch: the length of its vectors, and the vectors.
pub type Store<'s, K, E> = dyn FnMut(usize, &[Keyed<K>]) -> Result<(), E> + 's;

/// Makes vectors of texts, batch by batch, and stores each batch, until `stop` says so or the server fails. `dimensions` is
/// the length that they must have, if it is known.
///
/// # Errors
///
/// Those of `store`.
pub fn make_vectors<K, E>(
    embedder: &dyn Embedder,
    mut dimensions: Option<usize>,
    texts: &mut dyn Iterator<Item = (K, String)>,
    stop: &mut dyn FnMut() -> bool,
    store: &mut Store<'_, K, E>,
) -> Result<Embedded, E> {
    let mut made = Embedded::default();
    while !stop() {
        let batch = texts.take(embedder.batch().max(1));
        let cut = batch.map(|(key, text)| (key, cut_to_chars(&text, embedder.max_chars())));
        let (keys, texts): (Vec<K>, Vec<String>) = cut.unzip();
        if texts.is_empty() {
            break;
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
        let refused = vectors.iter().filter(|vector| vector.is_none()).count();
        let keyed: Vec<Keyed<K>> = keys.into_iter().zip(vectors).collect();
        if let Some(length) = dimensions {
            store(length, &keyed)?;
        }
        made.refused += refused;
        made.made += keyed.len() - refused;
    }
    Ok(made)
}

/// The vector of a question. Blocks.
///
/// # Errors
///
/// What the server answered instead.
pub fn question_vector(embedder: &dyn Embedder, text: &str) -> Result<Vec<f32>, Failure> {
    let made = embedder.embed(&[cut_to_chars(text, embedder.max_chars())]);
    let made = made.map_err(|error| error.failure().clone())?;
    Ok(made.into_iter().next().unwrap_or_default())
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

/// A vector of length 1 as it is stored: a factor and whole numbers of 8 bits. All zeros have the factor 0.
pub fn quantised(vector: &[f32]) -> Vec<u8> {
    let length = vector.iter().map(|own| f64::from(*own).powi(2)).sum::<f64>().sqrt();
    let most = vector.iter().fold(0f32, |most, own| most.max(own.abs()));
    let factor = if length > 0.0 { (f64::from(most) / length / 127.0) as f32 } else { 0.0 };
    let number = |own: &f32| ((own / most.max(f32::MIN_POSITIVE)) * 127.0).round() as i8 as u8;
    factor.to_le_bytes().into_iter().chain(vector.iter().map(number)).collect()
}

/// Size of a stored vector of this many numbers in bytes.
pub fn stored_length(dimensions: usize) -> usize {
    FACTOR + dimensions
}

/// The numbers of rows `(number, stored vector)`, that with the vector most similar to the one of a question first. A stored
/// vector of another length is left out.
///
/// # Errors
///
/// Those of reading the rows.
pub fn most_similar(mut rows: Rows<'_>, question: &[f32]) -> rusqlite::Result<Vec<i64>> {
    let mut similar: Vec<(f32, i64)> = Vec::new();
    while let Some(row) = rows.next()? {
        let value = row.get_ref(1)?.as_blob().unwrap_or_default();
        if let Some(similarity) = similarity(question, value) {
            similar.push((similarity, row.get(0)?));
        }
    }
    similar.sort_unstable_by(|one, other| {
        other.0.partial_cmp(&one.0).unwrap_or(Ordering::Equal).then(one.1.cmp(&other.1))
    });
    Ok(similar.into_iter().map(|(_, number)| number).collect())
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

/// Two orders as one: what is far ahead in one of them, or ahead in both, comes first. With the score of each.
pub fn merged(words: &[i64], nearest: &[i64]) -> Vec<(i64, f64)> {
    // The score, and the place among those with the words: of equals, the one that has them comes first.
    let mut scores: HashMap<i64, (f64, usize)> = HashMap::new();
    for (order, has_words) in [(words, true), (nearest, false)] {
        for (place, id) in order.iter().enumerate() {
            let first = if has_words { place } else { usize::MAX };
            scores.entry(*id).or_insert((0.0, first)).0 += 1.0 / (EVEN + place as f64);
        }
    }
    let mut all: Vec<(i64, (f64, usize))> = scores.into_iter().collect();
    all.sort_by(|(id, one), (other_id, other)| {
        other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)).then(id.cmp(other_id))
    });
    all.into_iter().map(|(id, (score, _))| (id, score)).collect()
}
