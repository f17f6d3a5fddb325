//! Streams: the events of a run, and the changes of all runs. A stream has no queue: it reads the journal
//! from its cursor when it is woken, and a client that does not read closes only its own connection.

use crate::inspect::{RunFilter, list_rows};
use crate::journal::{JournalError, RunRow};
use crate::trigger::Role;
use crate::value::RunId;
use crate::web::access::Identity;
use crate::web::call::Call;
use crate::web::live::{MOST_STREAMS, StreamSlot};
use crate::web::param::param;
use crate::web::problem::Problem;
use crate::web::reply::{self, Answer};
use crate::web::route::{Method, Route, waiting};
use crate::web::state::{WebProject, WebState};
use crate::web::tail::{Form, Tail, named};
use axum::body::Bytes;
use axum::http::header::ACCEPT;
use futures::FutureExt;
use futures::Stream;
use futures::future::BoxFuture;
use futures::stream::unfold;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// Interval of comments that keep a connection open, and of the check that the token is still valid.
const PING: Duration = Duration::from_secs(15);
/// Number of newest runs whose changes are told.
const NEWEST: usize = 200;

pub(super) const ROUTES: &[Route] = &[
    waiting(Method::Get, "/api/v1/runs/{run}/events", Role::Read, events, "The events of a run as they are stored, until it ends.")
        .query(&[
            param("after", "Number of the last event that the caller has; `Last-Event-ID` too."),
            param("format", "`sse` (default) or `jsonl`."),
            param("project", "Only this project."),
        ])
        .answers(&[
            (200, "Server-sent events: `id` is the number of the event, `data` the line of `kb run events`; `reset` where the number is unknown, `end` after the last one."),
            (404, "There is no such run."),
            (410, "It was removed."),
            (429, "Too many streams are open."),
        ]),
    waiting(Method::Get, "/api/v1/changes", Role::Read, changes, "The changes of runs and triggers from now on.")
        .query(&[param("format", "`sse` (default) or `jsonl`."), param("project", "Only this project.")])
        .answers(&[(200, "Server-sent events `run` and `triggers`."), (429, "Too many streams are open.")]),
];

