//! Signatures of webhooks in the forms of services. Pure; comparisons take constant time.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac};
use kb_base::value::{Digest, Timestamp};
use kb_language::definition::{HeaderSignature, NamedForm, SignatureEncoding, WebhookForm};
use sha2::Sha256;
use std::time::Duration;

/// How far the time of a delivery may be from the clock.
const TOLERANCE: Duration = Duration::from_secs(300);

/// A delivery with a valid signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedWebhook {
    /// The key under which a repeated delivery is recognised: the signed id, or the digest of what is signed.
    /// `None` if the form signs nothing and the sender gave no `Idempotency-Key`: each request is a delivery.
    pub key: Option<String>,
}

/// Why a delivery is refused. The messages name no secret and no expected value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// A header of the form is missing.
    #[error("the request is not signed")]
    Unsigned,
    /// No signature fits the body with any of the secrets.
    #[error("the signature does not fit")]
    Wrong,
    /// The time is too far from the clock.
    #[error("the time of the request is more than 5 minutes from now")]
    Stale,
    /// A header has a value that is not of its form.
    #[error("a header of the signature is malformed")]
    Malformed,
}

/// What a request says about its origin, read from its headers.
enum Proof {
    /// A secret that is sent as it is.
    Token(String),
    /// Signatures, one of which must fit.
    Signed(Signed),
}

/// Signatures, and what they sign.
struct Signed {
    /// Decoded signatures.
    signatures: Vec<Vec<u8>>,
    /// What stands before the body in the signed text.
    before_body: String,
    /// The signed time in seconds.
    time: Option<i64>,
    /// The bytes of a secret.
    key_of: fn(&str) -> Vec<u8>,
    /// What recognises a repeated delivery.
    repeated_by: RepeatedBy,
}

/// What recognises a repeated delivery.
enum RepeatedBy {
    /// An id that is signed.
    Id(String),
    /// The body: it has an id, or nothing else is signed.
    Body,
    /// Time and body.
    SignedText,
}

/// Whether a request may be signed in a form: it has the header with the signature.
pub fn has_signature(form: &WebhookForm, header: impl Fn(&str) -> bool) -> bool {
    header(signature_header(form))
}

/// The name of the header with the signature or the secret, in lower case.
fn signature_header(form: &WebhookForm) -> &str {
    match form {
        WebhookForm::Header(own) => &own.header,
        WebhookForm::Named(NamedForm::Standard) => "webhook-signature",
        WebhookForm::Named(NamedForm::Svix) => "svix-signature",
        WebhookForm::Named(NamedForm::Github) => "x-hub-signature-256",
        WebhookForm::Named(NamedForm::Gitlab) => "x-gitlab-token",
        WebhookForm::Named(NamedForm::Slack) => "x-slack-signature",
        WebhookForm::Named(NamedForm::Stripe) => "stripe-signature",
        WebhookForm::Named(NamedForm::Bearer) => "authorization",
    }
}

/// Checks the signature of a delivery with any of the secrets. `header` returns the value of a header by
/// its lower-case name.
pub fn verify_webhook(
    form: &WebhookForm,
    secrets: &[&str],
    header: impl Fn(&str) -> Option<String>,
    body: &[u8],
    now: Timestamp,
) -> Result<VerifiedWebhook, SignatureError> {
    let header = |name: &str| header(name).filter(|value| !value.is_empty());
    let secrets = || secrets.iter().filter(|secret| !secret.is_empty());
    let signed = match proof(form, &header)? {
        Proof::Token(given) => {
            let tag = |text: &str| mac(b"token", &[text.as_bytes()]);
            let given = tag(&given).finalize().into_bytes();
            let fits = secrets().any(|secret| tag(secret).verify_slice(&given).is_ok());
            let key = header("idempotency-key").map(|key| format!("key:{}", Digest::of(key)));
            return if fits { Ok(VerifiedWebhook { key }) } else { Err(SignatureError::Wrong) };
        }
        Proof::Signed(signed) => signed,
    };
    let parts = [signed.before_body.as_bytes(), body];
    let fits = signed.signatures.iter().take(8).any(|given| {
        secrets().any(|secret| mac(&(signed.key_of)(secret), &parts).verify_slice(given).is_ok())
    });
    if !fits {
        return Err(SignatureError::Wrong);
    }
    let distance = signed.time.map_or(0, |at| (now.0 / 1000).saturating_sub(at).unsigned_abs());
    if distance > TOLERANCE.as_secs() {
        return Err(SignatureError::Stale);
    }
    let key = match signed.repeated_by {
        RepeatedBy::Id(id) => format!("id:{id}"),
        RepeatedBy::Body => format!("body:{}", Digest::of(body)),
        RepeatedBy::SignedText => format!("signed:{}", Digest::of(parts.concat())),
    };
    Ok(VerifiedWebhook { key: Some(key) })
}

