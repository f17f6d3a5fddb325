use std::path::{Component, Path};
use unicode_normalization::UnicodeNormalization;

/// Text in the form in which paths are compared and shown.
pub(super) fn nfc(text: &str) -> String {
    if text.is_ascii() { text.to_owned() } else { text.nfc().collect() }
}

/// The spellings under which a name may stand on disk: as given, composed, decomposed.
pub(super) fn spellings(text: &str) -> Vec<String> {
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
pub(super) fn shown(path: &Path) -> String {
    let parts: Vec<_> = path
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(nfc(&name.to_string_lossy())),
            Component::ParentDir => Some("..".to_owned()),
            _ => None,
        })
        .collect();
    if parts.is_empty() { ".".to_owned() } else { parts.join("/") }
}
