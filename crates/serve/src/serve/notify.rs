//! Notifies the hooks of `notify` of runs and triggers: finds what happened, stores it, and sends each notification
//! until it is delivered or given up.
//!
//! What happened is stored before anything is sent, under an id that is a function of hook, run and event,
//! so that a daemon that is killed forgets nothing and sends each event under one id. A hook may receive
//! it twice; the id is the same.

use super::catalog::TriggerCatalog;
use super::lease::address_in;
use super::trigger_news;
use kb_attempt::run_blocking;
use kb_base::diagnostic::Code;
use kb_base::value::{Digest, Failure, RunId, Timestamp};
use kb_core::redaction::Masked;
use kb_core::run::RunStatus;
use kb_core::wire::RunView;
use kb_engine::journal::{Journal, JournalError, RunQuery, RunRow};
use kb_language::definition::{NotifyEvent, NotifyHook, NotifyTarget};
use kb_service::service::{
    Project, Reader, ServiceError, TEST_RUN, TriggerNews, notification, send_notification,
    test_notification, trigger_notification,
};
use kb_service::trigger::{NewNotification, Notification, NotificationState, TriggerStore};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The note with the time up to which ends of runs were handled.
const CURSOR: &str = "notify.cursor";
/// Time before each further attempt; after the last one the notification is given up.
const RETRIES: [u64; 7] = [5, 30, 300, 1800, 7200, 18_000, 36_000];
/// Maximum number of attempts at the same time.
const PARALLEL: usize = 4;

/// What a notifier reads and writes.
pub(super) struct Notified<'a> {
    pub(super) project: &'a Arc<Project>,
    pub(super) store: &'a Arc<TriggerStore>,
    pub(super) journal: &'a Arc<dyn Journal>,
    pub(super) triggers: &'a TriggerCatalog,
}

/// Tells the hooks of one project.
#[derive(Debug, Default)]
pub(super) struct Notifier {
    /// Waiting runs, with the number of their last event that was read.
    waiting: BTreeMap<RunId, u64>,
    /// Ids of the notifications that are being sent.
    sending: Arc<Mutex<BTreeSet<String>>>,
}

impl Notifier {
    /// Stores what happened to triggers and runs since the last call.
    pub(super) fn find(
        &mut self,
        served: &Notified<'_>,
        now: Timestamp,
    ) -> Result<(), ServiceError> {
        self.find_triggers(served, now)?;
        self.find_runs(served, now)
    }

    fn find_triggers(&self, served: &Notified<'_>, now: Timestamp) -> Result<(), ServiceError> {
        let (project, store) = (served.project, served.store);
        let found = trigger_news::find(project, served.triggers, store)?;
        if found.notes.is_empty() {
            return Ok(());
        }
        let pages = pages_of(project);
        let mut new = Vec::new();
        for (event, news) in &found.news {
            trigger_news::log(*event, news);
            for hook in &project.catalog.settings.notify {
                let wanted = |playbook: &String| wants(hook, playbook, *event);
                let own = news.iter().filter(|one| wanted(&one.playbook)).cloned();
                let own: Vec<TriggerNews> = own.collect();
                if own.is_empty() {
                    continue;
                }
                let ids: Vec<&str> = own.iter().map(|one| one.trigger.as_str()).collect();
                let id = id_of(&hook.name, &ids.join(" "), *event, &now.0.to_string());
                let body =
                    trigger_notification(&own, *event, now, pages.as_deref(), store.redactor());
                let (hook, event) = (hook.name.clone(), format!("trigger.{}", event.as_str()));
                new.push(NewNotification { id, hook, run: None, event, body });
            }
        }
        Ok(store.add_notifications(&new, &found.notes, now)?)
    }

    fn find_runs(&mut self, served: &Notified<'_>, now: Timestamp) -> Result<(), ServiceError> {
        let hooks = &served.project.catalog.settings.notify;
        let cursor = served.store.note(CURSOR)?.and_then(|text| text.parse().ok()).map(Timestamp);
        let Some(cursor) = cursor else {
            // Nothing is sent about runs that ended before the first daemon.
            return Ok(served.store.set_note(CURSOR, &now.0.to_string())?);
        };
        if hooks.is_empty() {
            self.waiting.clear();
            let due = now.since(cursor) > Duration::from_secs(60);
            return if due {
                Ok(served.store.set_note(CURSOR, &now.0.to_string())?)
            } else {
                Ok(())
            };
        }
        let mut found = Vec::new();
        let mut last = cursor;
        for row in served.journal.ended_since(cursor)? {
            let Some((ended, event)) = row.ended_at.zip(event_of(row.status)) else { continue };
            last = last.max(ended);
            let key = format!("{} {}", row.epoch, event.as_str());
            // A hook is notified once of an end, of what says most about it.
            let events = if event == NotifyEvent::Succeeded && follows_a_failure(served, &row)? {
                vec![NotifyEvent::Recovered, event]
            } else {
                vec![event]
            };
            self.add(served, hooks, &row, &events, &key, ended, &mut found)?;
        }
        self.find_waiting(served, hooks, now, &mut found)?;
        if last != cursor || !found.is_empty() {
            served.store.add_notifications(&found, &[(CURSOR, last.0.to_string())], now)?;
        }
        Ok(())
    }

