use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};
use std::collections::BTreeSet;
use std::fmt::Write;

/// What RFC 3986 leaves unescaped.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// What forms leave unescaped, besides the space that they write as `+`.
const FORM: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'*');
/// What `encodeURIComponent` leaves unescaped.
const COMPONENT: &AsciiSet =
    &RESERVED.remove(b'!').remove(b'\'').remove(b'(').remove(b')').remove(b'*');
/// The same where slashes stay, as in a path.
const PATH: &AsciiSet = &RESERVED.remove(b'/');
/// What a query is given by those who escape no more than they must.
const QUERY: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'<').add(b'>').add(b'\'');

/// Lines of a secret from this many characters on are masked alone; a shorter one says too little.
const SHORTEST_LINE: usize = 8;
/// Texts within a secret that is JSON are masked alone from this many characters on.
const SHORTEST_LEAF: usize = 12;
/// Fragments of encodings from this many characters on.
const SHORTEST_FRAGMENT: usize = 5;

/// How programs write a value: as it is, in base64, hex, JSON, URLs, shells and markup, and those
/// that are found inside each other; whole, and line by line.
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
    // Whoever parses it hands out its parts.
    if trimmed.starts_with(['{', '[']) {
        leaves(&serde_json::from_str(trimmed).unwrap_or_default(), &mut found);
    }
    found
}

/// The long texts within a secret that is JSON, such as the key of a service's account.
fn leaves(value: &serde_json::Value, found: &mut BTreeSet<String>) {
    match value {
        serde_json::Value::String(text) if text.chars().count() >= SHORTEST_LEAF => {
            found.extend(spellings(text));
        }
        serde_json::Value::Array(items) => items.iter().for_each(|item| leaves(item, found)),
        serde_json::Value::Object(map) => map.values().for_each(|item| leaves(item, found)),
        _ => {}
    }
}

/// `-----BEGIN PRIVATE KEY-----` is no secret.
fn is_frame(line: &str) -> bool {
    line.starts_with("-----") && line.ends_with("-----")
}

fn spell(value: &str, found: &mut BTreeSet<String>) {
    found.insert(value.to_owned());
    found.extend(hex(value));
    found.extend(in_urls(value));
    found.extend(in_markup(value));
    found.extend(in_shells(value));
    let escaped = in_json(value);
    // JSON within the text of JSON.
    found.extend(escaped.iter().map(|text| json_escaped(text)));
    found.extend(escaped);
    let json = json_escaped(value);
    if json != value {
        found.extend(in_base64(&json));
    }
    for text in in_base64(value) {
        // In URLs and in JSON, and once more in base64, as in the settings of registries.
        if text.contains(['+', '/']) {
            found.extend([RESERVED, PATH].map(|kept| utf8_percent_encode(&text, kept).to_string()));
            found.insert(lower_escapes(&utf8_percent_encode(&text, RESERVED).to_string()));
            found.insert(text.replace('/', "\\/"));
        }
        found.extend(in_base64(&text));
        found.insert(text);
    }
}

