//! Encodings of a whole secret: Base64, hexadecimal, parts of it.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use std::collections::BTreeSet;
use std::fmt::Write;
use unicode_normalization::UnicodeNormalization;

/// The minimum length of a line of a secret that is masked alone, in characters.
const SHORTEST_LINE: usize = 8;
/// The minimum length of a text in a JSON secret that is masked alone, in characters.
const SHORTEST_LEAF: usize = 12;
/// The minimum length of a fragment of Base64 that is masked, in characters.
const SHORTEST_FRAGMENT: usize = 4;

/// One row of a table in `docs/security.md`: a part or an encoding of a secret.
#[cfg_attr(not(test), expect(dead_code, reason = "names are for readers and for the manual"))]
pub(super) struct Encoding {
    pub(super) name: &'static str,
    /// Programs that produce it.
    pub(super) by: &'static str,
    write: fn(&str) -> Vec<String>,
}

/// The parts of a secret that are masked.
#[rustfmt::skip]
pub(super) const PARTS: &[Encoding] = &[
    Encoding { name: "the whole value", by: "a file or pipe with the value", write: |value| vec![value.to_owned()] },
    Encoding { name: "without surrounding white space", by: "`$(cat FILE)`, programs that trim", write: |value| vec![value.trim().to_owned()] },
    Encoding { name: "without a byte order mark", by: "readers of `utf-8-sig`", write: |value| other_than(value, value.trim().trim_start_matches('\u{feff}').trim().to_owned()) },
    Encoding { name: "in composed letters (NFC)", by: "browsers, `unicodedata.normalize`", write: |value| other_than(value, value.trim().nfc().collect()) },
    Encoding { name: "in decomposed letters (NFD)", by: "names of files on macOS", write: |value| other_than(value, value.trim().nfd().collect()) },
    Encoding { name: "each line", by: "`grep`, `tail`, logs", write: lines },
    Encoding { name: "each string in JSON", by: "`jq`, JSON parsers", write: leaves },
];

/// The encodings of a part as a whole. Encodings of single characters are in [`ESCAPES`].
///
/// [`ESCAPES`]: super::escapes::ESCAPES
#[rustfmt::skip]
pub(super) const ENCODINGS: &[Encoding] = &[
    Encoding { name: "unchanged", by: "any program", write: |part| vec![part.to_owned()] },
    Encoding { name: "hex", by: "`xxd -p`, Python's `hex()`", write: |part| vec![hex(part)] },
    Encoding { name: "upper-case hex", by: "`xxd -p -u`, .NET's `ToHexString`", write: |part| vec![hex(part).to_ascii_uppercase()] },
    Encoding { name: "base64", by: "`base64`, `curl -u`, `kubectl`", write: base64 },
    Encoding { name: "base64 for URLs", by: "JSON web tokens, `basenc --base64url`", write: base64_for_urls },
    Encoding { name: "base64 of base64", by: "registry credentials in Kubernetes", write: base64_of_base64 },
    Encoding { name: "base64 of JSON", by: "JSON web tokens, Kubernetes secrets", write: |part| base64_of_json(part, |_| false) },
    Encoding { name: "base64 of JSON in ASCII", by: "Python's `b64encode` of `json.dumps`", write: |part| base64_of_json(part, |letter| !letter.is_ascii()) },
];

/// A secret as programs write it: every part in every encoding.
pub(super) fn encodings(value: &str) -> BTreeSet<String> {
    written(value, &all(PARTS), &all(ENCODINGS))
}

