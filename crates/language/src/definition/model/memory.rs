//! What a specialist uses of what is remembered across runs.

/// `memory` of a specialist.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MemoryUse {
    /// `read`: the kinds of entries that it is shown before its first turn; none if empty.
    pub read: Vec<&'static str>,
    /// `propose`: whether it can propose entries.
    pub propose: bool,
}
