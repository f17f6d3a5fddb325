//! [`NotYet`]: a use of something that this version does not support.

use kb_base::diagnostic::Span;

/// A key or value of the language that this version does not support.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotYet {
    /// Name of the key or value, such as `budget` or `loop`.
    pub what: String,
    /// Position of the key or value.
    pub span: Span,
}
