//! Ids of entries, which are names of files.

use kb_base::value::Digest;

/// Maximum length of an id in characters.
const MAX: usize = 64;

/// The id of an entry without a name of its own: from its text, so that one sentence has one id in every clone.
pub(crate) fn id_of(text_key: &str) -> String {
    format!("m-{}", Digest::of(text_key).short(12))
}

/// Whether a text can be an id: lower-case letters, digits and hyphens, and it begins with a letter or digit.
pub(crate) fn is_id(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !text.is_empty() && text.len() <= MAX && !text.starts_with('-') && text.chars().all(is_plain)
}
