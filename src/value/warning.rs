/// What begins a text that only warns, where it is kept beside others: the note of a record, the
/// reason of a check that passed. Runs of before have it in their journals.
pub const WARNING: &str = "warning: ";
