//! Streams: the events of a run, and the changes of all runs. A stream has no queue: it sends what follows its
//! cursor when it is woken, and a client that does not read closes only its own connection.

use crate::web::access::Identity;
use crate::web::call::Call;
use crate::web::form::{Form, named};
use crate::web::live::{MOST_STREAMS, StreamSlot};
use crate::web::param::{PROJECT, QueryValues, param};
use crate::web::problem::Problem;
use crate::web::reply::{self, Answer};
use crate::web::route::{Method, Route, waiting};
use crate::web::state::WebState;
use crate::web::tail::{Chunk, End, Tail, TailHead};
use crate::web::tokens::{TokenLine, Tokens};
use axum::body::Bytes;
use axum::http::header::ACCEPT;
use futures::FutureExt;
use futures::Stream;
use futures::future::BoxFuture;
use futures::stream::unfold;
use kb_service::trigger::Role;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};
use tokio::time::Instant;

/// Interval of comments that keep a connection open, and of the check that the token is still valid.
const PING: Duration = Duration::from_secs(15);
/// The longest time for which a stream sends without checking its token or session again. A change of the store
/// of tokens is checked at once.
const RECHECK: Duration = Duration::from_secs(1);

/// The forms of streams.
const STREAMS: &[&str] = &["text/event-stream", "application/x-ndjson"];

const FORMATS: QueryValues = QueryValues::OneOf(&["sse", "jsonl"]);

pub(super) const ROUTES: &[Route] = &[
    waiting(Method::Get, "/api/v1/runs/{run}/events", Role::Read, events, "The events of a run as they are stored, until it ends.")
        .query(&[
            param("after", "Number of the last event that the caller has; `Last-Event-ID` too."),
            param("format", "`sse` (default) or `jsonl`.").values(FORMATS),
            param("tokens", "`true`: also what models write at the moment, as events `step:token` without a number.").values(QueryValues::OneOf(&["true", "false"])),
            PROJECT,
        ])
        .answers(&[
            (200, "Server-sent events: `id` is the number of the event, `data` the line of `kb run events`; `reset` where the number is unknown, `end` after the last one."),
            (404, "There is no such run."),
            (410, "It was removed."),
            (429, "Too many streams are open."),
        ])
        .returns_text(STREAMS),
    waiting(Method::Get, "/api/v1/changes", Role::Read, changes, "The changes of runs and triggers from now on.")
        .query(&[param("format", "`sse` (default) or `jsonl`.").values(FORMATS), PROJECT])
        .answers(&[(200, "Server-sent events `run` and `triggers`; `reset` where the caller was too slow and must read everything again."), (429, "Too many streams are open.")])
        .returns_text(STREAMS),
];

/// What every stream has.
struct Open {
    state: Arc<WebState>,
    identity: Identity,
    stores: watch::Receiver<u64>,
    checked: Instant,
    /// Whether the token or session must be checked before anything is sent.
    must_check: bool,
    form: Form,
    _slot: StreamSlot,
}

impl Open {
    fn new(call: &Call) -> Result<Open, Problem> {
        let wants_lines = call.headers.get(ACCEPT).is_some_and(|accept| {
            accept.to_str().is_ok_and(|accept| accept.contains("application/x-ndjson"))
        });
        let form = call.query.parsed("format", "`sse` or `jsonl`", |text| match text {
            "sse" => Some(Form::Sse),
            "jsonl" => Some(Form::Jsonl),
            _ => None,
        })?;
        let form = form.unwrap_or(if wants_lines { Form::Jsonl } else { Form::Sse });
        let slot = call.state.live().slot().ok_or_else(|| {
            Problem::too_many(format!("more than {MOST_STREAMS} streams are open"), 5)
        })?;
        let identity = call.identity.clone().ok_or_else(Problem::unauthenticated)?;
        let stores = call.state.live().subscribe_stores();
        let (state, checked) = (call.state.clone(), Instant::now());
        Ok(Open { state, identity, stores, checked, must_check: false, form, _slot: slot })
    }

    fn content_type(&self) -> &'static str {
        match self.form {
            Form::Sse => "text/event-stream",
            Form::Jsonl => "application/x-ndjson",
        }
    }

    /// Waits for news. `None`: the stream ends; `Some(false)`: there were none for a while. Cancel safe, but news that
    /// were noticed may be forgotten then: the caller looks before it waits again.
    async fn changed<T>(&mut self, news: &mut watch::Receiver<T>) -> Option<bool> {
        let ping = tokio::time::sleep(PING);
        let (mut ping, mut found) = (std::pin::pin!(ping), None);
        loop {
            self.must_check |= self.checked.elapsed() > RECHECK;
            if self.must_check && !self.is_valid().await {
                return None;
            }
            if found.is_some() {
                return found;
            }
            tokio::select! {
                // A token that was revoked before something happened does not see it.
                biased;
                () = self.state.stop().cancelled() => return None,
                () = self.identity.stop.cancelled() => return None,
                _ = self.stores.changed() => self.must_check = true,
                changed = news.changed() => found = Some(changed.is_ok()),
                () = ping.as_mut() => found = Some(false),
            }
        }
    }

    /// Whether the token or session still allows it.
    async fn is_valid(&mut self) -> bool {
        let (state, identity) = (self.state.clone(), self.identity.clone());
        let check = tokio::task::spawn_blocking(move || identity.is_valid(&state));
        let is_valid = check.await.unwrap_or(false);
        (self.must_check, self.checked) = (!is_valid, Instant::now());
        is_valid
    }

    fn ping(&self) -> Bytes {
        Bytes::from_static(if self.form == Form::Sse { b": ping\n\n" } else { b"\n" })
    }
}

