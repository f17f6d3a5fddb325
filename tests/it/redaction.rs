//! Masking: whatever the spelling, however it is cut, no value gets through.

use crate::processor_time::of_thread;
use crate::running::Start;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use kb::redaction::Redactor;
use proptest::prelude::*;
use serde_json::json;
use std::sync::Arc;

const TOKEN: &str = "gh?p_5ecr+t/Välue";

fn redactor(secrets: &[(&str, &str)]) -> Arc<Redactor> {
    let redactor = Redactor::default();
    secrets.iter().for_each(|(name, value)| assert!(redactor.add(name, value)));
    Arc::new(redactor)
}

fn check(text: &str, expected: &str) {
    assert_eq!(redactor(&[("TOKEN", TOKEN)]).mask_text(text), expected);
}

#[test]
fn every_spelling_of_a_value_is_masked() {
    check("nothing here", "nothing here");
    check(&format!("a {TOKEN} b {TOKEN}"), "a «secret:TOKEN» b «secret:TOKEN»");
    check("url?t=gh%3Fp_5ecr%2Bt%2FV%C3%A4lue&x", "url?t=«secret:TOKEN»&x");
    check("gh%3fp_5ecr%2bt%2fV%c3%a4lue", "«secret:TOKEN»");
    check(r"gh?p_5ecr+t/V\u00e4lue", "«secret:TOKEN»");
    let hex: String = TOKEN.bytes().map(|byte| format!("{byte:02x}")).collect();
    check(&hex, "«secret:TOKEN»");
    check(&hex.to_uppercase(), "«secret:TOKEN»");
}

#[test]
fn base64_is_masked_at_every_alignment() {
    for before in ["", "u", "us", "use", "user:"] {
        for after in ["", "!", "!!", ":rest"] {
            for engine in [STANDARD, URL_SAFE] {
                let text = engine.encode(format!("{before}{TOKEN}{after}"));
                let masked = redactor(&[("TOKEN", TOKEN)]).mask_text(&text).into_owned();
                assert!(masked.contains("«secret:TOKEN»"), "{before}|{after}: {masked}");
                let left = masked.replace("«secret:TOKEN»", "").len();
                let own = (before.len() + after.len()) * 4 / 3 + 8;
                assert!(left <= own, "{before}|{after}: {masked}");
            }
        }
    }
}

/// `jq -r .private_key` prints one string of a secret that is JSON.
#[test]
fn each_string_of_a_secret_that_is_json_is_masked() {
    let file = json!({"type": "service", "private_key": "MIIEvQIBADANBg", "id": "short"});
    let redactor = redactor(&[("FILE", &file.to_string())]);
    assert_eq!(redactor.mask_text("key: MIIEvQIBADANBg"), "key: «secret:FILE»");
    assert_eq!(redactor.mask_text("id: short"), "id: short");
}

/// The two alphabets of Base64 differ in the encodings of `>` and `?` at some alignments.
#[test]
fn both_alphabets_of_base64_are_masked() {
    let value = "a>?b>?c>?d>?";
    for engine in [STANDARD, URL_SAFE] {
        let text = engine.encode(value);
        assert!(text.contains(['+', '/', '-', '_']), "{text}");
        assert_eq!(redactor(&[("T", value)]).mask_text(&text), "«secret:T»", "{text}");
    }
}

#[test]
fn json_strings_keys_and_numbers_are_masked() {
    let redactor = redactor(&[("T", "p\"a\\s\ns"), ("PIN", "12345678")]);
    let value = json!({"a": ["x p\"a\\s\ns y", 1], "12345678": 12345678, "k-12345678": null});
    let expected = json!({
        "a": ["x «secret:T» y", 1], "«secret:PIN»": "«secret:PIN»", "k-«secret:PIN»": null
    });
    assert_eq!(redactor.mask_json(&value), expected);
    assert_eq!(redactor.mask_text(&value["a"][0].to_string()), "\"x «secret:T» y\"");
    let twins = json!({"12345678": 1, "3132333435363738": 2});
    assert_eq!(redactor.mask_json(&twins).as_object().unwrap().len(), 2, "no key is lost");
}