    fn find_waiting(
        &mut self,
        served: &Notified<'_>,
        hooks: &[NotifyHook],
        now: Timestamp,
        found: &mut Vec<NewNotification>,
    ) -> Result<(), ServiceError> {
        let rows = served.journal.waiting()?;
        self.waiting.retain(|run, _| rows.iter().any(|row| row.run == *run));
        for row in rows {
            let seen = self.waiting.get(&row.run).copied().unwrap_or(0);
            let new = served.journal.read_events(&row.run, seen, usize::MAX)?;
            let Some(last) = new.last() else { continue };
            self.waiting.insert(row.run.clone(), last.seq);
            let Some(view) = view_of(served, &row)? else { continue };
            let asked = view.steps.iter().filter_map(|step| {
                let question = step.question.as_ref()?;
                let (name, iteration) = (&step.instance, step.iteration);
                Some(format!("{name} {iteration} {} {}", step.attempts, question.text))
            });
            let asked: Vec<String> = asked.collect();
            let events = [NotifyEvent::Waiting];
            self.add(served, hooks, &row, &events, &asked.join("\n"), now, found)?;
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments)]
    fn add(
        &self,
        served: &Notified<'_>,
        hooks: &[NotifyHook],
        row: &RunRow,
        events: &[NotifyEvent],
        key: &str,
        at: Timestamp,
        found: &mut Vec<NewNotification>,
    ) -> Result<(), ServiceError> {
        let mut view = None;
        for hook in hooks {
            let wanted = |event: &&NotifyEvent| wants(hook, &row.definition, **event);
            let Some(event) = events.iter().find(wanted).copied() else { continue };
            let id = id_of(&hook.name, row.run.as_str(), event, key);
            if served.store.has_notification(&id)? {
                continue;
            }
            if view.is_none() {
                view = view_of(served, row)?;
            }
            let Some(view) = &view else { return Ok(()) };
            // A run that a notification started must not start runs by its own end for ever.
            let is_playbook = matches!(hook.target, NotifyTarget::Playbook(_));
            let fire = served.store.fire_of(&row.run)?;
            if is_playbook && fire.is_some_and(|fire| fire.trigger == "notify") {
                continue;
            }
            let body = notification(view, event, at, pages_of(served.project).as_deref());
            let (hook, run) = (hook.name.clone(), Some(row.run.clone()));
            let event = format!("run.{}", event.as_str());
            found.push(NewNotification { id, hook, run, event, body });
        }
        Ok(())
    }

    /// Starts the attempts that are due, each as a task of its own.
    pub(super) fn send(
        &mut self,
        served: &Notified<'_>,
        now: Timestamp,
    ) -> Result<(), ServiceError> {
        let busy = || self.sending.lock().unwrap_or_else(PoisonError::into_inner);
        let free = PARALLEL.saturating_sub(busy().len());
        if free == 0 || served.project.require_valid_settings().is_err() {
            return Ok(());
        }
        for due in served.store.due_notifications(now, PARALLEL * 2)?.into_iter() {
            if busy().len() >= PARALLEL {
                break;
            }
            if !busy().insert(due.id.clone()) {
                continue;
            }
            let (project, store) = (served.project.clone(), served.store.clone());
            let sending = self.sending.clone();
            tokio::spawn(async move {
                if let Err(error) = attempt(&project, &store, &due).await {
                    tracing::error!(notification = %due.id, "{error}");
                }
                sending.lock().unwrap_or_else(PoisonError::into_inner).remove(&due.id);
            });
        }
        Ok(())
    }
}

async fn attempt(
    project: &Project,
    store: &TriggerStore,
    due: &Notification,
) -> Result<(), JournalError> {
    let hooks = &project.catalog.settings.notify;
    let sent = match hooks.iter().find(|hook| hook.name == due.hook) {
        Some(hook) => Some(send_notification(project, hook, due).await),
        None => None,
    };
    let now = project.clock().wall();
    let hook = &due.hook;
    let (state, problem, next) = match sent {
        None => {
            let problem = "the settings do not have this hook any more";
            (NotificationState::Failed, Some(problem.into()), due.due)
        }
        Some(Ok(())) => (NotificationState::Delivered, None, now),
        Some(Err(failure)) => {
            let problem = &failure.problem;
            match RETRIES.get(due.attempts as usize).filter(|_| !failure.is_final) {
                Some(seconds) => {
                    let wait = failure.retry_after.unwrap_or_default();
                    let next = now.after(wait.max(Duration::from_secs(*seconds)));
                    tracing::warn!(hook, run = %due.run, "the notification failed and will be sent again: {problem}");
                    (NotificationState::Waiting, Some(failure.problem), next)
                }
                None => {
                    tracing::error!(hook, run = %due.run, "the notification failed: {problem}");
                    (NotificationState::Failed, Some(failure.problem), now)
                }
            }
        }
    };
    run_blocking(|| store.notified(&due.id, state, problem.as_ref(), next))
}

