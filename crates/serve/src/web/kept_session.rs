//! What the store keeps of sessions and one-time codes: digests, roles and times.

use super::secret;
use kb_base::value::{Digest, Timestamp};
use kb_engine::journal::JournalError;
use kb_service::trigger::{Role, TriggerStore};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// How long a one-time code is valid.
const CODE: Duration = Duration::from_secs(300);
/// The start of the names of kept sessions.
const SESSION: &str = "session:";
/// The start of the names of one-time codes.
const ONE_TIME: &str = "code:";

/// A token that is checked again at each use: its project and digest.
pub(super) type TokenRef = (usize, Digest);

/// A session without its text.
#[derive(Debug, Clone, Copy)]
pub(super) struct KeptSession {
    pub(super) role: Role,
    /// The token that opened it.
    pub(super) token: Option<TokenRef>,
    pub(super) expires: Timestamp,
}

/// The sessions in the store of the first project. The projects have their names, because their order can change.
pub(super) struct KeptSessions {
    store: Option<Arc<TriggerStore>>,
    projects: Vec<String>,
}

impl KeptSessions {
    /// `projects` are the folders of the served projects in their order.
    pub(super) fn new(store: Option<Arc<TriggerStore>>, projects: Vec<String>) -> KeptSessions {
        KeptSessions { store, projects }
    }

    /// The sessions of an earlier daemon. One of a project that is not served is left out.
    pub(super) fn all(&self) -> BTreeMap<Digest, KeptSession> {
        let notes = self.store.as_ref().map(|store| store.notes_below(SESSION));
        let notes = notes.transpose().unwrap_or_default().unwrap_or_default();
        let read =
            |(id, text): (String, String)| Some((Digest::from_hex(&id)?, self.parse(&text)?));
        notes.into_iter().filter_map(read).collect()
    }

    /// `ROLE EXPIRES [TOKEN FOLDER]`.
    fn parse(&self, text: &str) -> Option<KeptSession> {
        let mut parts = text.splitn(4, ' ');
        let role = Role::parse(parts.next()?)?;
        let expires = Timestamp(parts.next()?.parse().ok()?);
        let token = match (parts.next(), parts.next()) {
            (Some(token), Some(folder)) => {
                let project = self.projects.iter().position(|own| own == folder)?;
                Some((project, Digest::from_hex(token)?))
            }
            _ => None,
        };
        Some(KeptSession { role, token, expires })
    }

    /// Keeps a session. One that cannot be kept ends with this process.
    pub(super) fn add(&self, id: &Digest, session: &KeptSession) {
        let mut text = format!("{} {}", session.role.as_str(), session.expires.0);
        if let Some((project, token)) = session.token {
            let Some(folder) = self.projects.get(project) else { return };
            text = format!("{text} {token} {folder}");
        }
        self.change(|store| store.set_note(&format!("{SESSION}{id}"), &text));
    }

    /// Forgets a session.
    pub(super) fn remove(&self, id: &Digest) {
        self.change(|store| store.remove_note(&format!("{SESSION}{id}")).map(drop));
    }

    fn change(&self, change: impl FnOnce(&TriggerStore) -> Result<(), JournalError>) {
        if let Some(Err(error)) = self.store.as_ref().map(|store| change(store)) {
            tracing::warn!("the sessions cannot be kept: {error}");
        }
    }
}

/// Makes a one-time code that opens a session. Any process that may write the store can make one.
pub(super) fn new_code(store: &TriggerStore, now: Timestamp) -> Result<String, JournalError> {
    let random = secret::random();
    let text = random.map_err(|error| JournalError::Broken(format!("no random bytes: {error}")))?;
    for (digest, expires) in store.notes_below(ONE_TIME)? {
        if expires.parse().is_ok_and(|expires: i64| now.0 >= expires) {
            store.remove_note(&format!("{ONE_TIME}{digest}"))?;
        }
    }
    let name = format!("{ONE_TIME}{}", secret::digest(&text));
    store.set_note(&name, &now.after(CODE).0.to_string())?;
    Ok(text)
}

/// Whether this is a valid code. It is not afterwards.
pub(super) fn take_code(
    store: &TriggerStore,
    text: &str,
    now: Timestamp,
) -> Result<bool, JournalError> {
    let name = format!("{ONE_TIME}{}", secret::digest(text));
    let expires = store.note(&name)?.and_then(|expires| expires.parse::<i64>().ok());
    // Of two requests with one code, one removes it.
    Ok(store.remove_note(&name)? && expires.is_some_and(|expires| now.0 < expires))
}
