use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::collections::BTreeSet;
use std::fmt::Write;

/// What RFC 3986 leaves unescaped.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Lines of a secret from this many characters on are masked alone; a shorter one says too little.
const SHORTEST_LINE: usize = 8;
/// Fragments of encodings from this many characters on.
const SHORTEST_FRAGMENT: usize = 5;

/// How programs write a value: as it is, in base64, hex, JSON and URLs; whole, and line by line.
pub(super) fn spellings(value: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let trimmed = value.trim();
    spell(value, &mut found);
    spell(trimmed, &mut found);
    if trimmed.contains(['\n', '\r']) {
        trimmed
            .split(['\n', '\r'])
            .map(str::trim)
            .filter(|line| line.chars().count() >= SHORTEST_LINE && !is_frame(line))
            .for_each(|line| spell(line, &mut found));
    }
    found
}

/// `-----BEGIN PRIVATE KEY-----` is no secret.
fn is_frame(line: &str) -> bool {
    line.starts_with("-----") && line.ends_with("-----")
}

fn spell(value: &str, found: &mut BTreeSet<String>) {
    found.insert(value.to_owned());
    for shift in 0..3 {
        found.extend(base64_fragment(&STANDARD_NO_PAD, value, shift));
        found.extend(base64_fragment(&URL_SAFE_NO_PAD, value, shift));
    }
    let hex = value.bytes().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    });
    found.extend([hex.to_ascii_uppercase(), hex]);
    let escaped = utf8_percent_encode(value, RESERVED).to_string();
    found.extend([escaped.replace("%20", "+"), lower_escapes(&escaped), escaped]);
    found.extend([json_escaped(value), json_ascii(value)]);
}

/// What the value's bytes become in the base64 text of something that holds it, `shift` bytes after
/// a multiple of three: the characters that depend on the value alone.
fn base64_fragment(engine: &impl Engine, value: &str, shift: usize) -> Option<String> {
    let mut bytes = vec![0; shift];
    bytes.extend_from_slice(value.as_bytes());
    let text = engine.encode(&bytes);
    let start = [0, 2, 3][shift];
    let end = text.len() - usize::from(!bytes.len().is_multiple_of(3));
    let fragment = text.get(start..end)?;
    (fragment.len() >= SHORTEST_FRAGMENT).then(|| fragment.to_owned())
}

/// Percent escapes with lower-case digits.
fn lower_escapes(escaped: &str) -> String {
    let mut parts = escaped.split('%');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (digits, rest) = part.split_at(2);
        text.push('%');
        text.push_str(&digits.to_ascii_lowercase());
        text.push_str(rest);
    }
    text
}

fn json_escaped(value: &str) -> String {
    let quoted = serde_json::Value::from(value).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// JSON as writers make it that keep to ASCII.
fn json_ascii(value: &str) -> String {
    let mut units = [0; 2];
    json_escaped(value).chars().fold(String::new(), |mut text, letter| {
        if letter.is_ascii() {
            text.push(letter);
        } else {
            for unit in letter.encode_utf16(&mut units) {
                let _ = write!(text, "\\u{unit:04x}");
            }
        }
        text
    })
}