/// The two alphabets at the three alignments.
fn in_base64(value: &str) -> BTreeSet<String> {
    let at = |shift| {
        let standard = base64_fragment(&STANDARD_NO_PAD, value, shift);
        standard.into_iter().chain(base64_fragment(&URL_SAFE_NO_PAD, value, shift))
    };
    (0..3).flat_map(at).collect()
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

fn hex(value: &str) -> [String; 2] {
    let lower = each_byte(value, |text, byte| write!(text, "{byte:02x}"));
    [lower.to_ascii_uppercase(), lower]
}

fn each_byte(value: &str, spell: impl Fn(&mut String, u8) -> std::fmt::Result) -> String {
    value.bytes().fold(String::new(), |mut text, byte| {
        let _ = spell(&mut text, byte);
        text
    })
}

fn in_urls(value: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for kept in [RESERVED, FORM, COMPONENT, PATH, QUERY] {
        let escaped = utf8_percent_encode(value, kept).to_string();
        found.extend([escaped.replace("%20", "+"), escaped]);
    }
    found.insert(each_byte(value, |text, byte| write!(text, "%{byte:02X}")));
    let lower: Vec<String> = found.iter().map(|text| lower_escapes(text)).collect();
    found.extend(lower);
    found
}

/// Percent escapes with lower-case digits. A percent sign of the value's own stays as it is.
fn lower_escapes(escaped: &str) -> String {
    let mut text = String::with_capacity(escaped.len());
    let mut rest = escaped;
    while let Some((before, after)) = rest.split_once('%') {
        text.push_str(before);
        text.push('%');
        let digits = after.get(..2).unwrap_or_default();
        text.push_str(&digits.to_ascii_lowercase());
        rest = &after[digits.len()..];
    }
    text + rest
}

/// JSON as writers make it: with the escapes that it must have, in ASCII alone, with quotes, markup
/// or control characters as numbers, with slashes escaped, and with nothing but numbers.
fn in_json(value: &str) -> BTreeSet<String> {
    let plain = json_escaped(value);
    let numbers = |which: fn(char) -> bool| {
        value.chars().fold(String::new(), |mut text, letter| {
            if which(letter) {
                push_number(&mut text, letter);
            } else {
                text.push_str(&json_escaped(letter.encode_utf8(&mut [0; 4])));
            }
            text
        })
    };
    let mut found = BTreeSet::from([
        numbers(|letter| !letter.is_ascii()),
        numbers(|letter| matches!(letter, '<' | '>' | '&')),
        numbers(|letter| matches!(letter, '<' | '>' | '&' | '\'')),
        numbers(|letter| !letter.is_ascii() || letter.is_control()),
        numbers(|letter| letter.is_control() || letter == '"'),
        numbers(|letter| !letter.is_ascii() || "<>&'\"+`\u{7f}".contains(letter)),
        numbers(|_| true),
    ]);
    let upper: Vec<String> = found.iter().map(|text| upper_numbers(text)).collect();
    found.extend(upper);
    found.extend([plain.replace('/', "\\/"), plain]);
    found
}

fn json_escaped(value: &str) -> String {
    let quoted = serde_json::Value::from(value).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

fn push_number(text: &mut String, letter: char) {
    for unit in letter.encode_utf16(&mut [0; 2]) {
        let _ = write!(text, "\\u{unit:04x}");
    }
}

/// `\u00e9` with upper-case digits.
fn upper_numbers(text: &str) -> String {
    let mut parts = text.split("\\u");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |mut whole, part| {
        let digits = part.len().min(4);
        whole.push_str("\\u");
        match part.get(..digits) {
            Some(number) => {
                whole.push_str(&number.to_ascii_uppercase());
                whole.push_str(&part[digits..]);
            }
            None => whole.push_str(part),
        }
        whole
    })
}

/// Quoted for a shell, as `set -x` and `printf %q` write it, and as most languages print a text.
fn in_shells(value: &str) -> [String; 3] {
    let backslashes = |special: &dyn Fn(char) -> bool| {
        value.chars().fold(String::new(), |mut text, letter| {
            if special(letter) {
                text.push('\\');
            }
            text.push(letter);
            text
        })
    };
    let plain = |letter: char| letter.is_alphanumeric() || "-_./:=@%+,".contains(letter);
    [
        value.replace('\'', "'\\''"),
        backslashes(&|letter| letter.is_ascii() && !plain(letter)),
        json_escaped(value).replace("\\\"", "\"").replace('\'', "\\'"),
    ]
}

/// HTML and XML, with the four ways of writing quotes.
fn in_markup(value: &str) -> BTreeSet<String> {
    let plain = value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let mut found = BTreeSet::from([plain.clone()]);
    for (double, single) in
        [("&quot;", "&#39;"), ("&quot;", "&#x27;"), ("&quot;", "&apos;"), ("&#34;", "&#39;")]
    {
        let quoted = plain.replace('"', double);
        found.extend([quoted.replace('\'', single), quoted]);
    }
    found
}
