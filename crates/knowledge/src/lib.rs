//! What `kb` knows about a project, and how it is found by words.
//!
//! [`terms`] makes the search terms of a text. A table of SQLite's full-text search (FTS5) stores [`term_text`]s and is
//! asked with [`match_any`].
//!
//! An [`Index`] holds the [`chunks`] of the files of a project. [`Index::sync`] reads what changed, and [`Index::query`]
//! reads each file of its answer again, so that no answer shows what a file had before. It reaches the files through
//! [`Files`] alone. With an [`Embedder`], [`Index::embed`] stores vectors of the parts, and a question with a [`Meaning`] is
//! also answered by them.

mod chunk;
mod embedder;
mod files;
mod index;
mod query;
mod reading;
mod vector;
mod vectors;
mod words;

pub use chunk::{Chunk, chunks};
pub use embedder::{EmbedError, Embedder};
pub use files::{Content, Corpus, Files, Patience, Stamp};
pub use index::{Index, Stored, Synced};
pub use query::{Answer, Hit, Question};
pub use vector::{
    Embedded, Keyed, Meaning, Store, make_vectors, merged, most_similar, quantised,
    question_vector, stored_length,
};
pub use words::{match_any, stem, term_text, terms};

#[cfg(test)]
mod interleavings;
#[cfg(test)]
mod vector_tests;
