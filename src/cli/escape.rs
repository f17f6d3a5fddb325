//! The one escape for text on a terminal. [`Terminal`](super::terminal::Terminal) and the live display
//! apply it to everything they write, so data of models, files and definitions cannot move the cursor,
//! hide or reorder text, or send commands to the terminal.

use kb_base::value::is_hidden;
use std::borrow::Cow;
use std::fmt::Write;

/// A text for a terminal. Line breaks, tabs and colours stay; other control characters become symbols,
/// such as `␛`, and invisible or bidirectional characters their number, such as `<U+202E>`.
pub(in crate::cli) fn escaped(text: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| (b' '..=b'~').contains(&byte) || byte == b'\n' || byte == b'\t';
    if text.bytes().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some(length) = colour(rest) {
            safe.push_str(&rest[..length]);
            rest = &rest[length..];
            continue;
        }
        let at = text.len() - rest.len();
        rest = &rest[c.len_utf8()..];
        match c {
            '\n' | '\t' => safe.push(c),
            '\r' if rest.starts_with('\n') => {}
            '\0'..='\x1f' => safe.push(char::from_u32(0x2400 + c as u32).unwrap_or(' ')),
            '\x7f' => safe.push('␡'),
            _ if is_hidden(text, at, c) => {
                // Writing to a `String` cannot fail.
                let _ = write!(safe, "<U+{:04X}>", c as u32);
            }
            _ => safe.push(c),
        }
    }
    Cow::Owned(safe)
}

/// JSON for a terminal: the same characters as `\u` escapes, so the text stays the same JSON.
pub(in crate::cli) fn escaped_json(text: &str) -> Cow<'_, str> {
    if !text.char_indices().any(|(at, c)| is_hidden(text, at, c)) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for (at, c) in text.char_indices() {
        if is_hidden(text, at, c) {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| {
                let _ = write!(safe, "\\u{unit:04x}");
            })
        } else {
            safe.push(c)
        }
    }
    Cow::Owned(safe)
}

/// The length of a colour or weight at the start of a text. Concealed text, backgrounds and black are
/// not accepted, because they can hide text.
fn colour(text: &str) -> Option<usize> {
    let body = text.strip_prefix("\x1b[")?;
    let end = body.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    let is_known = |number: &str| {
        matches!(number.parse(), Ok(0..=4 | 22..=24 | 31..=37 | 39 | 91..=97)) || number.is_empty()
    };
    let numbers = &body[..end];
    let palette =
        numbers.strip_prefix("38;5;").is_some_and(|number| matches!(number.parse(), Ok(1..=15)));
    let known = palette || numbers.split(';').all(is_known);
    (body[end..].starts_with('m') && known).then_some("\x1b[".len() + end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::terminal::{DIM, ERROR, GOOD, HINT, TITLE, WARNING, paint};

    #[test]
    fn control_and_invisible_characters_become_visible() {
        assert_eq!(escaped("a\x1b[2Jb\x07\r\nc\td\re"), "a␛[2Jb␇\nc\td␍e");
        assert_eq!(escaped("\x1b]0;title\x07\u{9b}2J\x7f"), "␛]0;title␇<U+009B>2J␡");
        assert_eq!(escaped("x\u{202e}y\u{200b}z\u{e0041}"), "x<U+202E>y<U+200B>z<U+E0041>");
        assert_eq!(escaped("\x1b[8mhidden\x1b[0m\x1b[40;30m"), "␛[8mhidden\x1b[0m␛[40;30m");
        assert_eq!(escaped("ad\u{200d}min"), "ad<U+200D>min");
    }

    #[test]
    fn text_of_all_scripts_and_own_styles_stay() {
        for text in ["Привет", "שלום", "می\u{200c}خواهم", "👩\u{200d}🔬 ❤\u{fe0f}", "日本", "é"]
        {
            assert_eq!(escaped(text), text);
        }
        for style in [ERROR, WARNING, GOOD, HINT, TITLE, DIM] {
            let painted = paint(style, "x");
            assert_eq!(escaped(&painted), painted);
        }
    }

    #[test]
    fn json_stays_the_same_value() {
        let text = "{\"a\":\"x\u{202e}y\u{9b}\u{e0041}\"}\n";
        let safe = escaped_json(text);
        assert!(safe.is_ascii(), "{safe}");
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(value(&safe), value(text));
    }
}