#[test]
fn lines_of_a_key_are_masked_alone_but_not_its_frame() {
    let key = "-----BEGIN KEY-----\nMIIEvQIBADANBg\nkqhkiG9w0BAQEF\nx=\n-----END KEY-----\n";
    let redactor = redactor(&[("KEY", key)]);
    let check = |text: &str, expected: &str| assert_eq!(redactor.mask_text(text), expected);
    check(key, "«secret:KEY»");
    check(key.trim(), "«secret:KEY»");
    check("line 2: kqhkiG9w0BAQEF", "line 2: «secret:KEY»");
    check("-----BEGIN KEY-----", "-----BEGIN KEY-----");
    check("x=1", "x=1");
}

#[test]
fn the_longest_value_wins_and_short_ones_are_left() {
    let redactor = redactor(&[("SHORT", "abcd"), ("LONG", "abcdefgh")]);
    assert_eq!(redactor.mask_text("abcdefgh abcd"), "«secret:LONG» «secret:SHORT»");
    for value in ["", "abc", "  a  ", "\n"] {
        assert!(!redactor.add("TINY", value), "{value:?}");
    }
    assert_eq!(redactor.mask_text("abc  a  "), "abc  a  ");
    assert!(!format!("{redactor:?}").contains("abcd"));
}

#[test]
fn a_secret_is_masked_from_when_it_is_known() {
    let redactor = Arc::new(Redactor::default());
    let mut stream = redactor.stream();
    assert_eq!(stream.push("free "), "free ");
    redactor.add("T", "hunter2");
    assert_eq!(redactor.mask_text("hunter2"), "«secret:T»");
    assert_eq!(stream.push("hun"), "");
    assert_eq!(stream.push("ter2!"), "«secret:T»!");
    assert_eq!(stream.push("hunt"), "");
    assert_eq!(stream.flush(), "hunt");
}

#[test]
fn a_stream_waits_for_the_longer_of_two() {
    let redactor = redactor(&[("SHORT", "abcd"), ("LONG", "abcdefgh")]);
    let mut stream = redactor.stream();
    assert_eq!(stream.push("x abcd"), "x ");
    assert_eq!(stream.push("efg"), "");
    assert_eq!(stream.push("h abcd."), "«secret:LONG» «secret:SHORT».");
}

const SOME: [&str; 5] = ["abab", "ababba ä", "bbaa", "b\\a\"a", "ababababab\nabä"];
const PIECES: [&str; 12] =
    ["+", "%", "%C3", "\\u00", "\\", "\\\\", "\"", "&", "\n", "\r\n", "\\r\\n", "\\ud83d"];

/// A character as one of many programs writes it.
fn otherwise(letter: char, way: u8) -> String {
    let bytes = |write: fn(&u8) -> String| {
        letter.to_string().as_bytes().iter().map(write).collect::<String>()
    };
    match way {
        0 => bytes(|byte| format!("%{byte:02x}")),
        1 => bytes(|byte| format!("\\x{byte:02x}")),
        2 => bytes(|byte| format!("\\{byte:03o}")),
        3 => letter.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect(),
        4 => format!("&#{};", u32::from(letter)),
        5 => format!("{letter}\n  "),
        6 => format!("{letter}\\n"),
        _ => letter.to_string(),
    }
}

prop_compose! {
    fn written_otherwise()(
        secret in prop::sample::select(&SOME[..]),
        ways in prop::collection::vec(0_u8..14, 16),
    ) -> String {
        secret.chars().zip(ways).map(|(letter, way)| otherwise(letter, way)).collect()
    }
}

proptest! {
    /// However a text is cut, its pieces masked one by one are the text masked whole.
    #[test]
    fn a_stream_masks_as_the_whole(
        parts in prop::collection::vec(
            prop_oneof![
                1 => "[ab ä]{0,4}",
                1 => prop::sample::select(&PIECES[..]).prop_map(str::to_owned),
                3 => written_otherwise(),
            ],
            0..8,
        ),
        cuts in prop::collection::vec(0_usize..150, 0..16),
    ) {
        let redactor = redactor(&SOME.map(|secret| (secret, secret)));
        let text = parts.concat();
        let mut places: Vec<usize> =
            cuts.into_iter().filter(|at| text.is_char_boundary(*at)).collect();
        places.sort();
        let mut stream = redactor.stream();
        let (mut masked, mut from) = (String::new(), 0);
        for at in places.into_iter().chain([text.len()]) {
            masked.push_str(&stream.push(&text[from..at]));
            from = at;
        }
        masked.push_str(&stream.flush());
        prop_assert_eq!(masked, redactor.mask_text(&text).into_owned());
    }
}

