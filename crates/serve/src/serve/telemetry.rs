//! Follows the ends of runs: counts them for `/metrics`, and sends their traces to a collector.
//!
//! What was sent is a note of the trigger store, so that a daemon that was killed forgets nothing. A run may be sent
//! twice; its ids are the same. The work is a task of its own: neither long runs nor a slow collector delay a
//! schedule.

use kb_attempt::run_blocking;
use kb_base::value::{RunStatus, Timestamp};
use kb_core::redaction::Masked;
use kb_engine::journal::{Journal, RunRow};
use kb_language::definition::TraceSettings;
use kb_service::service::{Project, Reader, ServiceError, export_trace};
use kb_service::trigger::TriggerStore;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The note with the ends of runs whose traces were sent.
const CURSOR: &str = "traces.cursor";
/// Maximum number of traces that one task sends.
const MOST: usize = 50;
/// Wait after the first failure; it doubles with each further one up to the longest.
const FIRST_WAIT: Duration = Duration::from_secs(5);
const LONGEST_WAIT: Duration = Duration::from_secs(300);

/// The runs of a playbook that ended with a status since the daemon started.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct EndedRuns {
    /// How many.
    pub runs: u64,
    /// The sum of their durations in seconds.
    pub seconds: f64,
    /// The sum of their prompt tokens.
    pub prompt_tokens: u64,
    /// The sum of their response tokens.
    pub completion_tokens: u64,
    /// The sum of their costs in US dollars, as far as prices are known.
    pub cost_usd: f64,
}

/// What a daemon counts in a project.
#[derive(Debug, Clone, Default)]
pub struct Counted {
    /// Runs that ended, by playbook and status.
    pub ended: BTreeMap<(String, RunStatus), EndedRuns>,
    /// Number of runs whose traces the collector has.
    pub exported: u64,
    /// Number of runs whose traces the collector refused.
    pub refused: u64,
    /// Number of files of triggers whose digest is computed later.
    pub files_waiting: usize,
    /// Why the last attempt to send traces failed.
    pub problem: Option<Masked<String>>,
}

/// The counters of a project, shared with the server.
#[derive(Debug, Clone, Default)]
pub struct Telemetry {
    counted: Arc<Mutex<Counted>>,
    is_busy: Arc<AtomicBool>,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// Up to where ends of runs were counted.
    counted: Option<Cursor>,
    failures: u32,
    retry: Option<Timestamp>,
}

/// The ends of runs that were handled: all before a time, and some at it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Cursor {
    at: i64,
    /// `RUN EPOCH` of those that ended at this time.
    seen: BTreeSet<String>,
}

impl Cursor {
    fn at(now: Timestamp) -> Cursor {
        Cursor { at: now.0, seen: BTreeSet::new() }
    }

    /// The ends since the cursor, oldest first.
    fn new_ends(&self, journal: &dyn Journal) -> Result<Vec<RunRow>, ServiceError> {
        let mut rows = journal.ended_since(Timestamp(self.at))?;
        rows.retain(|row| !self.seen.contains(&key(row)) && row.status.has_ended());
        rows.sort_by_key(|row| row.ended_at);
        Ok(rows)
    }

    fn advance(&mut self, row: &RunRow) {
        let ended = row.ended_at.unwrap_or(Timestamp(self.at)).0;
        if ended > self.at {
            *self = Cursor { at: ended, seen: BTreeSet::new() };
        }
        self.seen.insert(key(row));
    }
}

fn key(row: &RunRow) -> String {
    format!("{} {}", row.run, row.epoch)
}

/// What a task works on.
pub(super) struct Followed {
    pub(super) project: Arc<Project>,
    pub(super) store: Arc<TriggerStore>,
    pub(super) journal: Arc<dyn Journal>,
}

impl Telemetry {
    /// What was counted up to now.
    pub fn counted(&self) -> Counted {
        self.lock().clone()
    }

    pub(super) fn set_files_waiting(&self, count: usize) {
        self.lock().files_waiting = count;
    }

    fn lock(&self) -> MutexGuard<'_, Counted> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Handles the ends of runs since the last call, unless an earlier call is still at work.
    pub(super) fn follow(&self, followed: Followed, now: Timestamp) {
        self.state().counted.get_or_insert_with(|| Cursor::at(now));
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if self.is_busy.swap(true, Ordering::AcqRel) {
            return;
        }
        let own = self.clone();
        runtime.spawn(async move {
            let redactors = followed.project.context.environment.redactors.clone();
            if let Err(error) = own.work(followed).await {
                own.lock().problem = Some(redactors.mask(error.to_string()));
            }
            own.is_busy.store(false, Ordering::Release);
        });
    }

