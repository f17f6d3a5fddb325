//! Sessions of browsers and the throttles of the login and of webhooks. The store of the first project keeps the
//! digests of open sessions, so that they continue with the next daemon; throttles end with the process.

use super::kept_session::{KeptSession, KeptSessions, TokenRef};
use super::secret;
use kb_base::value::{Digest, Timestamp};
use kb_service::trigger::Role;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long a session is valid.
pub(super) const SESSION: Duration = Duration::from_secs(12 * 3600);
/// Maximum number of sessions. When another one begins, the oldest of the token that has most of them ends: a token
/// cannot end the sessions of others by many logins.
const MOST_SESSIONS: usize = 64;
/// Number of failed attempts of one address in [`WINDOW`] after which more are refused.
const MOST_FAILURES: u32 = 5;
/// The time in which failed attempts are counted.
const WINDOW: Duration = Duration::from_secs(60);
/// Maximum number of addresses whose failures are counted.
const MOST_ADDRESSES: usize = 1024;

/// A session of a browser.
#[derive(Debug, Clone)]
pub(super) struct Session {
    /// What it may do.
    pub role: Role,
    /// The token that opened it; `None`: a one-time code did.
    pub token: Option<TokenRef>,
    /// When it ends.
    pub expires: Timestamp,
    /// Cancelled when it ends, for its streams.
    pub stop: CancellationToken,
}

/// The sessions that are open, by the digests of their texts.
pub(super) struct Sessions {
    open: BTreeMap<Digest, Session>,
    kept: KeptSessions,
    failures: Throttle,
}

/// Failed attempts by address.
#[derive(Debug, Default)]
pub(super) struct Throttle(BTreeMap<IpAddr, (u32, Timestamp)>);

impl Throttle {
    /// The seconds for which an address must wait before its next attempt; 0: it may try.
    pub(super) fn must_wait(&mut self, peer: IpAddr, now: Timestamp) -> u64 {
        self.0.retain(|_, (_, since)| now >= *since && now.since(*since) < WINDOW);
        match self.0.get(&peer) {
            Some((count, since)) if *count >= MOST_FAILURES => {
                WINDOW.saturating_sub(now.since(*since)).as_secs().max(1)
            }
            _ => 0,
        }
    }

    /// Counts a failed attempt.
    pub(super) fn has_failed(&mut self, peer: IpAddr, now: Timestamp) {
        if self.0.len() < MOST_ADDRESSES || self.0.contains_key(&peer) {
            self.0.entry(peer).or_insert((0, now)).0 += 1;
        }
    }
}

impl Sessions {
    /// The sessions that an earlier daemon opened.
    pub(super) fn of(kept: KeptSessions) -> Sessions {
        let session = |(id, kept): (Digest, KeptSession)| {
            let KeptSession { role, token, expires } = kept;
            (id, Session { role, token, expires, stop: CancellationToken::new() })
        };
        let open = kept.all().into_iter().map(session).collect();
        Sessions { open, kept, failures: Throttle::default() }
    }

    /// Begins a session and returns the text of its cookie.
    pub(super) fn begin(
        &mut self,
        role: Role,
        token: Option<TokenRef>,
        now: Timestamp,
    ) -> std::io::Result<String> {
        let text = secret::random()?;
        self.remove_expired(now);
        let stop = CancellationToken::new();
        let session = Session { role, token, expires: now.after(SESSION), stop };
        let id = secret::digest(&text);
        self.kept.add(&id, &KeptSession { role, token, expires: session.expires });
        self.open.insert(id, session);
        while self.open.len() > MOST_SESSIONS {
            let Some(id) = self.surplus() else { break };
            self.end(&id);
        }
        Ok(text)
    }

    /// The oldest session of the token that has most of them.
    fn surplus(&self) -> Option<Digest> {
        let mut counts: BTreeMap<Option<TokenRef>, usize> = BTreeMap::new();
        for session in self.open.values() {
            *counts.entry(session.token).or_default() += 1;
        }
        let rank =
            |session: &Session| (counts.get(&session.token).copied(), Reverse(session.expires));
        self.open.iter().max_by_key(|(_, session)| rank(session)).map(|(id, _)| *id)
    }

    /// The session with an id.
    pub(super) fn get(&mut self, id: &Digest, now: Timestamp) -> Option<Session> {
        self.remove_expired(now);
        self.open.get(id).cloned()
    }

    /// Ends a session with its streams.
    pub(super) fn end(&mut self, id: &Digest) {
        if let Some(session) = self.open.remove(id) {
            session.stop.cancel();
            self.kept.remove(id);
        }
    }

    fn remove_expired(&mut self, now: Timestamp) {
        let ended = |(id, session): (&Digest, &Session)| (now >= session.expires).then_some(*id);
        let ended: Vec<Digest> = self.open.iter().filter_map(ended).collect();
        ended.iter().for_each(|id| self.end(id));
    }

    /// The failed logins.
    pub(super) fn failures(&mut self) -> &mut Throttle {
        &mut self.failures
    }

    /// The sessions that are open, oldest first.
    pub(super) fn all(&mut self, now: Timestamp) -> Vec<Session> {
        self.remove_expired(now);
        let mut all: Vec<Session> = self.open.values().cloned().collect();
        all.sort_by_key(|session| session.expires);
        all
    }
}
