//! [`HttpLink`]: requests to a server over Streamable HTTP.

use crate::call_talk::{CallTalk, progress_line};
use crate::era::STATELESS;
use crate::fault::Fault;
use crate::replies::{Asking, answer_to, cancelled, is_list_change, is_progress};
use crate::sse::Events;
use kb_base::value::{Failure, Json};
use kb_http::{HttpClient, HttpError, HttpRequest, HttpStream, shown_url};
use kb_jsonrpc::{Answer, Incoming, notification};
use serde_json::json;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Maximum size of what a server sends for a request.
const RESPONSE_BYTES: u64 = 8 << 20;
/// How often a stream of events that ended without the answer is continued.
const CONTINUATIONS: usize = 100;
/// How long to wait before that, if the server names no time.
const RETRY: Duration = Duration::from_secs(1);
/// Maximum length of a session id.
const SESSION_BYTES: usize = 1 << 10;
/// How long a server has for a message without an answer.
const NOTICE: Duration = Duration::from_secs(5);

/// A server at an address. Dropping it ends the session, if the process lives long enough.
pub(crate) struct HttpLink(Arc<Remote>);

struct Remote {
    client: HttpClient,
    url: String,
    token: Option<String>,
    /// Time for the head of a response and for each part of its body.
    wait: Duration,
    agreed: Mutex<Agreed>,
    next: AtomicU64,
    is_over: AtomicBool,
    has_changed: Arc<AtomicBool>,
    /// What questions of the server say about it.
    asking: Asking,
    /// Messages of dropped requests that are being sent.
    leaving: Mutex<JoinSet<()>>,
}

/// What the server said in its answer to `initialize`.
#[derive(Clone, Default)]
struct Agreed {
    session: Option<String>,
    version: Option<String>,
}

impl HttpLink {
    /// A server that was not spoken to yet. `has_changed` is set when it says that its tools have changed.
    pub(crate) fn new(
        client: HttpClient,
        (url, token): (String, Option<String>),
        wait: Duration,
        (has_changed, asking): (Arc<AtomicBool>, Asking),
    ) -> HttpLink {
        let (agreed, is_over) = (Mutex::default(), AtomicBool::new(false));
        let next = AtomicU64::new(1);
        let leaving = Mutex::default();
        let remote = Remote {
            client,
            url,
            token,
            wait,
            agreed,
            next,
            is_over,
            has_changed,
            asking,
            leaving,
        };
        HttpLink(Arc::new(remote))
    }

    /// Whether the session, if there is one, is not known to be over.
    pub(crate) fn is_open(&self) -> bool {
        !self.0.is_over.load(Ordering::Acquire)
    }

    /// The version of the protocol that later requests name.
    pub(crate) fn agreed(&self, version: &str) {
        self.0.agreed.lock().unwrap_or_else(PoisonError::into_inner).version =
            Some(version.to_owned());
    }

    /// Sends a request and waits for its answer. Dropping the future cancels the request. `talk` hears what the server says
    /// on the stream of the answer.
    pub(crate) async fn request(
        &self,
        method: &str,
        params: Json,
        talk: Option<Arc<dyn CallTalk>>,
    ) -> Result<Answer, Fault> {
        let id = self.0.next.fetch_add(1, Ordering::Relaxed);
        // `initialize` cannot be cancelled, and without a session the end of the connection cancels.
        let version = self.0.agreed().version;
        let is_stateless = version.as_deref() == Some(STATELESS);
        let can_cancel = version.is_some() && !is_stateless;
        let mut waiting = Waiting { remote: &self.0, id, is_over: !can_cancel };
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let mut about = Vec::new();
        if is_stateless {
            about.push(("mcp-method", method.to_owned()));
            let name = message["params"]["name"].as_str().map(str::to_owned);
            about.extend(name.map(|name| ("mcp-name", name)));
        }
        let answer = self.0.exchange((id, method, talk), message.to_string(), about).await;
        waiting.is_over = true;
        answer
    }

    /// Sends a notification.
    pub(crate) async fn notify(&self, method: &str) {
        self.0.post_notice(notification(method, &json!({}))).await;
    }

