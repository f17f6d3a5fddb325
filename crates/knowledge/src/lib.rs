//! What `kb` knows about a project, and how it is found by words.
//!
//! [`terms`] makes the search terms of a text. A table of SQLite's full-text search (FTS5) stores [`term_text`]s and is
//! asked with [`match_any`].

mod words;

pub use words::{match_any, stem, term_text, terms};
