//! What is found in a file.

/// A definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// Its name, as it stands in the file.
    pub name: String,
    /// What is defined: `function`, `method`, `struct`, `heading`, …
    pub kind: &'static str,
    /// Number of its first line, from 1.
    pub line: u32,
    /// Number of its last line.
    pub end_line: u32,
    /// How many definitions it lies in.
    pub depth: u32,
    /// Names of the definitions that it lies in, outermost first, separated by `.`; empty at the top level.
    pub container: String,
    /// Its first line, without the indentation.
    pub text: String,
}

/// A place where a name stands in the code, outside of comments and texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usage {
    /// Number of the line, from 1.
    pub line: u32,
    /// Whether the place is the name of a definition.
    pub defines: bool,
    /// The line, without the indentation.
    pub text: String,
}
