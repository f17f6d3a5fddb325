//! The forms of paths: how they are compared, shown and looked up.

use kb_base::value::is_ignorable;
use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};
use unicode_normalization::UnicodeNormalization;

/// Text in NFC, the form in which paths are compared and shown.
pub(crate) fn nfc(text: impl Into<String> + AsRef<str>) -> String {
    if text.as_ref().is_ascii() { text.into() } else { text.as_ref().nfc().collect() }
}

/// The forms under which a path may be stored on disk: that of a [`Spelling`], as given, composed, decomposed.
pub(crate) fn stored_forms(text: &str) -> Vec<PathBuf> {
    let mut all = vec![unescaped(text)];
    for other in [text.to_owned(), text.nfc().collect(), text.nfd().collect()].map(PathBuf::from) {
        if !all.contains(&other) {
            all.push(other);
        }
    }
    all
}

/// `/workspace` is the project in many documents. Where a folder of that name exists, it is that folder.
const PROJECT: &str = "/workspace";

/// The rest of a path below `/workspace`.
pub(super) fn in_project(path: &Path) -> Option<String> {
    let rest = path.strip_prefix(PROJECT).ok().filter(|_| !Path::new(PROJECT).exists())?;
    let rest = rest.to_str()?;
    Some(if rest.is_empty() { ".".to_owned() } else { rest.to_owned() })
}

/// What stands for a byte, before two hexadecimal digits.
const ESCAPE: &str = "\\x";

/// How the names of the entries of a folder are written, so that no two are written the same: in NFC. Of a name that is not
/// UTF-8, and of one whose NFC form another entry has too, the bytes that are not ASCII are written as `\xHH`.
#[derive(Debug, Default)]
pub(super) struct Spelling {
    /// The number of entries of each form that is not ASCII.
    forms: HashMap<String, usize>,
}

impl Spelling {
    /// That of a folder with these entries.
    pub(super) fn of<'a>(names: impl Iterator<Item = &'a [u8]>) -> Spelling {
        let mut forms: HashMap<String, usize> = HashMap::new();
        let names = names.filter(|name| !name.is_ascii());
        for text in names.filter_map(|name| std::str::from_utf8(name).ok()) {
            *forms.entry(nfc(text)).or_default() += 1;
        }
        Spelling { forms }
    }

    /// A name as it is written.
    pub(super) fn written(&self, name: &[u8]) -> String {
        let text = std::str::from_utf8(name).ok();
        let is_alone = |form: &String| self.forms.get(form).is_none_or(|entries| *entries == 1);
        let plain = text.map(nfc).filter(|form| text == Some(form) || is_alone(form));
        match plain {
            Some(plain) if !plain.contains(ESCAPE) => plain,
            Some(plain) => plain.replace(ESCAPE, "\\x5cx"),
            None => name.iter().map(|byte| escaped(*byte)).collect(),
        }
    }
}

fn escaped(byte: u8) -> String {
    match byte {
        b'\\' | 0x80.. => format!("{ESCAPE}{byte:02x}"),
        other => char::from(other).to_string(),
    }
}

/// The path that is written so.
pub(super) fn unescaped(text: &str) -> PathBuf {
    let (mut bytes, mut left) = (Vec::new(), text);
    while let Some(at) = left.find(ESCAPE) {
        let (before, rest) = left.split_at(at);
        let byte = rest.get(2..4).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.extend_from_slice(before.as_bytes());
        match byte.filter(|byte| *byte >= 0x80 || *byte == b'\\') {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(rest.get(..4).unwrap_or(rest).as_bytes()),
        }
        left = rest.get(4..).unwrap_or_default();
    }
    bytes.extend_from_slice(left.as_bytes());
    PathBuf::from(OsString::from_vec(bytes))
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn no_two_names_of_a_folder_are_written_the_same() {
        let names: [&[u8]; 9] = [
            b"plain",
            "\u{fc}".as_bytes(),
            "u\u{308}".as_bytes(),
            "e\u{301}".as_bytes(),
            "\u{212b}".as_bytes(),
            "A\u{30a}".as_bytes(),
            b"z\xff",
            b"z\xfe",
            br"u\xcc\x88",
        ];
        let spelling = Spelling::of(names.into_iter());
        let written = names.map(|name| spelling.written(name));
        let expected = [
            "plain",
            "\u{fc}",
            r"u\xcc\x88",
            "\u{e9}",
            r"\xe2\x84\xab",
            r"A\xcc\x8a",
            r"z\xff",
            r"z\xfe",
            r"u\x5cxcc\x5cx88",
        ];
        assert_eq!(written, expected);
        assert_eq!(written.iter().collect::<BTreeSet<_>>().len(), names.len());
        for (name, written) in names.iter().zip(&written) {
            let found =
                stored_forms(written).iter().any(|form| form.as_os_str().as_bytes() == *name);
            assert!(found, "{written}");
        }
        assert_eq!(unescaped(r"a\x\x2f\xz"), Path::new(r"a\x\x2f\xz"));
    }
}
