//! Fifty secrets of awkward shapes, and how they are written.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use serde_json::json;
use std::collections::BTreeSet;

/// Where a secret comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    Env,
    File,
    Command,
}

#[derive(Debug, Clone)]
pub(super) struct Secret {
    pub(super) name: String,
    pub(super) value: String,
    pub(super) source: Source,
}

/// A small generator: the same seed gives the same secrets.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % below
    }

    fn text(&mut self, letters: &str, length: usize) -> String {
        let letters: Vec<char> = letters.chars().collect();
        (0..length).map(|_| letters[self.roll(letters.len())]).collect()
    }
}

const WORD: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

pub(super) fn fifty(seed: u64) -> Vec<Secret> {
    let mut dice = Dice(seed);
    let mut values: Vec<String> = Vec::new();
    // Tokens as services give them.
    for length in [16, 20, 24, 32, 36, 40, 48, 64, 88, 128] {
        values.push(dice.text(&format!("{WORD}-_"), length));
        values.push(dice.text(&format!("{WORD}+/="), length));
    }
    // Passwords with everything that means something somewhere.
    for letters in [
        ".*+?^${}()|[]\\-",
        "\"'`\\$!",
        "%20%2F+&=?#;:@ ",
        "<>&\"'/",
        "äöüßéñ日本語🔑",
        "\t \\n\\u00",
        "{{}}<<>>{%",
        "~!@#$^*()_",
    ] {
        for length in [14, 26] {
            values.push(format!(
                "{}{}z",
                dice.text(WORD, 3),
                dice.text(&format!("{letters}{WORD}"), length)
            ));
        }
    }
    let token = dice.text(WORD, 30);
    values.push(token[..14].to_owned());
    values.push(token);
    let lines: Vec<String> = (0..6).map(|_| dice.text(&format!("{WORD}+/"), 64)).collect();
    let key =
        |kind: &str| format!("-----BEGIN {kind}-----\n{}\n-----END {kind}-----", lines.join("\n"));
    values.push(key("PRIVATE KEY") + "\n");
    values.push(format!("{}\n\n", dice.text(WORD, 22)));
    values.push(
        json!({"type": "account", "key": dice.text(WORD, 20), "pem": "-----\nx\n"}).to_string(),
    );
    values.push(dice.text("123456789", 12));
    values.push(dice.text("0123456789abcdef", 40));
    values.push(format!("https://user:{}@host.example/path?q=1", dice.text(WORD, 12)));
    while values.len() < 50 {
        values.push(dice.text(&format!("{WORD}.:"), 28));
    }
    let source = |n: usize| match n % 10 {
        3 | 7 => Source::File,
        9 => Source::Command,
        _ => Source::Env,
    };
    let named = values.into_iter().enumerate();
    named.map(|(n, value)| Secret { name: format!("S{n:02}"), value, source: source(n) }).collect()
}

/// The eight ways in which programs write a value and more, each within something else.
pub(super) fn encodings(value: &str) -> Vec<String> {
    let mut all = vec![format!("<{value}>")];
    for before in ["", "u", "us", "use", "user:"] {
        let whole = format!("{before}{value}!");
        all.extend([&STANDARD, &URL_SAFE].map(|engine| engine.encode(&whole)));
        all.extend([&STANDARD_NO_PAD, &URL_SAFE_NO_PAD].map(|engine| engine.encode(&whole)));
    }
    all.extend(urls(value));
    let escaped = jsons(value);
    all.extend(escaped.iter().map(|text| format!("{{\"k\":\"{text}\"}}")));
    all.extend(escaped.iter().map(|text| format!("\"{}\"", json_inner(text))));
    all.push(value.bytes().map(|byte| format!("{byte:02x}")).collect());
    // Folded over lines, as many programs fold what is long.
    let base64 = STANDARD.encode(value);
    let fold = |width: usize| {
        let lines = base64.as_bytes().chunks(width);
        lines.map(|line| std::str::from_utf8(line).unwrap()).collect::<Vec<_>>().join("\n")
    };
    all.extend([fold(76), fold(20)]);
    all
}

fn urls(value: &str) -> [String; 3] {
    let keep =
        percent_encoding::NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    let keep = Box::leak(Box::new(keep));
    let upper = percent_encoding::utf8_percent_encode(value, keep).to_string();
    let mut lower = String::new();
    let mut rest = upper.as_str();
    while let Some(at) = rest.find('%') {
        lower.push_str(&rest[..at]);
        lower.push_str(&rest[at..at + 3].to_lowercase());
        rest = &rest[at + 3..];
    }
    lower.push_str(rest);
    [upper.replace("%20", "+"), lower, upper]
}

fn json_inner(text: &str) -> String {
    let quoted = json!(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

fn jsons(value: &str) -> [String; 3] {
    let numbers: String = value.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
    let ascii: String = json_inner(value).chars().fold(String::new(), |text, letter| {
        let unit = |unit: &u16| format!("\\u{unit:04x}");
        text + &if letter.is_ascii() {
            letter.to_string()
        } else {
            letter.encode_utf16(&mut [0; 2]).iter().map(unit).collect()
        }
    });
    [json_inner(value), ascii, numbers]
}

/// What may be found nowhere: the value as it is, its lines, its halves, and what all of the ways to
/// write it have in common, wherever in something else they stand.
pub(super) fn forbidden(secrets: &[Secret]) -> Vec<Vec<u8>> {
    let mut texts = BTreeSet::new();
    for secret in secrets {
        let value = secret.value.trim();
        let lines = value.lines().filter(|line| line.len() >= 8 && !line.starts_with("-----"));
        for part in lines.chain([value]) {
            texts.insert(part.to_owned());
            texts.extend(urls(part));
            texts.extend(jsons(part));
            texts.extend(jsons(part).map(|text| json_inner(&text)));
            texts.insert(part.bytes().map(|byte| format!("{byte:02x}")).collect());
            for shift in 0..3 {
                let bytes = [vec![0; shift], part.as_bytes().to_vec()].concat();
                let middle = |text: String| text[[0, 2, 3][shift]..text.len() - 1].to_owned();
                texts.insert(middle(STANDARD_NO_PAD.encode(&bytes)));
                texts.insert(middle(URL_SAFE_NO_PAD.encode(&bytes)));
            }
        }
        // A piece of a token that was cut somewhere.
        if value.len() >= 32
            && value.chars().all(|c| c.is_ascii_alphanumeric() || "+/=-_".contains(c))
        {
            let half = value.len() / 2;
            texts.extend([value[..half].to_owned(), value[half..].to_owned()]);
        }
    }
    texts.into_iter().map(String::into_bytes).collect()
}