pub(super) fn all(table: &'static [Encoding]) -> Vec<&'static Encoding> {
    table.iter().collect()
}

/// [`encodings`] with some of the rows only.
pub(super) fn written(
    value: &str,
    parts: &[&Encoding],
    encodings: &[&Encoding],
) -> BTreeSet<String> {
    let parts: BTreeSet<String> = parts.iter().flat_map(|part| (part.write)(value)).collect();
    let texts = parts.iter().flat_map(|part| encodings.iter().flat_map(|way| (way.write)(part)));
    texts.collect()
}

/// The minimum length of a token of which excerpts are masked, in characters.
const SHORTEST_TOKEN: usize = 32;

/// The encodings of which excerpts are masked, because programs wrap them: base64 and hex of the
/// whole value, and lines without white space and punctuation.
pub(super) fn long_encodings(value: &str) -> BTreeSet<String> {
    let is_token = |line: &String| {
        let letters = |c: char| c.is_ascii_alphanumeric() || "+/=-_.".contains(c);
        line.len() >= SHORTEST_TOKEN && line.chars().all(letters)
    };
    let tokens = lines(value).into_iter().chain([value.trim().to_owned()]).filter(is_token);
    let hex = hex(value);
    let ways = [vec![hex.to_ascii_uppercase(), hex], base64(value), base64_for_urls(value)];
    tokens.chain(ways.into_iter().flatten()).collect()
}

/// Another form of a value; none if it is the trimmed value, which has a row of its own.
fn other_than(value: &str, form: String) -> Vec<String> {
    if form == value.trim() { Vec::new() } else { vec![form] }
}

fn lines(value: &str) -> Vec<String> {
    let value = value.trim();
    let lines = value.split(['\n', '\r']).map(str::trim);
    // `-----BEGIN PRIVATE KEY-----` is not secret.
    let is_frame = |line: &str| line.starts_with("-----") && line.ends_with("-----");
    let long = |line: &&str| line.chars().count() >= SHORTEST_LINE && !is_frame(line);
    lines.filter(|line| line.len() < value.len()).filter(long).map(str::to_owned).collect()
}

/// The long texts in a secret that is JSON, such as the key file of a service account, and their
/// parts.
fn leaves(value: &str) -> Vec<String> {
    let mut found = Vec::new();
    if value.trim_start().starts_with(['{', '[']) {
        collect_leaves(&serde_json::from_str(value).unwrap_or_default(), &mut found);
    }
    found
}

fn collect_leaves(value: &serde_json::Value, found: &mut Vec<String>) {
    match value {
        serde_json::Value::String(text) if text.chars().count() >= SHORTEST_LEAF => {
            found.extend(PARTS.iter().flat_map(|part| (part.write)(text)));
        }
        serde_json::Value::Array(items) => {
            items.iter().for_each(|item| collect_leaves(item, found));
        }
        serde_json::Value::Object(map) => {
            map.values().for_each(|item| collect_leaves(item, found));
        }
        _ => {}
    }
}

fn hex(value: &str) -> String {
    value.bytes().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn base64(value: &str) -> Vec<String> {
    fragments(&STANDARD_NO_PAD, value)
}

fn base64_for_urls(value: &str) -> Vec<String> {
    fragments(&URL_SAFE_NO_PAD, value)
}

/// Base64 of Base64, in the standard alphabet only: the inner text contains no character that the two
/// alphabets encode differently.
fn base64_of_base64(value: &str) -> Vec<String> {
    let inner = [base64(value), base64_for_urls(value)].concat();
    inner.iter().flat_map(|text| base64(text)).collect()
}

/// The Base64 characters that depend on the value alone, at each of the three alignments that the
/// value can have in a longer text.
fn fragments(engine: &impl Engine, value: &str) -> Vec<String> {
    let fragment = |shift| {
        let bytes = [&[0; 2][..shift], value.as_bytes()].concat();
        let text = engine.encode(&bytes);
        let start = [0, 2, 3][shift];
        let end = text.len() - usize::from(!bytes.len().is_multiple_of(3));
        let fragment = text.get(start..end)?;
        (fragment.len() >= SHORTEST_FRAGMENT).then(|| fragment.to_owned())
    };
    (0..3).filter_map(fragment).collect()
}

fn base64_of_json(value: &str, as_number: fn(char) -> bool) -> Vec<String> {
    let json = json(value, as_number);
    [base64(&json), base64_for_urls(&json)].concat()
}

/// The JSON text of a value without its quotes, with some characters as `\u` escapes.
fn json(value: &str, as_number: fn(char) -> bool) -> String {
    value.chars().fold(String::new(), |mut text, letter| {
        if as_number(letter) {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                let _ = write!(text, "\\u{unit:04x}");
            }
        } else {
            let quoted = serde_json::Value::from(letter.to_string()).to_string();
            text.push_str(&quoted[1..quoted.len() - 1]);
        }
        text
    })
}
