//! The specialists that a plan may name.

/// What the compilation knows of a specialist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The name in `specialist:` of a step.
    pub id: String,
    /// The capabilities that steps can name.
    pub capabilities: Vec<String>,
    /// Whether one of its tools can write files or run commands.
    pub writes: bool,
}
