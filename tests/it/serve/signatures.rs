//! Signatures of webhooks: valid ones, altered ones, old ones; the published test vectors.

use super::at;
use kb::definition::{HeaderSignature, NamedForm, SignatureEncoding, WebhookForm};
use kb::trigger::{SignatureError, has_signature, sign_standard, verify_webhook};
use std::collections::BTreeMap;

const STANDARD: WebhookForm = WebhookForm::Named(NamedForm::Standard);
const GITHUB: WebhookForm = WebhookForm::Named(NamedForm::Github);

fn headers<'h>(all: &'h [(&str, String)]) -> impl Fn(&str) -> Option<String> + 'h {
    let map: BTreeMap<&str, &String> = all.iter().map(|(name, value)| (*name, value)).collect();
    move |name| map.get(name).map(|value| (*value).clone())
}

/// The example of the Standard Webhooks specification and the one of GitHub's documentation.
#[test]
fn published_vectors_verify() {
    let body = br#"{"test": 2432232314}"#;
    let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    let signed =
        sign_standard(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", at("2021-02-25T06:33:34Z"), body);
    assert_eq!(signed[1].1, "1614234814");
    let given = [
        ("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek".to_owned()),
        ("webhook-timestamp", "1614265330".to_owned()),
        ("webhook-signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=".to_owned()),
    ];
    let now = at("2021-02-25T15:02:10Z");
    let found = verify_webhook(&STANDARD, &[secret], headers(&given), body, now).unwrap();
    assert_eq!(found.key.unwrap(), "id:msg_p5jXN8AQM9LWM0D4loKWxJek");
    let github = [(
        "x-hub-signature-256",
        "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17".to_owned(),
    )];
    let secret = "It's a Secret to Everybody";
    verify_webhook(&GITHUB, &[secret], headers(&github), b"Hello, World!", now).unwrap();
}

#[test]
fn altered_unsigned_and_old_deliveries_are_refused() {
    let (now, body) = (at("2026-01-10T12:00:00Z"), b"{\"a\":1}".as_slice());
    let signed = sign_standard("secret", "m1", now, body).to_vec();
    let check = |all: &[(&str, String)], body: &[u8], secrets: &[&str], at_time| {
        verify_webhook(&STANDARD, secrets, headers(all), body, at(at_time))
            .map(|found| found.key.unwrap())
    };
    let noon = "2026-01-10T12:00:00Z";
    assert_eq!(check(&signed, body, &["other", "secret"], noon).unwrap(), "id:m1", "rotation");
    assert_eq!(check(&signed, b"{\"a\":2}", &["secret"], noon), Err(SignatureError::Wrong));
    assert_eq!(check(&signed, body, &["other"], noon), Err(SignatureError::Wrong));
    assert_eq!(check(&signed, body, &[], noon), Err(SignatureError::Wrong));
    assert_eq!(check(&signed[..2], body, &["secret"], noon), Err(SignatureError::Unsigned));
    assert_eq!(check(&[], body, &["secret"], noon), Err(SignatureError::Unsigned));
    for time in ["2026-01-10T12:05:01Z", "2026-01-10T11:54:59Z"] {
        assert_eq!(check(&signed, body, &["secret"], time), Err(SignatureError::Stale));
    }
    // The id and the time are signed too.
    for (index, value) in [(0, "m2"), (1, "1768046401"), (0, "m1.5"), (1, "-5"), (1, "")] {
        let mut other = signed.clone();
        other[index].1 = value.to_owned();
        assert!(check(&other, body, &["secret"], noon).is_err(), "{value}");
    }
    for signature in ["", "v1", "v1,", "v1,@@", "v0,abc", "sha256=00"] {
        let mut other = signed.clone();
        other[2].1 = signature.to_owned();
        assert!(check(&other, body, &["secret"], noon).is_err(), "{signature}");
    }
    let github = |value: &str| {
        let all = [("x-hub-signature-256", value.to_owned())];
        verify_webhook(&GITHUB, &["secret"], headers(&all), body, now).map(drop)
    };
    assert_eq!(github("sha1=00"), Err(SignatureError::Malformed));
    assert_eq!(github(&format!("sha256={}", "0".repeat(64))), Err(SignatureError::Wrong));
}

/// While a sender replaces its secret, it sends a signature with each: any of them may be the valid one.
#[test]
fn the_valid_signature_may_stand_at_any_place() {
    let (now, body) = (at("2026-01-10T12:00:00Z"), b"{\"a\":1}".as_slice());
    let of = |secret: &str| sign_standard(secret, "m1", now, body)[2].1.clone();
    let check = |written: String| {
        let mut all = sign_standard("new", "m1", now, body).to_vec();
        all[2].1 = written;
        verify_webhook(&STANDARD, &["new"], headers(&all), body, now)
            .map(|found| found.key.unwrap())
    };
    let (valid, foreign) = (of("new"), of("old"));
    let (valid, foreign) = (valid.as_str(), foreign.as_str());
    for others in [[foreign, foreign], [foreign, "v1a,AAAA"], ["v2,AAAA", "nothing"]] {
        for place in 0..3 {
            let mut all = others.to_vec();
            all.insert(place, valid);
            assert_eq!(check(all.join(" ")), Ok("id:m1".to_owned()), "{all:?}");
        }
        assert_eq!(check(others.join(" ")), Err(SignatureError::Wrong), "{others:?}");
    }
    // Work for a sender without a secret is limited.
    assert!(check(format!("{}{valid}", format!("{foreign} ").repeat(7))).is_ok());
    assert!(check(format!("{}{valid}", format!("{foreign} ").repeat(8))).is_err());
}

/// One form: its headers, the secret, the body, the time, and what recognises a repetition.
struct Case {
    form: WebhookForm,
    headers: Vec<(&'static str, String)>,
    secret: &'static str,
    body: &'static [u8],
    at: &'static str,
    key: Option<&'static str>,
    timed: bool,
}

/// Signatures that other programs made: the example of Slack's documentation, and `hmac` of Python.
fn cases() -> Vec<Case> {
    let at = "2021-02-25T15:02:10Z";
    let text = |pairs: &[(&'static str, &str)]| {
        pairs.iter().map(|(name, value)| (*name, (*value).to_owned())).collect::<Vec<_>>()
    };
    let named = WebhookForm::Named;
    let own = |encoding, timestamp: Option<&str>| {
        WebhookForm::Header(HeaderSignature {
            header: "x-signature".to_owned(),
            prefix: Some("sha256=".to_owned()),
            encoding,
            timestamp: timestamp.map(str::to_owned),
        })
    };
    vec![
        Case {
            form: named(NamedForm::Slack),
            headers: text(&[
                ("x-slack-request-timestamp", "1531420618"),
                ("x-slack-signature", "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"),
            ]),
            secret: "8f742231b10e8888abcd99yyyzzz85a5",
            body: b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c",
            at: "2018-07-12T18:36:58Z",
            key: Some("body:"),
            timed: true,
        },
        Case {
            form: named(NamedForm::Stripe),
            headers: text(&[("stripe-signature", "t=1614265330,v1=00e135cdbed3dda004bf8a2fb350f2541d299393c770e0b9e6e319dc595e9072,v1=e135cdbed3dda004bf8a2fb350f2541d299393c770e0b9e6e319dc595e9072aa,v0=6ffbb59b2300aae63f272406069a9788598b792a944a07aba816edb039989a39")]),
            secret: "whsec_test_secret",
            body: br#"{"id":"evt_1"}"#,
            at,
            key: Some("body:"),
            timed: true,
        },
        Case {
            form: named(NamedForm::Svix),
            headers: text(&[
                ("svix-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"),
                ("svix-timestamp", "1614265330"),
                ("svix-signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="),
            ]),
            secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            body: br#"{"test": 2432232314}"#,
            at,
            key: Some("id:msg_p5jXN8AQM9LWM0D4loKWxJek"),
            timed: true,
        },
        Case {
            form: own(SignatureEncoding::Hex, None),
            headers: text(&[("x-signature", "sha256=01e0638a57db30ea8fc2cc29ad9f381b84bb218a0b5accaab6387594b16454a5")]),
            secret: "own",
            body: br#"{"a":1}"#,
            at,
            key: Some("body:"),
            timed: false,
        },
        Case {
            form: own(SignatureEncoding::Base64, Some("x-time")),
            headers: text(&[
                ("x-signature", "sha256=AW0F0+3wZ77Qx7z4vx+sGdoOvgofa2iVMYQ/9PNd6q0="),
                ("x-time", "1614265330"),
            ]),
            secret: "own",
            body: br#"{"a":1}"#,
            at,
            key: Some("signed:"),
            timed: true,
        },
        Case {
            form: named(NamedForm::Gitlab),
            headers: text(&[("x-gitlab-token", "tok"), ("idempotency-key", "one")]),
            secret: "tok",
            body: b"{}",
            at,
            key: Some("key:"),
            timed: false,
        },
        Case {
            form: named(NamedForm::Bearer),
            headers: text(&[("authorization", "Bearer tok")]),
            secret: "tok",
            body: b"{}",
            at,
            key: None,
            timed: false,
        },
    ]
}

#[test]
fn each_form_takes_its_own_signature_and_no_other() {
    for case in cases() {
        let name = case.form.name();
        let check = |headers_of: &[(&str, String)], secret: &str, body: &[u8], time: &str| {
            verify_webhook(&case.form, &[secret], headers(headers_of), body, at(time))
        };
        let found = check(&case.headers, case.secret, case.body, case.at)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let starts = match (&found.key, case.key) {
            (Some(key), Some(start)) => key.starts_with(start),
            (key, None) => key.is_none(),
            (None, Some(_)) => false,
        };
        assert!(starts, "{name}: {found:?}");
        assert!(
            has_signature(&case.form, |wanted| case.headers.iter().any(|(own, _)| *own == wanted)),
            "{name}"
        );
        // Another secret, an empty one, and none.
        for secret in ["other", ""] {
            assert_eq!(
                check(&case.headers, secret, case.body, case.at),
                Err(SignatureError::Wrong),
                "{name}"
            );
        }
        // A header less.
        let first = &case.headers[1..];
        assert!(check(first, case.secret, case.body, case.at).is_err(), "{name}");
        if case.key.is_some_and(|key| !key.starts_with("key:")) {
            let mut body = case.body.to_vec();
            body.push(b' ');
            assert_eq!(
                check(&case.headers, case.secret, &body, case.at),
                Err(SignatureError::Wrong),
                "{name}"
            );
        }
        let later = check(&case.headers, case.secret, case.body, "2026-01-01T00:00:00Z");
        assert_eq!(later.is_err(), case.timed, "{name}: {later:?}");
        // The headers of every other form are no signature of this one.
        for other in cases().into_iter().filter(|other| other.form != case.form) {
            assert!(check(&other.headers, case.secret, case.body, case.at).is_err(), "{name}");
        }
    }
    // A secret that the environment does not have is no secret.
    let empty = [("authorization", "Bearer ".to_owned())];
    let bearer = WebhookForm::Named(NamedForm::Bearer);
    assert!(
        verify_webhook(&bearer, &[""], headers(&empty), b"{}", at("2021-02-25T15:02:10Z")).is_err()
    );
}
