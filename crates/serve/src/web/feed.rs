//! The changes of runs and triggers, found once for all streams that send them.

use super::form::{Form, named};
use crate::serve::SharedProject;
use axum::body::Bytes;
use kb_base::value::RunId;
use kb_core::run::RunStatus;
use kb_engine::inspect::{RunFilter, list_rows};
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use tokio::sync::watch;

/// Number of newest runs whose changes are sent.
const NEWEST: usize = 200;
/// Maximum number of changes that are kept for streams that are behind.
const MOST_CHANGES: usize = 4096;

/// The newest changes of all projects.
#[derive(Debug)]
pub(super) struct Feed {
    state: Mutex<FeedState>,
    /// Number of the last change.
    newest: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct FeedState {
    /// What was seen of each project.
    seen: BTreeMap<usize, Seen>,
    changes: VecDeque<Change>,
    newest: u64,
}

/// The newest runs of a project, each with its status and epoch, and the version of its triggers.
#[derive(Debug, Default)]
struct Seen {
    runs: BTreeMap<RunId, (RunStatus, u64)>,
    triggers: Option<i64>,
}

/// A change as it is sent.
#[derive(Debug)]
struct Change {
    number: u64,
    project: usize,
    sse: Bytes,
    jsonl: Bytes,
}

impl Default for Feed {
    fn default() -> Self {
        Feed { state: Mutex::default(), newest: watch::Sender::new(0) }
    }
}

impl Feed {
    /// Numbers of changes of all projects from now on, each project with its id. Blocks for as long as a read of all projects takes.
    pub(super) fn subscribe(&self, projects: &[(&str, &SharedProject)]) -> watch::Receiver<u64> {
        // What changed before is no change for a stream that begins now.
        self.look(projects);
        self.newest.subscribe()
    }

    /// Whether a stream listens.
    pub(super) fn is_followed(&self) -> bool {
        self.newest.receiver_count() > 0
    }

    /// Finds what changed since the last look. Blocks for as long as a read of all projects takes.
    pub(super) fn look(&self, projects: &[(&str, &SharedProject)]) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        for (index, (id, shared)) in projects.iter().enumerate() {
            state.look_at(index, id, shared);
        }
        let newest = state.newest;
        self.newest.send_if_modified(|own| std::mem::replace(own, newest) != newest);
    }

    /// The changes of these projects after a number, and the number of the last one. A stream that is too far behind
    /// is told to read everything again.
    pub(super) fn after(&self, number: u64, projects: &[usize], form: Form) -> (Bytes, u64) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let first = state.changes.front().map_or(state.newest + 1, |change| change.number);
        if number + 1 < first {
            return (named("reset", &json!({}), form), state.newest);
        }
        let new = state.changes.iter().rev().take_while(|change| change.number > number);
        let new: Vec<&Change> = new.filter(|change| projects.contains(&change.project)).collect();
        let text = |change: &&Change| match form {
            Form::Sse => change.sse.clone(),
            Form::Jsonl => change.jsonl.clone(),
        };
        let parts: Vec<Bytes> = new.iter().rev().map(text).collect();
        (parts.concat().into(), state.newest)
    }
}

impl FeedState {
    fn look_at(&mut self, index: usize, id: &str, shared: &SharedProject) {
        let before = self.seen.remove(&index);
        let mut now = Seen::default();
        // A journal that cannot be read has no news.
        let rows = list_rows(&*shared.journal, &RunFilter::newest(NEWEST));
        for row in rows.unwrap_or_default() {
            let key = (row.status, row.epoch);
            if before.as_ref().is_some_and(|before| before.runs.get(&row.run) != Some(&key)) {
                let view = json!({
                    "project": id,
                    "run": row.run.as_str(),
                    "status": row.status.as_str(),
                    "definition": row.definition,
                    "startedAt": row.started_at.rfc3339(),
                    "endedAt": row.ended_at.map(|at| at.rfc3339()),
                });
                self.push(index, "run", &view);
            }
            now.runs.insert(row.run, key);
        }
        now.triggers = shared.store.newest_fire().ok();
        if before.is_some_and(|before| before.triggers != now.triggers) {
            self.push(index, "triggers", &json!({"project": id}));
        }
        self.seen.insert(index, now);
    }

    fn push(&mut self, project: usize, name: &str, view: &Value) {
        self.newest += 1;
        let (sse, jsonl) = (named(name, view, Form::Sse), named(name, view, Form::Jsonl));
        self.changes.push_back(Change { number: self.newest, project, sse, jsonl });
        while self.changes.len() > MOST_CHANGES {
            self.changes.pop_front();
        }
    }
}
