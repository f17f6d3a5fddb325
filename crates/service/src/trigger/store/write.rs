//! The writes of the store, each one transaction.

use super::{Fire, FireState, NewFire, Recorded, TriggerStore};
use crate::trigger::ids::run_id;
use kb_base::value::{Digest, Json, JsonMap, RunId, Timestamp};
use kb_core::redaction::Redactor;
use kb_engine::journal::JournalError;
use rusqlite::{Connection, TransactionBehavior, params};

impl TriggerStore {
    pub(super) fn transaction<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, JournalError> {
        let mut connection = self.connection();
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let done = work(&transaction)?;
        transaction.commit()?;
        Ok(done)
    }

    /// Enables a definition. The cursor moves to now unless this definition was enabled before.
    pub fn enable(
        &self,
        trigger: &str,
        digest: &Digest,
        now: Timestamp,
    ) -> Result<(), JournalError> {
        self.transaction(|c| {
            self.changed(c, trigger, "enabled", now)?;
            c.execute(
                "INSERT INTO triggers (trigger, digest, cursor) VALUES (?1, ?2, ?3)
                 ON CONFLICT (trigger) DO UPDATE SET cursor = CASE WHEN digest IS ?2 THEN cursor
                 ELSE ?3 END, failures = 0, paused = NULL, digest = ?2",
                params![trigger, digest.to_string(), now.0],
            )
        })
        .map(drop)
    }

    /// Disables a trigger. Its fires that wait for their start are skipped.
    pub fn disable(&self, trigger: &str, now: Timestamp) -> Result<(), JournalError> {
        self.transaction(|c| {
            self.changed(c, trigger, "disabled", now)?;
            c.execute(
                "UPDATE triggers SET digest = NULL, paused = NULL, failures = 0 WHERE trigger = ?1",
                [trigger],
            )?;
            c.execute(
                "UPDATE fires SET state = 'skipped', reason = 'the trigger was disabled', ended_at = ?2
                 WHERE trigger = ?1 AND state = 'queued'",
                params![trigger, now.0],
            )
        })
        .map(drop)
    }

    /// Pauses a trigger.
    pub fn pause(&self, trigger: &str, reason: &str, now: Timestamp) -> Result<(), JournalError> {
        let sql = "UPDATE triggers SET paused = ?2 WHERE trigger = ?1";
        self.transaction(|c| {
            self.changed(c, trigger, "paused", now)?;
            c.execute(sql, [trigger, reason])
        })
        .map(drop)
    }

    /// Pauses all enabled triggers that are not paused. Returns their number.
    pub fn pause_all(&self, reason: &str) -> Result<usize, JournalError> {
        let sql = "UPDATE triggers SET paused = ?1 WHERE digest IS NOT NULL AND paused IS NULL";
        self.transaction(|c| c.execute(sql, [reason]))
    }

    /// Ends the pause of a trigger and resets its count of failed runs.
    pub fn resume(&self, trigger: &str, now: Timestamp) -> Result<(), JournalError> {
        let sql = "UPDATE triggers SET paused = NULL, failures = 0 WHERE trigger = ?1";
        self.transaction(|c| {
            self.changed(c, trigger, "resumed", now)?;
            c.execute(sql, [trigger])
        })
        .map(drop)
    }

    fn changed(
        &self,
        c: &Connection,
        trigger: &str,
        what: &str,
        now: Timestamp,
    ) -> rusqlite::Result<usize> {
        c.execute(
            "INSERT INTO changes (trigger, what, by, at) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (trigger) DO UPDATE SET what = ?2, by = ?3, at = ?4",
            params![trigger, what, self.by, now.0],
        )
    }

    /// Records the nominal times of schedules with their new cursors, all in one transaction. A fire
    /// whose key exists already changes nothing. A trigger that was disabled or paused meanwhile is left
    /// out; its times are accounted for again.
    pub fn record(&self, all: &[Recorded], now: Timestamp) -> Result<(), JournalError> {
        self.transaction(|c| {
            for recorded in all {
                let moved = c
                    .prepare_cached(
                        "UPDATE triggers SET cursor = ?2 WHERE trigger = ?1 AND digest IS NOT NULL",
                    )?
                    .execute(params![recorded.trigger, recorded.cursor.0])?;
                if moved == 1 {
                    for fire in &recorded.fires {
                        self.insert(c, fire, now)?;
                    }
                }
            }
            Ok(())
        })
    }

    /// Records one fire. Returns false if the key exists already.
    pub fn add(&self, fire: &NewFire, now: Timestamp) -> Result<bool, JournalError> {
        self.transaction(|c| self.insert(c, fire, now))
    }

    /// Records that the process of a fire is about to be started.
    pub fn started(&self, fire: &Fire, now: Timestamp) -> Result<(), JournalError> {
        self.transaction(|c| {
            c.execute(
                "UPDATE fires SET state = 'started', attempts = attempts + 1, reason = NULL,
                 started_at = coalesce(started_at, ?2) WHERE id = ?1",
                params![fire.id, now.0],
            )
        })
        .map(drop)
    }