#[test]
fn what_overlaps_is_masked_as_one() {
    let redactor = redactor(&[("A", "abcdef"), ("B", "defghi")]);
    let check = |text: &str, expected: &str| assert_eq!(redactor.mask_text(text), expected);
    check("xabcdefghiy", "x«secret:A»y");
    check("abcdefabcdef", "«secret:A»«secret:A»");
    check("abcdefgh", "«secret:A»gh");
    let mut stream = redactor.stream();
    assert_eq!(stream.push("xabcdef"), "x");
    assert_eq!(stream.push("ghiy"), "«secret:A»y");
}

#[test]
fn a_secret_that_is_folded_over_lines_is_masked() {
    let long = "The-Quick-Brown-Fox-Jumps-Over-The-Lazy-Dog-And-Many-More-Animals-Beside";
    let redactor = redactor(&[("LONG", long), ("PIN", "12345678")]);
    let base64 = STANDARD.encode(format!("user:{long}"));
    for width in [1, 3, 5, 20, 64] {
        for (line_break, indent) in [("\n", ""), ("\r\n", ""), ("\n", "    "), ("\\n", "")] {
            for text in [long, &base64] {
                let parts: Vec<&str> = (0..text.len())
                    .step_by(width)
                    .map(|at| &text[at..text.len().min(at + width)])
                    .collect();
                let folded = parts.join(&format!("{line_break}{indent}"));
                let masked = redactor.mask_text(&folded).into_owned();
                let left = masked.replace("«secret:LONG»", "").replace("\\n", "");
                // What stands before it in the base64 text, and the ends that depend on that too.
                let left = left.split_whitespace().collect::<String>();
                assert!(left.len() < 16, "{width} {line_break:?}: {masked}");
            }
        }
    }
    assert_eq!(redactor.mask_text("1234\n5678"), "1234\n5678", "too short to be sure of");
    let lines: Vec<&str> = vec!["x", &long[..30], &long[30..], "y"];
    let masked = redactor.mask_json(&json!(lines));
    assert_eq!(masked, json!(["x", "«secret:LONG»", "«secret:LONG»", "y"]));
}

/// `fs:search` prints one line of a wrapped text, `fold` and `sed -n 2p` another one.
#[test]
fn one_line_of_a_wrapped_encoding_is_masked() {
    let token = STANDARD.encode("0123456789 The quick brown fox jumps over the lazy dog! 98765");
    let text = "A passphrase, with a space or two; and a \"quote\".\nA second line of it.";
    let hex = |text: &str| text.bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
    for value in [token.as_str(), text, &format!("-----BEGIN KEY-----\n{token}\n-----END KEY-----")]
    {
        let redactor = redactor(&[("T", value)]);
        let mut written = vec![hex(value), hex(value).to_uppercase()];
        for before in ["", "u", "us"] {
            let text = format!("{before}{value}");
            written.extend([STANDARD.encode(&text), URL_SAFE.encode(&text)]);
        }
        written.extend((value == token).then(|| value.to_owned()));
        for text in &written {
            for width in [16, 19, 20, 32, 60, 64, 76] {
                // The first and last characters of base64 may depend on what is around the value.
                let lines = text.as_bytes().chunks(width).filter(|line| line.len() >= 16 + 3);
                for line in lines.map(|line| std::str::from_utf8(line).unwrap()) {
                    let masked = redactor.mask_text(&format!("key.txt:2: {line}")).into_owned();
                    let left = masked.replace("key.txt:2: ", "").replace("«secret:T»", "");
                    assert!(left.len() <= 4, "{width}: {line} gives {masked}");
                }
                let start = &text[4..20];
                assert_eq!(redactor.mask_text(start), "«secret:T»", "{start}");
            }
        }
        assert_eq!(redactor.mask_text("-----BEGIN KEY-----"), "-----BEGIN KEY-----");
        assert_eq!(redactor.mask_text(&written[0][..15]), written[0][..15], "too short");
    }
}

#[test]
fn the_shortest_values_are_masked_in_every_encoding() {
    for value in ["k3y!", "5417", "zz>?", "a b c d"] {
        let redactor = redactor(&[("T", value)]);
        let hex: String = value.bytes().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(redactor.mask_text(&hex), "«secret:T»");
        for before in ["", "u", "us", "use"] {
            for after in ["", "!", "!!", "rest"] {
                for engine in [STANDARD, URL_SAFE] {
                    let text = engine.encode(format!("{before}{value}{after}"));
                    let masked = redactor.mask_text(&text).into_owned();
                    assert!(masked.contains("«secret:T»"), "{before}|{value}|{after}: {text}");
                }
            }
        }
    }
}

