//! Signatures of webhooks: valid ones, altered ones, old ones; the published test vectors.

use super::at;
use kb::definition::WebhookForm::{Github, Standard};
use kb::trigger::{SignatureError, sign_standard, verify_webhook};
use std::collections::BTreeMap;

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
    let found = verify_webhook(Standard, &[secret], headers(&given), body, now).unwrap();
    assert_eq!(found.key, "id:msg_p5jXN8AQM9LWM0D4loKWxJek");
    let github = [(
        "x-hub-signature-256",
        "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17".to_owned(),
    )];
    let secret = "It's a Secret to Everybody";
    verify_webhook(Github, &[secret], headers(&github), b"Hello, World!", now).unwrap();
}

#[test]
fn altered_unsigned_and_old_deliveries_are_refused() {
    let (now, body) = (at("2026-01-10T12:00:00Z"), b"{\"a\":1}".as_slice());
    let signed = sign_standard("secret", "m1", now, body).to_vec();
    let check = |all: &[(&str, String)], body: &[u8], secrets: &[&str], at_time| {
        verify_webhook(Standard, secrets, headers(all), body, at(at_time)).map(|found| found.key)
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
        verify_webhook(Github, &["secret"], headers(&all), body, now).map(drop)
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
        verify_webhook(Standard, &["new"], headers(&all), body, now).map(|found| found.key)
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
