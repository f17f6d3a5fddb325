//! [`ParentFacts`]: what the parent of a child run knows of the files that both use.

use kb_base::value::Timestamp;
use kb_language::plan::Touched;

/// What the parent of a child run knows of the files that both use, without what the child run itself did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParentFacts {
    /// The step that could write to them.
    pub touched: Option<Touched>,
    /// The last sign of a step that could change them.
    pub changed: Timestamp,
    /// Whether a step that can change them executes at this moment.
    pub is_changing: bool,
}
