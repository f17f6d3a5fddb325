//! Who asks: bearer tokens and the cookie of a session.

use super::kept_session::TokenRef;
use super::problem::Problem;
use super::secret;
use super::sessions::Session;
use super::state::WebState;
use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, COOKIE};
use kb_base::value::Digest;
use kb_service::trigger::Role;
use std::net::IpAddr;
use tokio_util::sync::CancellationToken;

/// Who asks, and with which right.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The name for records: of the token, or of the person who runs the daemon.
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// The only project that it sees; `None`: all.
    pub project: Option<usize>,
    /// The session; `None`: a token.
    pub session: Option<Digest>,
    token: Option<TokenRef>,
    /// Cancelled when the session ends.
    pub stop: CancellationToken,
}

/// Who asks. Fails without a valid token or session.
pub(super) fn identify(state: &WebState, headers: &HeaderMap) -> Result<Identity, Problem> {
    let mut given = headers.get_all(AUTHORIZATION).iter();
    match (given.next(), given.next()) {
        (None, _) => {
            let id = session_id(state, headers).ok_or_else(Problem::unauthenticated)?;
            let session = state.sessions().get(&id, state.clock().wall());
            of_session(state, id, session.ok_or_else(Problem::unauthenticated)?)
        }
        (Some(one), None) => {
            let text = one.to_str().unwrap_or_default();
            let (scheme, token) = text.split_once(' ').unwrap_or_default();
            if !scheme.eq_ignore_ascii_case("bearer") {
                return Err(Problem::unauthenticated());
            }
            by_token(state, token.trim())
        }
        (Some(_), Some(_)) => Err(Problem::unauthenticated()),
    }
}

/// The longest name that a proxy gives, in bytes.
const LONGEST_NAME: usize = 200;

/// The name that a proxy on this machine gives for the person, if the settings name its header. It gives no right.
pub(super) fn person(state: &WebState, headers: &HeaderMap, peer: IpAddr) -> Option<String> {
    let header = state.user_header().filter(|_| peer.is_loopback())?;
    let mut given = headers.get_all(header).iter();
    let (Some(name), None) = (given.next(), given.next()) else { return None };
    let name = name.to_str().ok()?.trim();
    (!name.is_empty() && name.len() <= LONGEST_NAME).then(|| name.to_owned())
}

/// Who has a token.
pub(super) fn by_token(state: &WebState, token: &str) -> Result<Identity, Problem> {
    if token.len() > secret::LONGEST {
        return Err(Problem::unauthenticated());
    }
    let hash = secret::digest(token);
    for index in 0..state.projects().len() {
        if let Some((role, name)) = valid(state, (index, hash))? {
            return Ok(Identity {
                name,
                role,
                project: Some(index),
                session: None,
                token: Some((index, hash)),
                stop: CancellationToken::new(),
            });
        }
    }
    Err(Problem::unauthenticated())
}

fn of_session(state: &WebState, id: Digest, session: Session) -> Result<Identity, Problem> {
    let Session { role, token, stop, .. } = session;
    let identity = |role, name| Identity {
        name,
        role,
        project: token.map(|(project, _)| project),
        session: Some(id),
        token,
        stop,
    };
    let Some(token) = token else { return Ok(identity(role, state.user().to_owned())) };
    match valid(state, token)? {
        // A token can be revoked while its session is open.
        Some((now, name)) => Ok(identity(role.min(now), name)),
        None => {
            state.sessions().end(&id);
            Err(Problem::unauthenticated())
        }
    }
}

/// Role and name of a token that is valid now.
fn valid(state: &WebState, (project, hash): TokenRef) -> Result<Option<(Role, String)>, Problem> {
    let Some(project) = state.projects().get(project) else { return Ok(None) };
    let row = project.shared.store.token(&hash)?.filter(|row| row.is_valid(state.clock().wall()));
    Ok(row.map(|row| (row.role, row.name)))
}

impl Identity {
    /// Whether its token or session is still valid, for streams.
    pub(super) fn is_valid(&self, state: &WebState) -> bool {
        let has_session =
            self.session.is_none_or(|id| state.sessions().get(&id, state.clock().wall()).is_some());
        // A store that cannot be read at this moment ends no stream.
        has_session && self.token.is_none_or(|token| !matches!(valid(state, token), Ok(None)))
    }

    /// The token that a session is opened with.
    pub(super) fn token(&self) -> Option<TokenRef> {
        self.token
    }
}

/// The digest of the session cookie. Several different ones are none: another service of this machine
/// may have set one of them.
pub(super) fn session_id(state: &WebState, headers: &HeaderMap) -> Option<Digest> {
    let name = state.cookie();
    let mut found: Option<&str> = None;
    let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
    for pair in lines.flat_map(|line| line.split(';')) {
        let Some((key, value)) = pair.split_once('=') else { continue };
        if key.trim() == name {
            let value = value.trim();
            if value.len() > secret::LONGEST || found.is_some_and(|other| other != value) {
                return None;
            }
            found = Some(value);
        }
    }
    found.map(secret::digest)
}
