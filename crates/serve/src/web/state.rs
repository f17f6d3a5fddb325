//! [`WebState`]: what all requests share.

use super::feed::Feed;
use super::hosts::Hosts;
use super::kept_session::KeptSessions;
use super::live::Live;
use super::mcp_messages::McpMessages;
use super::meter::Meter;
use super::sessions::{Sessions, Throttle};
use super::tail::OpenTails;
use super::views::Views;
use crate::serve::{ProjectState, SharedProject};
use kb_base::value::Digest;
use kb_clock::Clock;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// A project of the server.
pub struct WebProject {
    /// Its name in addresses: the name of its folder, with a digest if another one has the same.
    pub id: String,
    /// What the daemon shares.
    pub shared: SharedProject,
}

impl WebProject {
    /// The definitions as they are now.
    pub fn state(&self) -> ProjectState {
        self.shared.state()
    }
}

/// What all requests share.
pub struct WebState {
    projects: Vec<Arc<WebProject>>,
    hosts: Hosts,
    cookie: String,
    user: String,
    user_header: Option<String>,
    clock: Clock,
    stop: CancellationToken,
    sessions: Mutex<Sessions>,
    hook_failures: Mutex<Throttle>,
    live: Live,
    feed: Feed,
    tails: OpenTails,
    views: Views,
    meter: Meter,
    document: String,
    mcp: Option<Arc<dyn McpMessages>>,
}

impl WebState {
    /// The same, which also answers clients of the Model Context Protocol.
    pub(super) fn with_mcp(self, mcp: Option<Arc<dyn McpMessages>>) -> WebState {
        WebState { mcp, ..self }
    }

    /// What answers clients of the Model Context Protocol.
    pub(super) fn mcp(&self) -> Option<Arc<dyn McpMessages>> {
        self.mcp.clone()
    }

    /// The state of a server on a port. `user` is the person who runs it.
    pub(super) fn new(
        shared: Vec<SharedProject>,
        hosts: Hosts,
        port: u16,
        user: String,
        clock: Clock,
        stop: CancellationToken,
        document: String,
    ) -> WebState {
        let ids = ids(&shared);
        let first = shared.first().map(|one| one.state().project);
        let user_header =
            first.and_then(|project| project.catalog.settings.serve.user_header.clone());
        let folders = shared.iter().map(|one| one.context.root.display().to_string()).collect();
        let kept = KeptSessions::new(shared.first().map(|one| one.store.clone()), folders);
        let project = |(id, shared)| Arc::new(WebProject { id, shared });
        WebState {
            projects: ids.into_iter().zip(shared).map(project).collect(),
            hosts,
            cookie: format!("kb_{port}"),
            user,
            user_header,
            stop,
            sessions: Mutex::new(Sessions::of(kept)),
            hook_failures: Mutex::default(),
            live: Live::default(),
            feed: Feed::default(),
            tails: OpenTails::new(clock.clone()),
            views: Views::default(),
            meter: Meter::default(),
            document,
            clock,
            mcp: None,
        }
    }

    /// The served projects, in the order of the options.
    pub fn projects(&self) -> &[Arc<WebProject>] {
        &self.projects
    }

    /// How long ago the scheduler made its last turn; `None` before the first one.
    pub fn since_turn(&self) -> Option<Duration> {
        self.projects.first()?.shared.daemon.since_turn()
    }

    /// All projects as [`Feed`] reads them.
    pub(super) fn sources(&self) -> Vec<(&str, &SharedProject)> {
        self.projects.iter().map(|project| (project.id.as_str(), &project.shared)).collect()
    }

    /// The accepted hosts.
    pub fn hosts(&self) -> &Hosts {
        &self.hosts
    }

    /// The name of the session cookie. Browsers send cookies of all ports, so it has the port.
    pub fn cookie(&self) -> &str {
        &self.cookie
    }

    /// The person who runs the daemon.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// The header with the name of the person, which a proxy on this machine sets.
    pub(super) fn user_header(&self) -> Option<&str> {
        self.user_header.as_deref()
    }

    /// The clock of the daemon; tests replace it.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Cancelled when the server stops, for streams.
    pub fn stop(&self) -> &CancellationToken {
        &self.stop
    }

    /// The OpenAPI document.
    pub(super) fn document(&self) -> &str {
        &self.document
    }

    pub(super) fn live(&self) -> &Live {
        &self.live
    }

    pub(super) fn feed(&self) -> &Feed {
        &self.feed
    }

    pub(super) fn tails(&self) -> &OpenTails {
        &self.tails
    }

    pub(super) fn views(&self) -> &Views {
        &self.views
    }

    pub(super) fn meter(&self) -> &Meter {
        &self.meter
    }

    /// The failed deliveries of webhooks.
    pub(super) fn hook_failures(&self) -> MutexGuard<'_, Throttle> {
        self.hook_failures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn ids(projects: &[SharedProject]) -> Vec<String> {
    let name = |project: &SharedProject| {
        let name = project.context.root.file_name().map(|name| name.to_string_lossy());
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let name: String = name.unwrap_or_default().chars().filter(|c| is_plain(*c)).collect();
        if name.trim_matches('.').is_empty() { "project".to_owned() } else { name }
    };
    let names: Vec<String> = projects.iter().map(name).collect();
    let one = |(index, name): (usize, &String)| {
        let is_only = names.iter().filter(|other| *other == name).count() == 1;
        let digest = Digest::of(projects[index].context.root.as_os_str().as_encoded_bytes());
        if is_only { name.clone() } else { format!("{name}-{}", &digest.to_string()[..8]) }
    };
    names.iter().enumerate().map(one).collect()
}