    /// Records that the process of a fire ended before it could do anything, and why. It does not count as an
    /// attempt. A fire whose run `exists` stays started; another one waits for its start again.
    pub fn delayed(&self, fire: &Fire, exists: bool, reason: &str) -> Result<(), JournalError> {
        let state = if exists { FireState::Started } else { FireState::Queued };
        self.transaction(|c| {
            c.execute(
                "UPDATE fires SET state = ?2, reason = ?3, attempts = max(attempts - 1, 0) WHERE id = ?1",
                params![fire.id, state.as_str(), reason],
            )
        })
        .map(drop)
    }

    /// Records the end of a fire.
    pub fn ended(
        &self,
        fire: &Fire,
        state: FireState,
        reason: Option<&str>,
        now: Timestamp,
    ) -> Result<(), JournalError> {
        self.transaction(|c| {
            c.execute(
                "UPDATE fires SET state = ?2, reason = ?3, ended_at = ?4 WHERE id = ?1",
                params![fire.id, state.as_str(), reason, now.0],
            )?;
            let failures = match state {
                FireState::Ended(kb_language::definition::RunEnd::Failed) => "failures + 1",
                FireState::Ended(kb_language::definition::RunEnd::Succeeded) => "0",
                _ => "failures",
            };
            let sql = format!("UPDATE triggers SET failures = {failures} WHERE trigger = ?1");
            c.execute(&sql, [&fire.trigger])
        })
        .map(drop)
    }

    /// Records that a delivery was seen. Returns the run of an earlier delivery with the same key.
    pub fn deliver(&self, fire: &NewFire, now: Timestamp) -> Result<Delivery, JournalError> {
        let run = run_id(&fire.trigger, &fire.key);
        self.transaction(|c| {
            let new = c.execute(
                "INSERT INTO deliveries (hook, key, run, at) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT DO NOTHING",
                params![fire.trigger, fire.key, run.as_str(), now.0],
            )?;
            if new == 1 {
                self.insert(c, fire, now)?;
            }
            Ok(Delivery { run, repeated: new == 0 })
        })
    }

    /// Stores a message of a run. Returns false if the topic has a message with this id.
    pub fn publish(
        &self,
        topic: &str,
        id: &str,
        body: &Json,
        run: Option<&RunId>,
        now: Timestamp,
    ) -> Result<bool, JournalError> {
        self.transaction(|c| {
            c.execute(
                "INSERT INTO messages (id, topic, body, run, at) VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT DO NOTHING",
                params![
                    id,
                    topic,
                    self.redactor.mask_json(body).to_string(),
                    run.map(RunId::as_str),
                    now.0
                ],
            )
        })
        .map(|new| new == 1)
    }

    /// The messages that no daemon has handled, oldest first.
    pub fn messages(&self) -> Result<Vec<StoredMessage>, JournalError> {
        let connection = self.connection();
        let mut query = connection.prepare_cached(
            "SELECT topic, id, body, run, at FROM messages WHERE taken = 0 ORDER BY at, id LIMIT 1000",
        )?;
        let rows = query.query_map([], |row| {
            let body: String = row.get(2)?;
            Ok(StoredMessage {
                topic: row.get(0)?,
                id: row.get(1)?,
                body: serde_json::from_str(&body).unwrap_or(Json::Null),
                run: row.get::<_, Option<String>>(3)?.and_then(|run| RunId::new(run).ok()),
                at: Timestamp(row.get(4)?),
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Records the fires of messages and that the messages are handled.
    pub fn take_messages(
        &self,
        messages: &[StoredMessage],
        fires: &[NewFire],
        now: Timestamp,
    ) -> Result<(), JournalError> {
        self.transaction(|c| {
            for message in messages {
                c.execute(
                    "UPDATE messages SET taken = 1 WHERE topic = ?1 AND id = ?2",
                    [&message.topic, &message.id],
                )?;
            }
            fires.iter().try_for_each(|fire| self.insert(c, fire, now).map(drop))
        })
    }

    fn insert(&self, c: &Connection, fire: &NewFire, now: Timestamp) -> rusqlite::Result<bool> {
        let run = (fire.state == FireState::Queued).then(|| run_id(&fire.trigger, &fire.key));
        let new = c
            .prepare_cached(
                "INSERT INTO fires (trigger, key, playbook, nominal, until, run, digest, state, reason,
                 params, depth, at, by)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
                 ON CONFLICT DO NOTHING",
            )?
            .execute(params![
                fire.trigger,
                fire.key,
                fire.playbook,
                fire.nominal.map(|at| at.0),
                fire.until.map(|at| at.0),
                run.as_ref().map(RunId::as_str),
                fire.digest.map(|digest| digest.to_string()),
                fire.state.as_str(),
                fire.reason.as_deref().map(|reason| self.redactor.mask_text(reason)),
                params_text(&self.redactor, &fire.params),
                fire.depth,
                now.0,
                self.by
            ])?;
        Ok(new == 1)
    }
}

/// A message of a topic.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredMessage {
    /// The topic that it was published to.
    pub topic: String,
    /// The id, unique in the topic.
    pub id: String,
    /// The message, as JSON.
    pub body: Json,
    /// The run that sent it.
    pub run: Option<RunId>,
    /// When it was stored.
    pub at: Timestamp,
}

/// The result of [`TriggerStore::deliver`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The run of this delivery or of the earlier one.
    pub run: RunId,
    /// Whether the same delivery was seen before.
    pub repeated: bool,
}

fn params_text(redactor: &Redactor, params: &JsonMap) -> String {
    redactor.mask_json(&Json::Object(params.clone())).to_string()
}
