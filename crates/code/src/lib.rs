//! Definitions and usages in source files, from their syntax trees.
//!
//! Pure: the text of a file goes in, symbols come out. A file with syntax errors gives the symbols of its other parts.
//! Which nodes of a tree are definitions is one table for each language ([`Language`]). Start at [`symbols`].

mod language;
mod markdown;
mod symbol;
mod tree;

pub use language::Language;
pub use symbol::{Symbol, Usage};
pub use tree::{symbols, usages};
