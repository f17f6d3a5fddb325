//! Warnings in journals of older versions, which marked them by a prefix of the text.

const PREFIX: &str = "warning: ";

/// The text without the prefix of a warning; `None` if it has none.
pub(super) fn old_warning(text: &str) -> Option<&str> {
    text.strip_prefix(PREFIX)
}