#[test]
fn a_number_is_masked_among_other_digits() {
    let redactor = redactor(&[("PIN", "84627193")]);
    let text = "[84627193, -84627193, 84627193.5, 1846271930, -0.84627193, 8462719, 84627193e3]";
    let value: serde_json::Value = serde_json::from_str(text).unwrap();
    let masked = redactor.mask_json(&value).to_string();
    assert!(!masked.contains("84627193"), "{masked}");
    assert_eq!(masked.matches("«secret:PIN»").count(), 6, "{masked}");
    assert!(!redactor.mask_text("-84627193 1846271930 id84627193").contains("84627193"));
}

#[test]
fn the_beginning_of_a_secret_at_a_cut_is_masked() {
    let redactor = redactor(&[("T", TOKEN)]);
    let check = |text: &str, expected: &str| assert_eq!(redactor.mask_cut_text(text), expected);
    check("x gh?p_5e", "x «secret:…»");
    check("x gh?p", "x «secret:…»");
    check("x gh?", "x gh?");
    check(&format!("{TOKEN} gh?p_5ecr+t/V"), "«secret:T» «secret:…»");
    check("nothing", "nothing");
}

#[test]
fn escapes_within_escapes_are_masked() {
    let secret = "it's a \"P\\th\"/é\n<&>+ 100%";
    let redactor = redactor(&[("S", secret)]);
    let check = |text: String| {
        assert_eq!(redactor.mask_text(&text), "«secret:S»", "{text}");
    };
    let json = |text: &str| {
        let quoted = json!(text).to_string();
        quoted[1..quoted.len() - 1].to_owned()
    };
    check(json(secret));
    check(json(&json(secret)));
    check(json(secret).replace('/', "\\/"));
    let numbers = |upper: bool| -> String {
        let one =
            |unit: u16| if upper { format!("\\u{unit:04X}") } else { format!("\\u{unit:04x}") };
        secret.encode_utf16().map(one).collect()
    };
    check(numbers(true));
    check(json(&numbers(false)));
    check(json(secret).replace('é', "\\u00E9"));
    check(secret.replace('\'', "'\\''"));
    check(
        secret
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;")
            .replace('"', "&quot;")
            .replace('\'', "&#39;"),
    );
    check(url(secret));
    check(url(secret).replace("%20", "+"));
    check(url(secret).to_lowercase().replace('P', "p").replace("%22p%5c", "%22P%5c"));
    check(url(secret).replace("%2F", "/"));
}

fn url(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC)
        .to_string()
        .replace("%2E", ".")
        .replace("%2D", "-")
}

