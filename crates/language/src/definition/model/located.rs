//! Values with their positions, for problems that are found later.

use kb_base::diagnostic::Span;

/// A value with its position.
#[derive(Debug, Clone, PartialEq)]
pub struct Located<T> {
    /// The value as it is written.
    pub value: T,
    /// Position of the value.
    pub span: Span,
}

/// Values under names that the user chose, with positions, in the order of the file.
pub type LocatedMap<T> = Vec<(String, Located<T>)>;