fn events(call: Call) -> BoxFuture<'static, Answer> {
    async move {
        let open = Open::new(&call)?;
        let content_type = open.content_type();
        let last = call.headers.get("last-event-id").and_then(|id| id.to_str().ok());
        let cursor = match last.map(str::parse::<u64>) {
            Some(Ok(last)) => last,
            _ => call.query.number("after", 0, u64::from(u32::MAX))?,
        };
        let follow = tokio::task::spawn_blocking(move || follow(&call, open, cursor)).await;
        let follow = follow.map_err(|_| Problem::internal("the stream cannot be opened"))??;
        Ok(reply::stream(content_type, run_stream(follow)))
    }
    .boxed()
}

/// What models write, and what keeps it coming.
struct Written {
    lines: broadcast::Receiver<TokenLine>,
    _tokens: Arc<Tokens>,
}

/// A stream of the events of a run.
struct Follow {
    open: Open,
    tail: Arc<Tail>,
    news: watch::Receiver<TailHead>,
    tokens: Option<Written>,
    cursor: u64,
    /// Whether the next read follows without waiting.
    at_once: bool,
    is_over: bool,
}

fn follow(call: &Call, open: Open, cursor: u64) -> Result<Follow, Problem> {
    let (project, row) = call.run()?;
    let (index, journal) = (call.index_of(&project), &project.shared.journal);
    let tail = call.state.tails().of(index, journal, &row.run, call.state.live())?;
    let news = tail.news();
    let wants =
        call.query.parsed("tokens", "`true` or `false`", |text| text.parse::<bool>().ok())?;
    let tokens = match wants {
        Some(true) => tail.tokens(&project.shared.context.state_dir),
        Some(false) | None => None,
    };
    let tokens = tokens.map(|tokens| Written { lines: tokens.subscribe(), _tokens: tokens });
    Ok(Follow { open, tail, news, tokens, cursor, at_once: true, is_over: false })
}

fn run_stream(follow: Follow) -> impl Stream<Item = Bytes> {
    unfold(follow, |mut follow| async move {
        loop {
            if follow.is_over {
                return None;
            }
            let waits = !std::mem::take(&mut follow.at_once);
            if waits {
                let news = tokio::select! {
                    biased;
                    changed = follow.open.changed(&mut follow.news) => changed?,
                    line = written(&mut follow.tokens) => {
                        follow.at_once = true;
                        return Some((line.bytes(follow.open.form), follow));
                    }
                };
                if !news {
                    return Some((follow.open.ping(), follow));
                }
            }
            let TailHead { head, end } = follow.news.borrow_and_update().clone();
            let form = follow.open.form;
            if follow.cursor > head {
                // The caller knows another history: it starts again.
                (follow.cursor, follow.at_once) = (0, true);
                return Some((named("reset", &json!({"head": head}), form), follow));
            }
            let chunk = follow.chunk().await;
            let (Some(chunk), true) = (chunk, end != Some(End::Gone)) else {
                follow.is_over = true;
                return Some((named("gone", &json!({}), form), follow));
            };
            (follow.cursor, follow.at_once) = (chunk.cursor, chunk.more);
            let mut bytes = chunk.bytes;
            if let (false, Some(End::Ended(status))) = (chunk.more, end) {
                let end = named("end", &json!({"status": status}), form);
                bytes = [bytes, end].concat().into();
                follow.is_over = true;
            }
            if !bytes.is_empty() {
                return Some((bytes, follow));
            }
        }
    })
}

/// The next text of a model. Never ends without one. Cancel safe.
async fn written(tokens: &mut Option<Written>) -> TokenLine {
    while let Some(written) = tokens {
        match written.lines.recv().await {
            Ok(line) => return line,
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => *tokens = None,
        }
    }
    std::future::pending().await
}

impl Follow {
    /// What follows the cursor; `None` if it cannot be read.
    async fn chunk(&self) -> Option<Chunk> {
        let (cursor, form) = (self.cursor, self.open.form);
        if let Some(chunk) = self.tail.after(cursor, form) {
            return Some(chunk);
        }
        let tail = self.tail.clone();
        let stored = tokio::task::spawn_blocking(move || tail.stored_after(cursor, form)).await;
        stored.ok()?.ok()
    }
}

/// A stream of the changes of runs and triggers.
struct Watch {
    open: Open,
    /// The projects that the caller sees.
    projects: Vec<usize>,
    news: watch::Receiver<u64>,
    /// Number of the last change that was sent.
    sent: u64,
    is_first: bool,
}

fn changes(call: Call) -> BoxFuture<'static, Answer> {
    async move {
        let open = Open::new(&call)?;
        let content_type = open.content_type();
        let projects = call.projects()?.iter().map(|project| call.index_of(project)).collect();
        let state = call.state.clone();
        let subscribed = move || state.feed().subscribe(&state.sources());
        let mut news = tokio::task::spawn_blocking(subscribed)
            .await
            .map_err(|_| Problem::internal("the stream cannot be opened"))?;
        let sent = *news.borrow_and_update();
        let watch = Watch { open, projects, news, sent, is_first: true };
        Ok(reply::stream(content_type, change_stream(watch)))
    }
    .boxed()
}

fn change_stream(watch: Watch) -> impl Stream<Item = Bytes> {
    unfold(watch, |mut watch| async move {
        loop {
            // The headers reach the caller with the first bytes.
            let is_first = std::mem::take(&mut watch.is_first);
            if is_first || !watch.open.changed(&mut watch.news).await? {
                return Some((watch.open.ping(), watch));
            }
            watch.news.mark_unchanged();
            let feed = watch.open.state.feed();
            let (bytes, sent) = feed.after(watch.sent, &watch.projects, watch.open.form);
            watch.sent = sent;
            if !bytes.is_empty() {
                return Some((bytes, watch));
            }
        }
    })
}