/// What programs of this machine make of two awkward values; one that is not installed is left out.
#[test]
fn whatever_a_program_makes_of_a_value_is_masked() {
    let bash: &[&str] = &[
        "printf %q \"$S\"",
        "LC_ALL=C printf %q \"$S\"",
        "LC_ALL=C.UTF-8 printf %q \"$S\"",
        "(set -x; : \"$S\") 2>&1",
        "declare -p S",
        "printf %s \"$S\" | base64 -w 20",
        "printf %s \"$S\" | base64 | base64 -w 0",
        "printf %s \"$S\" | od -An -v -tx1 | tr -d ' '",
    ];
    let jq: &[&str] =
        &["@uri", "@sh", "@html", "@json", "@json|@json|@json", "{s: .}|@json|@base64"];
    let python: &[&str] = &[
        "repr(s)",
        "ascii(s)",
        "s.encode()",
        "json.dumps(s)",
        "json.dumps(json.dumps(s))",
        "base64.b64encode(json.dumps(s).encode()).decode()",
        "url.quote(s)",
        "url.quote_plus(s)",
        "html.escape(s)",
        "shlex.quote(s)",
        "re.escape(s)",
    ];
    let node: &[&str] = &[
        "encodeURIComponent(s)",
        "encodeURI(s)",
        "new URLSearchParams({s}).toString()",
        "JSON.stringify(s)",
        "[s]",
        "(() => { const u = new URL('http://x'); u.password = s; return u.href })()",
    ];
    let modules =
        "import base64, html, json, os, re, shlex, urllib.parse as url; s = os.environ['S']";
    let commands = [
        ("bash", "-c", bash.join("; echo; "), bash.len()),
        ("jq", "-nr", format!("$ENV.S | ({})", jq.join("), (")), jq.len()),
        (
            "python3",
            "-c",
            format!("{modules}; print({}, sep='\\n')", python.join(", ")),
            python.len(),
        ),
        (
            "node",
            "-e",
            format!("s = process.env.S; for (x of [{}]) console.log(x)", node.join(", ")),
            node.len(),
        ),
    ];
    for value in
        ["a'b\"c\\d/e f+g%h&i<j>k,l#m~n!o$p*q(r)s?t=u;é🔑v", "top\tsecret\nhere\u{7}\u{1b}é'1234"]
    {
        let redactor = redactor(&[("S", value)]);
        for (program, option, script, count) in &commands {
            let mut command = std::process::Command::new(program);
            let Some(output) =
                command.args([option, script.as_str()]).env("S", value).finish_if_found()
            else {
                continue;
            };
            let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
            let masked = redactor.mask_text(&said);
            assert_eq!(
                masked.matches("«secret:S»").count(),
                *count,
                "{program}: {said} gives {masked}"
            );
            // Quotes and the like around it, and what in base64 depends on these.
            let left = masked.replace("«secret:S»", "");
            assert!(left.len() < 12 * count, "{program}: {said} gives {masked}");
        }
    }
}

#[test]
fn a_key_of_many_lines_takes_no_longer_than_others() {
    let lines: Vec<String> = (0..200).map(|n| STANDARD.encode(format!("{n:0>48}"))).collect();
    let key = lines.join("\n");
    let redactor = redactor(&[("KEY", &key)]);
    let check = |text: &str, expected: &str| assert_eq!(redactor.mask_text(text), expected);
    check(&format!("<{key}>"), "<«secret:KEY»>");
    check(&lines.join("\n    "), "«secret:KEY»");
    check(&lines.join("\\n"), "«secret:KEY»");
    check(&lines.join("\\r\\n"), "«secret:KEY»");
    // Each of its characters is written otherwise.
    check(&key.bytes().map(|byte| format!("%{byte:02x}")).collect::<String>(), "«secret:KEY»");
    check(
        &key.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect::<String>(),
        "«secret:KEY»",
    );
}

#[test]
fn a_mebibyte_is_masked_in_a_few_milliseconds() {
    let secrets: Vec<(String, String)> = (0..50)
        .map(|n| {
            let value = kb::value::Digest::of(n.to_string()).to_string();
            (format!("S{n}"), STANDARD.encode(value)[..20 + n].to_owned())
        })
        .collect();
    let redactor = Redactor::default();
    let began = of_thread();
    secrets.iter().for_each(|(name, value)| assert!(redactor.add(name, value)));
    let learnt = of_thread() - began;
    let line = "2026-11-22T01:02:03Z INFO compiling crate-name v1.2.3 (/home/user/project/src) 17 warnings, 0 errors; eyJhbGciOiJIUzI1NiJ9\n";
    let text = line.repeat((1 << 20) / line.len());
    let first = of_thread();
    redactor.mask_text("warm up");
    let indexed = of_thread() - first;
    let began = of_thread();
    assert!(matches!(redactor.mask_text(&text), std::borrow::Cow::Borrowed(_)));
    let masked = of_thread() - began;
    println!("learnt in {learnt:?}, indexed in {indexed:?}, 1 MiB in {masked:?}");
    // Nor does a text that begins to write something otherwise at each place.
    for hostile in ["\\", "\\\\\\\\\\\\n", "%25", "+", "&#", "'\\''", "\n", "\\n \\n", "\\ud83d"] {
        let text = hostile.repeat((1 << 16) / hostile.len());
        let began = of_thread();
        assert!(matches!(redactor.mask_text(&text), std::borrow::Cow::Borrowed(_)));
        println!("64 KiB of {hostile:?} in {:?}", (of_thread() - began));
        assert!((of_thread() - began) < std::time::Duration::from_secs(3), "{hostile:?}");
    }
    // Ten times what an unoptimized build takes; a search that goes back and forth takes minutes.
    assert!(masked < std::time::Duration::from_secs(3), "{masked:?}");
}
