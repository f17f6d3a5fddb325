//! Tests of the tables: for each row at least one secret and a text in which only this row finds it.

use super::encodings::{ENCODINGS, Encoding, PARTS, written};
use super::escapes::{ESCAPES, Escape};
use super::index::Index;
use super::redactor::Redactor;
use serde_json::json;
use std::ops::ControlFlow;

/// A row, a secret, and an encoded form of the secret.
#[rustfmt::skip]
const CASES: &[(&str, &str, &str)] = &[
    ("the whole value", "tok-9f3a77b\n", "dG9rLTlmM2E3N2IK"),
    ("without surrounding white space", " tok-9f3a77b\n", "tok-9f3a77b"),
    ("without a byte order mark", "\u{feff}tok-9f3a77b", "tok-9f3a77b"),
    ("in composed letters (NFC)", "pa\u{308}sswort-12", "p\u{e4}sswort-12"),
    ("in decomposed letters (NFD)", "p\u{e4}sswort-12", "pa\u{308}sswort-12"),
    ("each line", "first-line-1a\nsecond-line-2b", "second-line-2b"),
    ("each line", "first-line-1a\r\nsecond-line-2b", "first-line-1a"),
    ("each line", "first-line-1a\rsecond-line-2b", "second-line-2b"),
    ("each string in JSON", r#"{"type": "key", "keys": [{"k": "3f9a-55d0-77aa"}]}"#, "3f9a-55d0-77aa"),
    ("each string in JSON", r#"["first-line-1a\nsecond-line-2b"]"#, "second-line-2b"),

    ("unchanged", "correct-horse", "correct-horse"),
    ("hex", "correct-horse", "636f72726563742d686f727365"),
    ("upper-case hex", "correct-horse", "636F72726563742D686F727365"),
    ("base64", "a\"?b>?c>?d>?", "YSI/Yj4/Yz4/ZD4/"),
    ("base64", "a\"?b>?c>?d>?", "YSI%2fYj4%2FYz4/ZD4%2f"),
    ("base64", "a\"?b>?c>?d>?", r"YSI\/Yj4\/Yz4\/ZD4\/"),
    ("base64", "a\"?b>?c>?d>?", "YSI/Yj4/\n  Yz4/ZD4/"),
    ("base64 for URLs", "a\"?b>?c>?d>?", "YSI_Yj4_Yz4_ZD4_"),
    ("base64 of base64", "correct-horse-batt", "WTI5eWNtVmpkQzFvYjNKelpTMWlZWFIw"),
    ("base64 of base64", "a\"?b>?c>?d>?e>?f>?", "WVNJL1lqNC9ZejQvWkQ0L1pUNC9aajQv"),
    ("base64 of base64", "a\"?b>?c>?d>?e>?f>?", "WVNJX1lqNF9ZejRfWkQ0X1pUNF9aajRf"),
    ("base64 of JSON", "é\"-pass-12", "w6lcIi1wYXNzLTEy"),
    ("base64 of JSON", "é\"?>?>1", "w6lcIj8-Pz4x"),
    ("base64 of JSON in ASCII", "é\"1234", "XHUwMGU5XCIxMjM0"),

    ("`%C3%A9`", "it's/é 100%", "it%27s%2F%C3%A9%20100%25"),
    ("`%C3%A9`", "it's/é 100%", "it's%2f%c3%a9%20100%25"),
    ("`%C3%A9`", "it's/é 100%", "it's/%C3%a9%20100%"),
    ("`%C3%A9`", "hunter", "%68%75%6E%74%65%72"),
    ("`+` for a space", "correct horse+1", "correct+horse%2B1"),
    ("`\\n`", "top\tsecret\nhere\r\u{8}\u{c}", r"top\tsecret\nhere\r\b\f"),
    ("`\\n`", "top\tsecret\nhere", r"top\\tsecret\\nhere"),
    ("`\\n`", "top\u{7}secret\u{b}\u{1b}", r"top\asecret\v\E"),
    ("`\\\"`, `\\/`, `\\ `", "it's \"a/b,c", r#"it's \"a\/b,c"#),
    ("`\\\"`, `\\/`, `\\ `", "it's \"a/b,c", r#"it\'s\ \"a/b\,c"#),
    ("`\\\"`, `\\/`, `\\ `", "it's \"a/b,c", r#"it's \\\"a/b,c"#),
    ("`\\\"`, `\\/`, `\\ `", "é/\"🔑", r#"\u00e9\/\"\ud83d\udd11"#),
    ("`\\\\`", "dir\\file-1\\", r"dir\\file-1\\"),
    ("`\\\\\\\\`", "dir\\file-1\\", r"dir\\\\file-1\\\\"),
    ("`\\\\\\\\\\\\\\\\`", "dir\\file-1\\", r"dir\\\\\\\\file-1\\\\\\\\"),
    ("`\\u00e9`", "é/\"🔑", r#"\u00e9\/\"\ud83d\udd11"#),
    ("`\\u00e9`", "é/\"🔑", r#"\u00E9/\"\uD83d\uDd11"#),
    ("`\\u00e9`", "é/\"🔑", r#"\\u00e9\\/\\\"\\ud83d\\udd11"#),
    ("`\\u00e9`", "a<b>&c'", r"a\u003cb\u003e\u0026c\u0027"),
    ("`\\u00e9`", "hunter", r"\u0068\u0075\u006e\u0074\u0065\u0072"),
    ("`\\xe9`", "é-'🔑word", r"\xe9-\'\U0001f511word"),
    ("`\\U0001f511`", "é-'🔑word", r"\xe9-\'\U0001f511word"),
    ("`\\xc3\\xa9`", "é-'🔑word", r"\xc3\xa9-\'\xf0\x9f\x94\x91word"),
    ("`\\303\\251`", "é-🔑word", r"\303\251-\360\237\224\221word"),
    ("`'\\''`", "it's-1234", r"it'\''s-1234"),
    ("`'\"'\"'`", "it's-1234", r#"it'"'"'s-1234"#),
    ("`&lt;`", "<a>&\"b'", "&lt;a&gt;&amp;&quot;b&apos;"),
    ("`&#39;`", "<a>&\"b'", "&lt;a&gt;&amp;&#34;b&#39;"),
    ("`&#x27;`", "<a>&\"b'é", "&lt;a&gt;&amp;&quot;b&#x27;&#xE9;"),
    ("wrapped over lines", "correct-horse-battery", "correct-\nhorse-\r\n    bat\n\ttery"),
    ("wrapped over lines at a space", "Server=db; Password=hunter2", "Server=db;\n  Password=hunter2"),
    ("wrapped over lines in double quotes", "Server=db; Password=hunter2", "Server=db;\\\n    \\ Password=hunter2"),
    ("wrapped over lines in JSON", "correct-horse-battery", r"correct-\nhorse-\r\n    bat\\ntery"),
    ("separate lines, indented or with `\\r\\n`", "one-1a\ntwo-2b\n3", "one-1a\r\n  two-2b\n3"),
    ("separate lines, indented or with `\\r\\n`, in JSON", "one-1a\ntwo-2b\n3", r"one-1a\r\ntwo-2b\n  3"),
];

/// Whether the whole text is one match, without the row of that name.
fn is_found(secret: &str, text: &str, without: Option<&str>) -> bool {
    let others = |row: &&'static Encoding| Some(row.name) != without;
    let (parts, encodings): (Vec<_>, Vec<_>) =
        (PARTS.iter().filter(others).collect(), ENCODINGS.iter().filter(others).collect());
    let encodings = written(secret, &parts, &encodings);
    let escapes = ESCAPES.iter().filter(|row: &&'static Escape| Some(row.name) != without);
    let index = Index::of(encodings.iter().map(String::as_str), escapes);
    let mut end = 0;
    index.each(text.as_bytes(), true, |_, started| {
        end = started.whole.map_or(0, |(end, _)| end);
        ControlFlow::Break(())
    });
    end == text.len()
}

#[test]
fn each_row_finds_what_no_other_row_does() {
    for (row, secret, text) in CASES {
        assert!(is_found(secret, text, None), "{row}: {secret:?} in {text}");
        assert!(!is_found(secret, text, Some(row)), "needs no {row}: {secret:?} in {text}");
    }
}

/// What masking would replace is not accepted, in whatever form.
#[test]
fn what_is_masked_is_not_accepted() {
    for (row, secret, text) in CASES {
        let redactor = Redactor::default();
        if !redactor.add("S", secret) {
            continue;
        }
        let is_long = text.chars().count() >= 12;
        let is_masked = redactor.mask_text(text) != *text;
        assert_eq!(redactor.written_in(text).is_some(), is_masked && is_long, "{row}: {text}");
        assert_eq!(redactor.accept(json!({"x": text})).is_err(), is_masked && is_long, "{row}");
    }
}

/// The name and the programs of each row.
fn rows() -> impl Iterator<Item = (&'static str, &'static str)> {
    let encodings = PARTS.iter().chain(ENCODINGS).map(|row| (row.name, row.by));
    encodings.chain(ESCAPES.iter().map(|row| (row.name, row.by)))
}

#[test]
fn each_row_has_a_case_and_each_case_a_row() {
    let with_case = |name: &str| CASES.iter().any(|(row, ..)| *row == name);
    let without: Vec<_> = rows().filter(|(name, _)| !with_case(name)).collect();
    assert_eq!(without, []);
    let is_row = |name: &str| rows().any(|(row, _)| row == name);
    assert!(CASES.iter().all(|(row, ..)| is_row(row)), "a case of no row");
}

#[test]
fn control_characters_in_a_value_do_not_hide_it() {
    let redactor = Redactor::default();
    redactor.add("TOK", "hunter2-SECRET");
    for text in [
        "hunter2\0-SECRET",
        "hunter2\u{7f}-SECRET",
        "h\0u\0n\0t\0e\0r\x002\0-\0S\0E\0C\0R\0E\0T\0",
        "\u{1b}[1mhunter2\u{1b}[0m-SECRET",
    ] {
        let masked = redactor.mask_text(text);
        assert!(masked.contains("«secret:TOK»") && !masked.contains("SECRET\0"), "{masked:?}");
    }
}

#[test]
fn each_row_is_in_the_manual_and_no_other() {
    let manual = include_str!("../../../../docs/reference/settings.md");
    let section =
        manual.split("\n## ").find(|section| section.starts_with("Forms of secrets\n")).unwrap();
    let told: Vec<&str> = section.lines().filter(|line| line.starts_with("| ")).collect();
    let told: Vec<&str> =
        told.into_iter().filter(|line| !line.ends_with("| written by |")).collect();
    let rows: Vec<String> = rows().map(|(name, by)| format!("| {name} | {by} |")).collect();
    assert_eq!(told, rows);
}
