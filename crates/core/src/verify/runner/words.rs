//! Words of commands, and lists of patterns that they fit.

/// The name of a program without its directory and version.
pub(super) fn program(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').to_owned()
}

/// Whether a list contains a word.
pub(super) fn has(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|pattern| fits(pattern, word))
}

/// Whether a word has the form of a pattern, in which `*` stands for any text.
pub(super) fn fits(pattern: &str, word: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == word };
    let Some(mut word) = word.strip_prefix(start) else { return false };
    let parts: Vec<&str> = rest.split('*').collect();
    let Some((last, inner)) = parts.split_last() else { return true };
    for part in inner {
        match word.find(part) {
            Some(at) => word = &word[at + part.len()..],
            None => return false,
        }
    }
    word.ends_with(last)
}