/// What every stream has.
struct Open {
    state: Arc<WebState>,
    identity: Identity,
    changes: watch::Receiver<u64>,
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
        let changes = call.state.live().subscribe();
        Ok(Open { state: call.state.clone(), identity, changes, form, _slot: slot })
    }

    fn content_type(&self) -> &'static str {
        match self.form {
            Form::Sse => "text/event-stream",
            Form::Jsonl => "application/x-ndjson",
        }
    }

    /// Waits for a change. `None`: the stream ends; `Some(false)`: nothing changed for a while.
    async fn changed(&mut self) -> Option<bool> {
        let changed = tokio::select! {
            () = self.state.stop().cancelled() => return None,
            () = self.identity.stop.cancelled() => return None,
            changed = self.changes.changed() => changed.is_ok(),
            () = tokio::time::sleep(PING) => false,
        };
        self.is_valid().await.then_some(changed)
    }

    /// Whether the token or session still allows it.
    async fn is_valid(&self) -> bool {
        let (state, identity) = (self.state.clone(), self.identity.clone());
        tokio::task::spawn_blocking(move || identity.is_valid(&state)).await.unwrap_or(false)
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

/// A stream of the events of a run.
struct Follow {
    open: Open,
    project: Arc<WebProject>,
    run: RunId,
    tail: Arc<Tail>,
    cursor: u64,
    /// Whether the next read follows without waiting.
    at_once: bool,
    is_over: bool,
}

fn follow(call: &Call, open: Open, cursor: u64) -> Result<Follow, Problem> {
    let (project, row) = call.run()?;
    let tail = call.state.tails().of(call.index_of(&project), &project.shared.journal, &row.run)?;
    let run = row.run;
    Ok(Follow { open, project, run, tail, cursor, at_once: true, is_over: false })
}

fn run_stream(follow: Follow) -> impl Stream<Item = Bytes> {
    unfold(follow, |mut follow| async move {
        loop {
            if follow.is_over {
                return None;
            }
            if !std::mem::take(&mut follow.at_once) && !follow.open.changed().await? {
                return Some((follow.open.ping(), follow));
            }
            let (tail, cursor, form) = (follow.tail.clone(), follow.cursor, follow.open.form);
            let (project, run) = (follow.project.clone(), follow.run.clone());
            // The status is read first: what is stored after it belongs to a run that goes further.
            let read = tokio::task::spawn_blocking(move || {
                let row = project.shared.journal.run(&run);
                (row, tail.after(cursor, form))
            });
            let Ok((row, chunk)) = read.await else { return None };
            let Ok(chunk) = chunk else {
                follow.is_over = true;
                return Some((named("gone", &json!({}), form), follow));
            };
            if cursor > chunk.head {
                // The caller knows another history: it starts again.
                (follow.cursor, follow.at_once) = (0, true);
                return Some((named("reset", &json!({"head": chunk.head}), form), follow));
            }
            (follow.cursor, follow.at_once) = (chunk.cursor, chunk.more);
            let mut bytes = chunk.bytes;
            if let (false, Some(end)) = (chunk.more, ended(&row)) {
                bytes.extend_from_slice(&named("end", &end, form));
                follow.is_over = true;
            }
            if !bytes.is_empty() {
                return Some((Bytes::from(bytes), follow));
            }
        }
    })
}

/// What is said at the end of a run.
fn ended(row: &Result<RunRow, JournalError>) -> Option<serde_json::Value> {
    match row {
        Ok(row) if row.status.has_ended() => Some(json!({"status": row.status.as_str()})),
        Err(JournalError::NoRun(_)) => Some(json!({"status": "removed"})),
        _ => None,
    }
}

/// A stream of the changes of runs and triggers.
struct Watch {
    open: Open,
    projects: Vec<Arc<WebProject>>,
    seen: BTreeMap<(usize, RunId), String>,
    triggers: Vec<i64>,
    is_first: bool,
}

fn changes(call: Call) -> BoxFuture<'static, Answer> {
    async move {
        let open = Open::new(&call)?;
        let content_type = open.content_type();
        let projects = call.projects()?;
        let (seen, triggers) = (BTreeMap::new(), Vec::new());
        let watch = Watch { open, projects, seen, triggers, is_first: true };
        Ok(reply::stream(content_type, change_stream(watch)))
    }
    .boxed()
}

fn change_stream(watch: Watch) -> impl Stream<Item = Bytes> {
    unfold(watch, |mut watch| async move {
        loop {
            if watch.is_first {
                watch = tokio::task::spawn_blocking(move || watch.look().1).await.ok()?;
                watch.is_first = false;
                // The headers reach the caller with the first bytes.
                return Some((watch.open.ping(), watch));
            }
            if !watch.open.changed().await? {
                return Some((watch.open.ping(), watch));
            }
            let bytes;
            (bytes, watch) = tokio::task::spawn_blocking(move || watch.look()).await.ok()?;
            if !bytes.is_empty() {
                return Some((Bytes::from(bytes), watch));
            }
        }
    })
}

impl Watch {
    /// What changed since the last look.
    fn look(mut self) -> (Vec<u8>, Watch) {
        let mut bytes = Vec::new();
        let mut seen = BTreeMap::new();
        let mut triggers = Vec::new();
        for (index, project) in self.projects.iter().enumerate() {
            let filter = RunFilter::newest(NEWEST);
            let rows = list_rows(&*project.shared.journal, &filter).unwrap_or_default();
            for row in rows {
                let text = format!("{} {}", row.status.as_str(), row.epoch);
                let key = (index, row.run.clone());
                if self.seen.get(&key) != Some(&text) {
                    let view = json!({
                        "project": project.id,
                        "run": row.run.as_str(),
                        "status": row.status.as_str(),
                        "definition": row.definition,
                        "startedAt": row.started_at.rfc3339(),
                        "endedAt": row.ended_at.map(|at| at.rfc3339()),
                    });
                    bytes.extend_from_slice(&named("run", &view, self.open.form));
                }
                seen.insert(key, text);
            }
            let version = project.shared.store.newest_fire().unwrap_or_default();
            if self.triggers.get(index).is_some_and(|earlier| *earlier != version) {
                let view = json!({"project": project.id});
                bytes.extend_from_slice(&named("triggers", &view, self.open.form));
            }
            triggers.push(version);
        }
        (self.seen, self.triggers) = (seen, triggers);
        (bytes, self)
    }
}
