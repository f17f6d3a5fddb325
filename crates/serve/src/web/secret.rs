//! Random secrets: tokens, session ids and one-time codes. Only their digests are kept.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kb_base::diagnostic::Code;
use kb_base::value::{Digest, Failure, Timestamp};
use kb_service::service::{ResourceKind, ServiceError};
use kb_service::trigger::{Role, TokenRow, TriggerStore};
use schemars::JsonSchema;
use serde::Serialize;
use std::time::Duration;

/// The longest text that is compared with a secret.
pub(super) const LONGEST: usize = 256;

/// A new secret of 256 random bits, as text.
pub(super) fn random() -> std::io::Result<String> {
    let mut bytes = [0; 32];
    if fill(&mut bytes)? == bytes.len() {
        Ok(URL_SAFE_NO_PAD.encode(bytes))
    } else {
        Err(std::io::Error::other("the system gave too few random bytes"))
    }
}

#[cfg(target_os = "linux")]
fn fill(bytes: &mut [u8]) -> std::io::Result<usize> {
    use rustix::rand::{GetRandomFlags, getrandom};
    Ok(getrandom(bytes, GetRandomFlags::empty())?)
}

#[cfg(not(target_os = "linux"))]
fn fill(bytes: &mut [u8]) -> std::io::Result<usize> {
    std::io::Read::read(&mut std::fs::File::open("/dev/urandom")?, bytes)
}

/// The digest under which a secret is kept and found. A secret has 256 random bits, so a plain digest
/// reveals nothing, and looking it up takes no time that depends on the secret.
pub(super) fn digest(secret: &str) -> Digest {
    Digest::of(format!("kb secret\n{secret}"))
}

/// A token that was created. Its text is shown once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewToken {
    /// The secret: `kb_` and 43 characters.
    pub text: String,
    /// What is kept of it.
    pub row: TokenRow,
}

/// Creates a token in the store of a project. Refused if a valid token has this name.
pub fn new_token(
    store: &TriggerStore,
    name: &str,
    role: Role,
    valid: Option<Duration>,
    now: Timestamp,
) -> Result<NewToken, ServiceError> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.len() > 64 || !name.chars().all(is_name) {
        let message = "the name of a token has letters, digits, `-`, `_` and `.`, at most 64";
        return Err(ServiceError::refused(Failure::new(Code::BAD_REQUEST, message)));
    }
    let secret = random().map_err(|error| {
        let message = format!("no random bytes: {error}");
        ServiceError::environment(Failure::new(Code::JOURNAL_UNUSABLE, message))
    })?;
    let text = format!("kb_{secret}");
    let expires_at = valid.map(|valid| now.after(valid));
    let row = TokenRow { name: name.to_owned(), role, created_at: now, expires_at, revoked: false };
    if !store.add_token(&digest(&text), &row)? {
        let message = format!("there is a token `{name}` already");
        let failure = Failure::new(Code::BAD_REQUEST, message);
        let help = format!("choose another name, or `kb serve token revoke {name}`");
        return Err(ServiceError::refused(failure.help(help)));
    }
    Ok(NewToken { text, row })
}

/// Revokes a token. Fails if there is none of this name.
pub fn revoke_token(store: &TriggerStore, name: &str) -> Result<(), ServiceError> {
    if store.revoke_token(name)? {
        return Ok(());
    }
    let known = store.tokens()?.into_iter().filter(|token| !token.revoked);
    Err(ServiceError::unknown(ResourceKind::Token, name, known.map(|token| token.name)))
}

/// A token in one word: `valid`, `expired` or `revoked`.
pub fn token_state(token: &TokenRow, now: Timestamp) -> &'static str {
    match (token.revoked, token.is_valid(now)) {
        (true, _) => "revoked",
        (false, true) => "valid",
        (false, false) => "expired",
    }
}

/// A token without its secret, but for the answer that creates it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenView {
    /// The name that a person gave it.
    pub name: String,
    /// `read`, `run`, `approve` or `admin`.
    pub role: String,
    /// In RFC 3339.
    pub created_at: String,
    /// In RFC 3339; null if it does not end.
    pub expires_at: Option<String>,
    /// `valid`, `expired` or `revoked`.
    pub state: String,
    /// Its text, in the answer that creates it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

/// A token as it is shown, without its secret.
pub fn token_view(token: &TokenRow, now: Timestamp) -> TokenView {
    TokenView {
        name: token.name.clone(),
        role: token.role.as_str().to_owned(),
        created_at: token.created_at.rfc3339(),
        expires_at: token.expires_at.map(Timestamp::rfc3339),
        state: token_state(token, now).to_owned(),
        token: None,
    }
}
