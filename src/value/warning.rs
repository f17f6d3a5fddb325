//! The prefix of warnings in stored texts.

/// The prefix of a stored text that is a warning: the note of a record, or the reason of a passed
/// check. Journals contain it, so it cannot change.
pub const WARNING: &str = "warning: ";
