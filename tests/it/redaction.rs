//! Masking: whatever the spelling, however it is cut, no value gets through.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use kb::redaction::Redactor;
use proptest::prelude::*;
use serde_json::json;
use std::sync::Arc;

const TOKEN: &str = "gh?p_5ecr+t/Välue";

fn redactor(secrets: &[(&str, &str)]) -> Arc<Redactor> {
    let redactor = Redactor::new();
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
    let redactor = Arc::new(Redactor::new());
    let mut stream = redactor.stream();
    assert_eq!(stream.push("free "), "free ");
    redactor.add("T", "hunter2");
    assert_eq!(redactor.mask_text("hunter2"), "«secret:T»");
    assert_eq!(stream.push("hun"), "");
    assert_eq!(stream.push("ter2!"), "«secret:T»!");
    assert_eq!(stream.push("hunt"), "");
    assert_eq!(stream.finish(), "hunt");
}

#[test]
fn a_stream_waits_for_the_longer_of_two() {
    let redactor = redactor(&[("SHORT", "abcd"), ("LONG", "abcdefgh")]);
    let mut stream = redactor.stream();
    assert_eq!(stream.push("x abcd"), "x ");
    assert_eq!(stream.push("efg"), "");
    assert_eq!(stream.push("h abcd."), "«secret:LONG» «secret:SHORT».");
}

proptest! {
    /// However a text is cut, its pieces masked one by one are the text masked whole.
    #[test]
    fn a_stream_masks_as_the_whole(
        parts in prop::collection::vec(
            prop_oneof!["[ab ä]{0,4}", Just("abab".to_owned()), Just("ababba ä".to_owned())],
            0..8,
        ),
        cuts in prop::collection::vec(0_usize..40, 0..8),
    ) {
        let redactor = redactor(&[("ONE", "abab"), ("TWO", "ababba ä"), ("THREE", "bbaa")]);
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
        masked.push_str(&stream.finish());
        prop_assert_eq!(masked, redactor.mask_text(&text).into_owned());
    }
}
