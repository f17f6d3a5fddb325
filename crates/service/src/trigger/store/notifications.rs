//! Notifications to the hooks of `notify`, until they are delivered or given up.

use super::TriggerStore;
use kb_base::value::{RunId, Timestamp};
use kb_core::redaction::Masked;
use kb_engine::journal::JournalError;
use rusqlite::{OptionalExtension, Row, params};
use serde::Serialize;

/// Maximum number of notifications of one hook that wait; further ones are given up at once.
const MOST_WAITING: i64 = 1000;

const COLUMNS: &str = "id, hook, run, event, body, state, attempts, due, problem, at";

/// Whether a notification was delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NotificationState {
    /// It will be sent, or sent again.
    Waiting,
    /// The hook accepted it.
    Delivered,
    /// It was not accepted and is not sent again.
    Failed,
}

impl NotificationState {
    /// The name in the store and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            NotificationState::Waiting => "waiting",
            NotificationState::Delivered => "delivered",
            NotificationState::Failed => "failed",
        }
    }

    fn parse(text: &str) -> NotificationState {
        let all = [NotificationState::Waiting, NotificationState::Delivered];
        all.into_iter().find(|state| state.as_str() == text).unwrap_or(NotificationState::Failed)
    }
}

/// A notification to store. The id is a function of the hook and what happened, so that the same event is stored
/// once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewNotification {
    /// The id, which the receiver gets too.
    pub id: String,
    /// Name of the hook.
    pub hook: String,
    /// Id of the run that it is about; `None`: it is about triggers.
    pub run: Option<RunId>,
    /// What happened: `run.failed`, `trigger.stopped` and so on.
    pub event: String,
    /// The notification as JSON text.
    pub body: Masked<String>,
}

/// A stored notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notification {
    /// The id, which the receiver gets too.
    pub id: String,
    /// Name of the hook.
    pub hook: String,
    /// Id of the run; empty for one about triggers.
    pub run: String,
    /// What happened.
    pub event: String,
    /// The notification as JSON text.
    pub body: Masked<String>,
    /// Whether it was delivered.
    pub state: NotificationState,
    /// Number of attempts.
    pub attempts: u32,
    /// Time of the next attempt.
    pub due: Timestamp,
    /// Why the last attempt failed.
    pub problem: Option<Masked<String>>,
    /// When it was stored.
    pub at: Timestamp,
}

impl TriggerStore {
    /// Whether a notification with this id was stored.
    pub fn has_notification(&self, id: &str) -> Result<bool, JournalError> {
        let connection = self.connection();
        let mut query = connection.prepare_cached("SELECT 1 FROM notifications WHERE id = ?1")?;
        Ok(query.query_row([id], |_| Ok(())).optional()?.is_some())
    }

    /// Stores notifications and keeps notes with them, in one transaction. Ids that exist change nothing.
    pub fn add_notifications(
        &self,
        all: &[NewNotification],
        notes: &[(&str, String)],
        now: Timestamp,
    ) -> Result<(), JournalError> {
        self.transaction(|c| {
            for new in all {
                let waiting: i64 = c
                    .prepare_cached(
                        "SELECT count(*) FROM notifications WHERE hook = ?1 AND state = 'waiting'",
                    )?
                    .query_row([&new.hook], |row| row.get(0))?;
                let full = waiting >= MOST_WAITING;
                let state =
                    if full { NotificationState::Failed } else { NotificationState::Waiting };
                let problem = full.then(|| format!("{MOST_WAITING} notifications wait already"));
                c.prepare_cached(
                    "INSERT INTO notifications (id, hook, run, event, body, state, due, problem, at)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?7) ON CONFLICT DO NOTHING",
                )?
                .execute(params![
                    new.id,
                    new.hook,
                    new.run.as_ref().map_or("", RunId::as_str),
                    new.event,
                    new.body.as_str(),
                    state.as_str(),
                    now.0,
                    problem
                ])?;
            }
            for (name, value) in notes {
                c.prepare_cached(
                    "INSERT INTO notes (name, value) VALUES (?1, ?2)
                     ON CONFLICT (name) DO UPDATE SET value = ?2",
                )?
                .execute([name, value.as_str()])?;
            }
            Ok(())
        })
    }

    /// Notifications whose next attempt is due, oldest first.
    pub fn due_notifications(
        &self,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<Notification>, JournalError> {
        self.notifications_where("state = 'waiting' AND due <= ?1 ORDER BY due, at", now.0, limit)
    }

    /// The newest notifications, newest first.
    pub fn notifications(&self, limit: usize) -> Result<Vec<Notification>, JournalError> {
        self.notifications_where("at >= ?1 ORDER BY at DESC, id", i64::MIN, limit)
    }

    fn notifications_where(
        &self,
        condition: &str,
        value: i64,
        limit: usize,
    ) -> Result<Vec<Notification>, JournalError> {
        let connection = self.connection();
        let text = format!("SELECT {COLUMNS} FROM notifications WHERE {condition} LIMIT ?2");
        let mut query = connection.prepare_cached(&text)?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = query.query_map(params![value, limit], notification)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Records the result of an attempt: `next` is the time of the next one.
    pub fn notified(
        &self,
        id: &str,
        state: NotificationState,
        problem: Option<&Masked<String>>,
        next: Timestamp,
    ) -> Result<(), JournalError> {
        self.transaction(|c| {
            c.execute(
                "UPDATE notifications SET state = ?2, problem = ?3, due = ?4,
                 attempts = attempts + 1 WHERE id = ?1",
                params![id, state.as_str(), problem.map(|text| text.as_str()), next.0],
            )
        })
        .map(drop)
    }
}

fn notification(row: &Row<'_>) -> rusqlite::Result<Notification> {
    Ok(Notification {
        id: row.get(0)?,
        hook: row.get(1)?,
        run: row.get(2)?,
        event: row.get(3)?,
        // Both were masked when they were stored.
        body: Masked::composed(row.get(4)?),
        state: NotificationState::parse(&row.get::<_, String>(5)?),
        attempts: row.get(6)?,
        due: Timestamp(row.get(7)?),
        problem: row.get::<_, Option<String>>(8)?.map(Masked::composed),
        at: Timestamp(row.get(9)?),
    })
}
