use std::path::{Component, Path};
use unicode_normalization::UnicodeNormalization;

/// Text in the form in which paths are compared and shown.
pub(crate) fn nfc(text: impl Into<String> + AsRef<str>) -> String {
    if text.as_ref().is_ascii() { text.into() } else { text.as_ref().nfc().collect() }
}

/// The unicode_forms under which a name may stand on disk: as given, composed, decomposed.
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

/// A relative path as it is shown: `/` between the parts, NFC, `.` for nothing.
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

/// A text without what file systems may not tell apart: case, composed and compatible forms,
/// characters that are not seen. Two names that differ here are different names everywhere.
pub(crate) fn case_folded(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let seen = text.nfkd().filter(|c| !is_ignorable(*c));
    // What has a capital form of two letters, `ß`, is lost in the upper case and not in the lower.
    seen.flat_map(char::to_uppercase).flat_map(char::to_lowercase).nfkd().collect()
}

/// Characters that leave no trace: joiners, marks of direction, selectors of a variant
/// (Default_Ignorable_Code_Point of Unicode).
fn is_ignorable(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}