fn proof(
    form: &WebhookForm,
    header: &impl Fn(&str) -> Option<String>,
) -> Result<Proof, SignatureError> {
    let get = |name: &str| header(name).ok_or(SignatureError::Unsigned);
    let written = get(signature_header(form))?;
    let without = |prefix: &str| written.strip_prefix(prefix).ok_or(SignatureError::Malformed);
    let named = match form {
        WebhookForm::Header(own) => {
            return own_header(own, without(own.prefix.as_deref().unwrap_or_default())?, header);
        }
        WebhookForm::Named(named) => *named,
    };
    Ok(match named {
        NamedForm::Standard => Proof::Signed(standard("webhook", &written, header)?),
        NamedForm::Svix => Proof::Signed(standard("svix", &written, header)?),
        // GitHub signs the body alone: the header with the id of the delivery could be replaced.
        NamedForm::Github => Proof::Signed(Signed {
            signatures: vec![hex(without("sha256=")?)?],
            before_body: String::new(),
            time: None,
            key_of: raw,
            repeated_by: RepeatedBy::Body,
        }),
        NamedForm::Gitlab => Proof::Token(written),
        NamedForm::Bearer => Proof::Token(without("Bearer ")?.to_owned()),
        NamedForm::Slack => {
            let time = get("x-slack-request-timestamp")?;
            Proof::Signed(Signed {
                signatures: vec![hex(without("v0=")?)?],
                before_body: format!("v0:{time}:"),
                time: Some(seconds(&time)?),
                key_of: raw,
                repeated_by: RepeatedBy::Body,
            })
        }
        NamedForm::Stripe => {
            let all = |name: &str| -> Vec<String> {
                let parts = written.split(',').filter_map(|part| part.trim().split_once('='));
                parts.filter(|(own, _)| *own == name).map(|(_, value)| value.to_owned()).collect()
            };
            let time = all("t").into_iter().next().ok_or(SignatureError::Malformed)?;
            Proof::Signed(Signed {
                signatures: all("v1").iter().map(|one| hex(one)).collect::<Result<_, _>>()?,
                before_body: format!("{time}."),
                time: Some(seconds(&time)?),
                key_of: raw,
                repeated_by: RepeatedBy::Body,
            })
        }
    })
}

fn own_header(
    own: &HeaderSignature,
    written: &str,
    header: &impl Fn(&str) -> Option<String>,
) -> Result<Proof, SignatureError> {
    let signature = match own.encoding {
        SignatureEncoding::Hex => hex(written)?,
        SignatureEncoding::Base64 => {
            STANDARD.decode(written).map_err(|_| SignatureError::Malformed)?
        }
    };
    let time = own.timestamp.as_deref().map(|name| header(name).ok_or(SignatureError::Unsigned));
    let time = time.transpose()?;
    Ok(Proof::Signed(Signed {
        signatures: vec![signature],
        time: time.as_deref().map(seconds).transpose()?,
        repeated_by: if time.is_some() { RepeatedBy::SignedText } else { RepeatedBy::Body },
        before_body: time.map(|time| format!("{time}.")).unwrap_or_default(),
        key_of: raw,
    }))
}

/// The headers of Standard Webhooks for an outgoing request: id, timestamp, signature.
pub fn sign_standard(
    secret: &str,
    id: &str,
    at: Timestamp,
    body: &[u8],
) -> [(&'static str, String); 3] {
    let seconds = (at.0 / 1000).to_string();
    let mac = mac(&key_of(secret), &[id.as_bytes(), b".", seconds.as_bytes(), b".", body]);
    let signature = format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()));
    [
        ("webhook-id", id.to_owned()),
        ("webhook-timestamp", seconds),
        ("webhook-signature", signature),
    ]
}

/// Standard Webhooks, with `webhook-id` or `svix-id` and so on.
fn standard(
    names: &str,
    signatures: &str,
    header: &impl Fn(&str) -> Option<String>,
) -> Result<Signed, SignatureError> {
    let get = |name: &str| header(&format!("{names}-{name}")).ok_or(SignatureError::Unsigned);
    let (id, time) = (get("id")?, get("timestamp")?);
    // The id and the time are signed with a full stop between them.
    if id.len() > 256 || id.contains('.') {
        return Err(SignatureError::Malformed);
    }
    let decoded = signatures.split(' ').filter_map(|one| one.strip_prefix("v1,"));
    Ok(Signed {
        signatures: decoded.filter_map(|one| STANDARD.decode(one).ok()).collect(),
        before_body: format!("{id}.{time}."),
        time: Some(seconds(&time)?),
        key_of,
        repeated_by: RepeatedBy::Id(id),
    })
}

fn seconds(text: &str) -> Result<i64, SignatureError> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number).ok_or(SignatureError::Malformed)
}

fn hex(text: &str) -> Result<Vec<u8>, SignatureError> {
    let digest = Digest::from_hex(text).ok_or(SignatureError::Malformed)?;
    Ok(digest.as_bytes().to_vec())
}

fn raw(secret: &str) -> Vec<u8> {
    secret.as_bytes().to_vec()
}

/// The key of a secret of Standard Webhooks: Base64 after `whsec_`, else its bytes.
fn key_of(secret: &str) -> Vec<u8> {
    let encoded = secret.strip_prefix("whsec_").and_then(|rest| STANDARD.decode(rest).ok());
    encoded.unwrap_or_else(|| secret.as_bytes().to_vec())
}

fn mac(key: &[u8], parts: &[&[u8]]) -> Hmac<Sha256> {
    let mut mac =
        <Hmac<Sha256> as Mac>::new_from_slice(key).expect("HMAC takes keys of any length");
    parts.iter().for_each(|part| mac.update(part));
    mac
}