    /// Waits until the server knows which requests were dropped.
    pub(crate) async fn settle(&self) {
        let leaving =
            std::mem::take(&mut *self.0.leaving.lock().unwrap_or_else(PoisonError::into_inner));
        leaving.join_all().await;
    }

    /// Ends the session.
    pub(crate) async fn close(&self) {
        self.settle().await;
        self.0.delete().await;
    }
}

impl Drop for HttpLink {
    fn drop(&mut self) {
        let remote = self.0.clone();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { remote.delete().await });
        }
    }
}

impl Remote {
    fn agreed(&self) -> Agreed {
        self.agreed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sends a request with these headers more.
    async fn send(
        &self,
        (method, body): (&str, Option<String>),
        more: Vec<(&'static str, String)>,
        wait: Duration,
    ) -> Sent {
        let Agreed { session, version } = self.agreed();
        let mut headers = vec![("accept", "application/json, text/event-stream".to_owned())];
        let token = self.token.as_ref().map(|token| format!("Bearer {}", token.trim()));
        headers.extend(token.map(|token| ("authorization", token)));
        headers.extend(session.map(|session| ("mcp-session-id", session)));
        headers.extend(version.map(|version| ("mcp-protocol-version", version)));
        headers.extend(more);
        headers.extend(body.as_ref().map(|_| ("content-type", "application/json".to_owned())));
        let request = HttpRequest {
            method: method.to_owned(),
            url: self.url.clone(),
            headers: headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            query: Vec::new(),
            body: body.map(Json::String),
            timeout: Some(wait),
        };
        self.client.stream_once(&request, RESPONSE_BYTES).await
    }

    /// Sends a request, of which `about` has the headers of its version, and reads the answer.
    async fn exchange(
        &self,
        (id, method, talk): (u64, &str, Option<Arc<dyn CallTalk>>),
        message: String,
        about: Vec<(&'static str, String)>,
    ) -> Result<Answer, Fault> {
        let sent = self.send(("POST", Some(message)), about, self.wait).await;
        let mut response = sent.map_err(|error| fault_of(&error))?;
        let status = response.status();
        if let Some(target) = response.header("location").filter(|_| (300..400).contains(&status)) {
            let target = shown_url(target);
            let why = format!("it redirects to `{target}`, and redirects are not followed");
            return Err(Fault::Broken(why));
        }
        // A message has it as it came: a secret in other letters would not be masked.
        let said_kind = response.header("content-type").unwrap_or_default().to_owned();
        let kind = said_kind.to_ascii_lowercase();
        if status == 404 && self.agreed().session.is_some() {
            self.is_over.store(true, Ordering::Release);
            return Err(Fault::Ended("it ended the session".to_owned(), String::new()));
        }
        if method == "initialize" && status == 200 {
            let session = session_of(&response)?;
            self.agreed.lock().unwrap_or_else(PoisonError::into_inner).session = session;
        }
        if status == 200 && kind.starts_with("text/event-stream") {
            return self.streamed((id, talk), response).await;
        }
        let refused = |said| {
            // Some servers answer an unknown session so: the next request begins another one.
            if status == 400 && self.agreed().session.is_some() {
                self.is_over.store(true, Ordering::Release);
            }
            Err(Fault::Status(status, said_kind.clone(), said))
        };
        if !kind.starts_with("application/json") {
            return refused(String::new());
        }
        let mut body = Vec::new();
        while let Some(part) =
            response.next(&CancellationToken::new()).await.map_err(|error| fault_of(&error))?
        {
            body.extend(part);
        }
        let text = String::from_utf8_lossy(&body);
        match Incoming::of(&text) {
            Incoming::Answer(own, answer) if own == id => Ok(answer),
            Incoming::Answer(..)
            | Incoming::Request(..)
            | Incoming::Notification(..)
            | Incoming::Noise => refused(error_of(&text)),
        }
    }

    /// Reads a stream of events up to the answer to the request with this id. A stream that ends before, or whose
    /// connection breaks, is continued after its last event, if the server numbers them.
    async fn streamed(
        &self,
        (id, talk): (u64, Option<Arc<dyn CallTalk>>),
        mut response: HttpStream,
    ) -> Result<Answer, Fault> {
        let mut last = (None, RETRY);
        for _ in 0..=CONTINUATIONS {
            let mut events = Events::default();
            let read = self.read((id, &talk), &mut response, &mut events).await;
            let can_continue = events.last_id.is_some() || last.0.is_some();
            match read {
                Ok(Some(answer)) => return Ok(answer),
                Ok(None) => {}
                // The connection broke.
                Err(HttpError::Transient(_)) if can_continue => {}
                Err(error) => return Err(fault_of(&error)),
            }
            last = (events.last_id.or(last.0), events.retry.unwrap_or(last.1));
            let Some(event) = last.0.clone() else { break };
            tokio::time::sleep(last.1).await;
            let after = vec![("last-event-id", event)];
            let sent = self.send(("GET", None), after, self.wait).await;
            response = sent.map_err(|error| fault_of(&error))?;
            let kind = response.header("content-type").unwrap_or_default().to_ascii_lowercase();
            if response.status() != 200 || !kind.starts_with("text/event-stream") {
                break;
            }
        }
        Err(Fault::Broken("its stream of events ended without the answer".to_owned()))
    }

    /// Reads a stream of events up to the answer; `None` if it ends before.
    async fn read(
        &self,
        (id, talk): (u64, &Option<Arc<dyn CallTalk>>),
        response: &mut HttpStream,
        events: &mut Events,
    ) -> Result<Option<Answer>, HttpError> {
        while let Some(part) = response.next(&CancellationToken::new()).await? {
            for data in events.take(&part) {
                match Incoming::of(&data) {
                    Incoming::Answer(own, answer) if own == id => return Ok(Some(answer)),
                    // The first event of a server that can resume has no message.
                    Incoming::Answer(..) | Incoming::Noise => {}
                    Incoming::Request(id, method, params) => {
                        let asked = (&id, &*method, &params);
                        self.post_notice(answer_to(asked, &self.asking, talk.clone())).await;
                    }
                    Incoming::Notification(method, params) => {
                        if let Some(talk) = talk.as_ref().filter(|_| is_progress(&method)) {
                            talk.progress(progress_line(&params));
                        }
                        if is_list_change(&method) {
                            self.has_changed.store(true, Ordering::Release);
                        }
                    }
                }
            }
        }
        Ok(None)
    }

    /// Sends a message that has no answer. Whether it arrived is noticed by the next request.
    async fn post_notice(&self, message: String) {
        let _ = self.send(("POST", Some(message)), Vec::new(), NOTICE).await;
    }

    /// Ends the session once. A server may refuse that (405).
    async fn delete(&self) {
        if !self.is_over.swap(true, Ordering::AcqRel) && self.agreed().session.is_some() {
            let _ = self.send(("DELETE", None), Vec::new(), NOTICE).await;
        }
    }
}

/// The session that a server begins. An id that no header can carry would otherwise fail each later request.
fn session_of(response: &HttpStream) -> Result<Option<String>, Fault> {
    let Some(id) = response.header_bytes("mcp-session-id") else { return Ok(None) };
    let is_usable = !id.is_empty() && id.len() <= SESSION_BYTES;
    if is_usable && id.iter().all(u8::is_ascii_graphic) {
        return Ok(Some(String::from_utf8_lossy(id).into_owned()));
    }
    let why = format!(
        "its session id does not have 1 to {SESSION_BYTES} visible ASCII characters and no spaces"
    );
    Err(Fault::Broken(why))
}

/// The message of an error that answers no request; empty without one.
fn error_of(body: &str) -> String {
    let body: Json = serde_json::from_str(body).unwrap_or_default();
    body["error"]["message"].as_str().unwrap_or_default().to_owned()
}

type Sent = Result<HttpStream, HttpError>;

fn fault_of(error: &HttpError) -> Fault {
    let Failure { message, help, .. } = error.failure();
    Fault::NotReached(message, help)
}

/// Cancels a request whose caller does not wait any more.
struct Waiting<'a> {
    remote: &'a Arc<Remote>,
    id: u64,
    is_over: bool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let (method, params) = cancelled(self.id);
        let (remote, message) = (self.remote.clone(), notification(method, &params));
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let mut leaving = self.remote.leaving.lock().unwrap_or_else(PoisonError::into_inner);
            leaving.spawn_on(async move { remote.post_notice(message).await }, &runtime);
        }
    }
}
