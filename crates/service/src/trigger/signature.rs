//! Signatures of webhooks: Standard Webhooks and GitHub's form. Pure; comparisons take constant time.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac};
use kb_base::value::{Digest, Timestamp};
use kb_language::definition::WebhookForm;
use sha2::Sha256;
use std::time::Duration;

/// How far the time of a delivery may be from the clock.
const TOLERANCE: Duration = Duration::from_secs(300);

/// A delivery with a valid signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedWebhook {
    /// The key under which a repeated delivery is recognised: the signed id, or the digest of the body
    /// where only the body is signed.
    pub key: String,
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

/// Checks the signature of a delivery with any of the secrets. `header` returns the value of a header by
/// its lower-case name.
pub fn verify_webhook(
    form: WebhookForm,
    secrets: &[&str],
    header: impl Fn(&str) -> Option<String>,
    body: &[u8],
    now: Timestamp,
) -> Result<VerifiedWebhook, SignatureError> {
    match form {
        WebhookForm::Standard => standard(secrets, header, body, now),
        WebhookForm::Github => github(secrets, header, body),
    }
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

fn standard(
    secrets: &[&str],
    header: impl Fn(&str) -> Option<String>,
    body: &[u8],
    now: Timestamp,
) -> Result<VerifiedWebhook, SignatureError> {
    let get = |name: &str| header(name).filter(|value| !value.is_empty());
    let id = get("webhook-id").ok_or(SignatureError::Unsigned)?;
    let written = get("webhook-timestamp").ok_or(SignatureError::Unsigned)?;
    let signatures = get("webhook-signature").ok_or(SignatureError::Unsigned)?;
    // The id and the time are signed with a full stop between them.
    if id.len() > 256 || id.contains('.') || !written.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(SignatureError::Malformed);
    }
    let seconds: i64 = written.parse().map_err(|_| SignatureError::Malformed)?;
    let parts: [&[u8]; 5] = [id.as_bytes(), b".", written.as_bytes(), b".", body];
    let fits = signatures.split(' ').take(8).filter_map(|one| one.strip_prefix("v1,")).any(|one| {
        STANDARD.decode(one).is_ok_and(|given| {
            let fits = |secret: &&str| mac(&key_of(secret), &parts).verify_slice(&given).is_ok();
            secrets.iter().any(fits)
        })
    });
    if !fits {
        return Err(SignatureError::Wrong);
    }
    let distance = (now.0 / 1000).saturating_sub(seconds).unsigned_abs();
    match distance <= TOLERANCE.as_secs() {
        true => Ok(VerifiedWebhook { key: format!("id:{id}") }),
        false => Err(SignatureError::Stale),
    }
}

/// GitHub signs the body alone, so the digest of the body is the key: the header with the id of the
/// delivery could be replaced.
fn github(
    secrets: &[&str],
    header: impl Fn(&str) -> Option<String>,
    body: &[u8],
) -> Result<VerifiedWebhook, SignatureError> {
    let written = header("x-hub-signature-256").ok_or(SignatureError::Unsigned)?;
    let hex = written.strip_prefix("sha256=").ok_or(SignatureError::Malformed)?;
    let given = Digest::from_hex(hex).ok_or(SignatureError::Malformed)?;
    let fits =
        |secret: &&str| mac(secret.as_bytes(), &[body]).verify_slice(given.as_bytes()).is_ok();
    match secrets.iter().any(fits) {
        true => Ok(VerifiedWebhook { key: format!("body:{}", Digest::of(body)) }),
        false => Err(SignatureError::Wrong),
    }
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
