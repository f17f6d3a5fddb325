//! [`Server`]: requests to a running server, and what it says by itself.

use crate::call_talk::{CallTalk, OpenCalls, progress_line};
use crate::era::Era;
use crate::fault::Fault;
use crate::http_link::HttpLink;
use crate::replies::{Asking, answer_to, cancelled, is_list_change, is_progress};
use kb_base::value::Json;
use kb_http::HttpClient;
use kb_jsonrpc::{Answer, Answerer, Channel, RemoteError};
use kb_process::Session;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A server that has started. Dropping it ends the process and its descendants.
pub(crate) struct Server {
    link: Link,
    /// Whether it said that its tools have changed.
    pub(crate) has_changed: Arc<AtomicBool>,
    /// The calls that have not ended.
    pub(crate) calls: OpenCalls,
    /// What its questions say about it.
    pub(crate) asking: Asking,
}

/// How messages get to a server.
enum Link {
    Process(Channel),
    Http(HttpLink),
}

impl Server {
    /// Begins to talk to a server that has started.
    pub(crate) fn of(session: Session, asking: Asking) -> Server {
        let (has_changed, calls) = (Arc::<AtomicBool>::default(), OpenCalls::default());
        let client = Client {
            has_changed: has_changed.clone(),
            calls: calls.clone(),
            asking: asking.clone(),
        };
        Server { link: Link::Process(Channel::of(session, client)), has_changed, calls, asking }
    }

    /// A server at an address, with the bearer token for it. `wait` is the limit for each part of a response.
    pub(crate) fn at(
        client: HttpClient,
        address: (String, Option<String>),
        wait: Duration,
        asking: Asking,
    ) -> Server {
        let (has_changed, calls) = (Arc::<AtomicBool>::default(), OpenCalls::default());
        let link = HttpLink::new(client, address, wait, (has_changed.clone(), asking.clone()));
        Server { link: Link::Http(link), has_changed, calls, asking }
    }

    /// Whether it says in time that its tools have changed. Over HTTP it can only do so while it answers.
    pub(crate) fn tells_changes(&self) -> bool {
        matches!(self.link, Link::Process(_))
    }

    /// Takes note of the version of the protocol that it agreed to.
    pub(crate) fn agreed(&self, version: &str) {
        match &self.link {
            Link::Process(_) => {}
            Link::Http(link) => link.agreed(version),
        }
    }

    /// Waits until a server at an address knows which requests were dropped.
    pub(crate) async fn settle(&self) {
        match &self.link {
            Link::Process(_) => {}
            Link::Http(link) => link.settle().await,
        }
    }

    /// Ends the session with a server at an address; a process ends when it is dropped.
    pub(crate) async fn close(&self) {
        match &self.link {
            Link::Process(_) => {}
            Link::Http(link) => link.close().await,
        }
    }

    /// Whether requests are still possible.
    pub(crate) fn is_open(&self) -> bool {
        match &self.link {
            Link::Process(channel) => channel.is_open(),
            Link::Http(link) => link.is_open(),
        }
    }

    /// Sends a request and waits for its result.
    pub(crate) async fn ask(
        &self,
        era: Era,
        method: &'static str,
        params: Json,
    ) -> Result<Json, Fault> {
        self.ask_with((era, method), params, None).await
    }

    /// The same for a call that `talk` hears of.
    pub(crate) async fn ask_with(
        &self,
        (era, method): (Era, &'static str),
        params: Json,
        talk: Option<Arc<dyn CallTalk>>,
    ) -> Result<Json, Fault> {
        let params = era.complete(params);
        let answer = match &self.link {
            Link::Process(_) => self.request(method, params).await?,
            Link::Http(link) => link.request(method, params, talk).await?,
        };
        answer.map_err(|error| {
            let RemoteError { code, message, .. } = error;
            Fault::Refused(method, code, message)
        })
    }

    /// Sends a request with exactly these parameters and waits for the answer.
    pub(crate) async fn request(&self, method: &str, params: Json) -> Result<Answer, Fault> {
        match &self.link {
            Link::Process(channel) => Ok(channel.request(method, &params, Some(cancelled)).await?),
            Link::Http(link) => link.request(method, params, None).await,
        }
    }

    pub(crate) async fn notify(&self, method: &str) {
        match &self.link {
            Link::Process(channel) => channel.notify(method, &json!({})).await,
            Link::Http(link) => link.notify(method).await,
        }
    }
}

/// What servers may ask and tell.
struct Client {
    has_changed: Arc<AtomicBool>,
    calls: OpenCalls,
    asking: Asking,
}

impl Answerer for Client {
    async fn request(&mut self, id: Json, method: String, params: Json) -> Option<String> {
        Some(answer_to((&id, &method, &params), &self.asking, self.calls.only()))
    }

    async fn notification(&mut self, method: String, params: Json) {
        if is_list_change(&method) {
            self.has_changed.store(true, Ordering::Release);
        }
        if is_progress(&method)
            && let Some(talk) = self.calls.with_token(&params["progressToken"])
        {
            talk.progress(progress_line(&params));
        }
    }
}
