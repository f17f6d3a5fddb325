//! Searches of the memory, by words and, with a server for vectors, by meaning.

use crate::embedding::Asked;
use kb_core::redaction::Redactor;
use kb_knowledge::{Embedder, Meaning};
use kb_memory::{Hit, MemoryError, MemoryStore, Query, Reader};

/// What a search of the memory found.
#[derive(Debug, Clone)]
pub struct FoundEntries {
    /// Best first.
    pub hits: Vec<Hit>,
    /// Why they were found by words alone, although the settings name a server for vectors; masked.
    pub note: Option<String>,
}

/// Finds entries of the memory. With an embedder, the vectors that are missing are made first. Blocks.
///
/// # Errors
///
/// [`MemoryError::Database`] if the memory cannot be read.
pub fn search_entries(
    store: &MemoryStore,
    query: &Query<'_>,
    reader: Reader<'_>,
    (embedder, redactor): (Option<&dyn Embedder>, &Redactor),
) -> Result<FoundEntries, MemoryError> {
    let (hits, note) = with_meaning(store, query.text, (embedder, redactor), |meaning| {
        store.search(&Query { meaning, ..query.clone() }, reader)
    })?;
    Ok(FoundEntries { hits, note })
}

/// Finds entries with the vector of a text, if there is a server that makes one, and says why there is none. Blocks.
pub(super) fn with_meaning<T>(
    store: &MemoryStore,
    text: &str,
    (embedder, redactor): (Option<&dyn Embedder>, &Redactor),
    find: impl FnOnce(Option<Meaning<'_>>) -> Result<T, MemoryError>,
) -> Result<(T, Option<String>), MemoryError> {
    let (asked, mut failure) = Asked::of(embedder, &redactor.mask_text(text));
    if let Some(asked) = &asked {
        let made = store.embed(asked.embedder, asked.vector.len(), &mut asked.budget())?;
        failure = made.failure;
    }
    let found = find(asked.as_ref().map(Asked::meaning))?;
    Ok((found, failure.map(|failure| redactor.mask_text(&failure.to_string()).into_owned())))
}
