//! Items of a step that are read from the project files.

/// What a `forEach` reads from files, with all templates rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileItems {
    /// The paths of the files that match these globs; a glob with `!` excludes files.
    Matching(Vec<String>),
    /// The lines of this file that are not empty.
    Lines(String),
}