fn event_of(status: RunStatus) -> Option<NotifyEvent> {
    match status {
        RunStatus::Succeeded => Some(NotifyEvent::Succeeded),
        RunStatus::Failed => Some(NotifyEvent::Failed),
        RunStatus::Cancelled => Some(NotifyEvent::Cancelled),
        RunStatus::Running | RunStatus::Waiting | RunStatus::Interrupted => None,
    }
}

/// Whether the run of the same playbook that ended before this one failed.
fn follows_a_failure(served: &Notified<'_>, row: &RunRow) -> Result<bool, ServiceError> {
    let query = RunQuery {
        statuses: vec![RunStatus::Succeeded, RunStatus::Failed],
        definition: Some(row.definition.clone()),
        before: Some(row.run.clone()),
        limit: 1,
        ..RunQuery::default()
    };
    Ok(served.journal.select(&query)?.iter().any(|before| before.status == RunStatus::Failed))
}

/// The address of the pages for links.
fn pages_of(project: &Project) -> Option<String> {
    let address = || address_in(&project.context.state_dir);
    project.catalog.settings.serve.url.clone().or_else(address)
}

fn wants(hook: &NotifyHook, playbook: &String, event: NotifyEvent) -> bool {
    hook.on.contains(&event) && (hook.playbooks.is_empty() || hook.playbooks.contains(playbook))
}

fn id_of(hook: &str, subject: &str, event: NotifyEvent, key: &str) -> String {
    let text = format!("{hook}\n{subject}\n{}\n{key}", event.as_str());
    let digest = Digest::of(text).to_string();
    format!("msg_{}", &digest[..32])
}

/// The view of a run; `None` for a child run, which is part of another one.
fn view_of(served: &Notified<'_>, row: &RunRow) -> Result<Option<Masked<RunView>>, ServiceError> {
    let mut reader = Reader::open(served.journal.clone(), row.run.as_str())?;
    let view = reader.view(served.project.clock().now())?;
    Ok(Some(view).filter(|view| view.parent.is_none()))
}

/// A notification, for `kb notify` and the pages.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NotificationView {
    /// The id, which the receiver gets too.
    pub id: String,
    /// Name of the hook.
    pub hook: String,
    /// Id of the run; absent for one about triggers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// What happened: `run.failed`, `trigger.stopped` and so on.
    pub event: String,
    /// `waiting`, `delivered` or `failed`.
    pub state: NotificationState,
    /// Number of attempts.
    pub attempts: u32,
    /// When it was stored.
    pub at: String,
    /// Time of the next attempt.
    pub next: Option<String>,
    /// Why the last attempt failed.
    pub problem: Option<Masked<String>>,
}

/// The newest notifications of a project, newest first.
pub fn notifications(
    project: &Project,
    limit: usize,
) -> Result<Vec<NotificationView>, ServiceError> {
    let all = TriggerStore::open(&project.context.state_dir)?.notifications(limit)?;
    Ok(all.into_iter().map(view).collect())
}

fn view(n: Notification) -> NotificationView {
    NotificationView {
        next: (n.state == NotificationState::Waiting).then(|| n.due.rfc3339()),
        state: n.state,
        at: n.at.rfc3339(),
        id: n.id,
        hook: n.hook,
        run: Some(n.run).filter(|run| !run.is_empty()),
        event: n.event,
        attempts: n.attempts,
        problem: n.problem,
    }
}

/// Tells a hook of the settings about a run that does not exist, once and now.
pub async fn send_test_notification(project: &Project, name: &str) -> Result<(), ServiceError> {
    project.require_valid_settings()?;
    let hooks = &project.catalog.settings.notify;
    let refused = |message: String, help: String| {
        ServiceError::refused(Failure::new(Code::NOTIFY_FAILED, message).help(help))
    };
    let Some(hook) = hooks.iter().find(|hook| hook.name == name) else {
        let names: Vec<&str> = hooks.iter().map(|hook| hook.name.as_str()).collect();
        let help = if names.is_empty() {
            "declare hooks below `notify` in the settings".to_owned()
        } else {
            format!("the hooks are {}", names.join(", "))
        };
        return Err(refused(format!("the settings have no hook `{name}`"), help));
    };
    let now = project.clock().wall();
    let event = hook.on.first().copied().unwrap_or(NotifyEvent::Failed);
    let due = Notification {
        id: format!("msg_test_{}", now.0),
        hook: name.to_owned(),
        run: TEST_RUN.to_owned(),
        event: format!("run.{}", event.as_str()),
        body: test_notification(hook, event, now),
        state: NotificationState::Waiting,
        attempts: 0,
        due: now,
        problem: None,
        at: now,
    };
    send_notification(project, hook, &due).await.map_err(|failure| {
        let message = format!("the notification to `{name}` failed: {}", failure.problem);
        let failure = Failure::new(Code::NOTIFY_FAILED, message);
        ServiceError::environment(failure.help("correct the hook in the settings and try again"))
    })
}