    async fn work(&self, followed: Followed) -> Result<(), ServiceError> {
        let followed = Arc::new(followed);
        let (own, read) = (self.clone(), followed.clone());
        let counted = tokio::task::spawn_blocking(move || own.count(&read)).await;
        counted.unwrap_or(Ok(()))?;
        let to = followed.project.catalog.settings.serve.traces.clone();
        match to {
            Some(to) => self.export(&followed, &to).await,
            None => run_blocking(|| forget(&followed)),
        }
    }

    fn count(&self, followed: &Followed) -> Result<(), ServiceError> {
        let Some(mut cursor) = self.state().counted.clone() else { return Ok(()) };
        for row in cursor.new_ends(&*followed.journal)? {
            // A run whose definitions cannot be loaded still counts.
            let view = Reader::open(followed.journal.clone(), row.run.as_str());
            let view = view.and_then(|mut reader| reader.view(followed.project.clock().now())).ok();
            let mut counted = self.lock();
            let ended = counted.ended.entry((row.definition.clone(), row.status)).or_default();
            ended.runs += 1;
            if let Some(view) = view {
                ended.seconds += view.duration_ms.unwrap_or(0) as f64 / 1000.0;
                ended.prompt_tokens += view.usage.prompt_tokens;
                ended.completion_tokens += view.usage.completion_tokens;
                ended.cost_usd += view.usage.cost_usd.unwrap_or(0.0);
            }
            drop(counted);
            tracing::info!(run = %row.run, playbook = row.definition, status = row.status.as_str(), "run ended");
            cursor.advance(&row);
        }
        self.state().counted = Some(cursor);
        Ok(())
    }

    async fn export(&self, followed: &Followed, to: &TraceSettings) -> Result<(), ServiceError> {
        let now = followed.project.clock().wall();
        if self.state().retry.is_some_and(|retry| now < retry) {
            return Ok(());
        }
        let noted = run_blocking(|| followed.store.note(CURSOR))?;
        let cursor = noted.and_then(|text| serde_json::from_str::<Cursor>(&text).ok());
        let Some(mut cursor) = cursor else {
            return note(followed, &Cursor::at(now));
        };
        let ended = run_blocking(|| cursor.new_ends(&*followed.journal))?;
        for row in ended.into_iter().take(MOST) {
            match export_trace(&followed.project, to, &followed.journal, &row.run).await {
                Ok(()) => {
                    let mut counted = self.lock();
                    (counted.exported, counted.problem) = (counted.exported + 1, None);
                }
                Err(failure) if failure.is_final => {
                    tracing::error!(run = %row.run, "the trace is not sent: {}", failure.problem);
                    let mut counted = self.lock();
                    (counted.refused, counted.problem) =
                        (counted.refused + 1, Some(failure.problem));
                }
                Err(failure) => {
                    let mut state = self.state();
                    let wait = FIRST_WAIT.saturating_mul(1 << state.failures.min(10));
                    let wait = wait.min(LONGEST_WAIT).max(failure.retry_after.unwrap_or_default());
                    state.retry = Some(followed.project.clock().wall().after(wait));
                    state.failures += 1;
                    drop(state);
                    tracing::warn!(run = %row.run, "traces will be sent later: {}", failure.problem);
                    self.lock().problem = Some(failure.problem);
                    return Ok(());
                }
            }
            cursor.advance(&row);
            note(followed, &cursor)?;
            let mut state = self.state();
            (state.failures, state.retry) = (0, None);
        }
        Ok(())
    }
}

/// What ends while nothing is sent is not sent later.
fn forget(followed: &Followed) -> Result<(), ServiceError> {
    if followed.store.note(CURSOR)?.is_some_and(|text| !text.is_empty()) {
        Ok(followed.store.set_note(CURSOR, "")?)
    } else {
        Ok(())
    }
}

fn note(followed: &Followed, cursor: &Cursor) -> Result<(), ServiceError> {
    let text = serde_json::to_string(cursor).unwrap_or_default();
    Ok(run_blocking(|| followed.store.set_note(CURSOR, &text))?)
}
