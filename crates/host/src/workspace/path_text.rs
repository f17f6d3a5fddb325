//! Unicode forms of paths: how they are compared, shown and looked up.

use std::path::{Component, Path};
use unicode_normalization::UnicodeNormalization;

/// Text in NFC, the form in which paths are compared and shown.
pub(crate) fn nfc(text: impl Into<String> + AsRef<str>) -> String {
    if text.as_ref().is_ascii() { text.into() } else { text.as_ref().nfc().collect() }
}

/// The forms under which a name may be stored on disk: as given, composed, decomposed.
pub(crate) fn unicode_forms(text: &str) -> Vec<String> {
    let mut all = vec![text.to_owned()];
    if !text.is_ascii() {
        for other in [text.nfc().collect::<String>(), text.nfd().collect()] {
            if !all.contains(&other) {
                all.push(other);
            }
        }
    }
    all
}

/// A relative path as it is shown: `/` between the components, NFC, `.` for an empty path.
pub(crate) fn shown(path: &Path) -> String {
    let parts: Vec<_> = path
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(nfc(name.to_string_lossy())),
            Component::ParentDir => Some("..".to_owned()),
            _ => None,
        })
        .collect();
    if parts.is_empty() { ".".to_owned() } else { parts.join("/") }
}

/// A text without the differences that some file systems ignore: case, compatible Unicode forms,
/// invisible characters. Two names that differ here are different names on every file system.
pub(crate) fn case_folded(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let seen = text.nfkd().filter(|c| !is_ignorable(*c));
    // `ß` has an upper-case form of two letters, so lower case alone does not fold it.
    seen.flat_map(char::to_uppercase).flat_map(char::to_lowercase).nfkd().collect()
}

/// Invisible characters: joiners, direction marks, variation selectors (Unicode
/// `Default_Ignorable_Code_Point`).
fn is_ignorable(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}
