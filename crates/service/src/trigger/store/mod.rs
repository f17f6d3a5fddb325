//! [`TriggerStore`]: the database of triggers, fires and deliveries.
//!
//! It is a file of its own beside the journal: the daemon does not wait for the writers of runs, and an
//! older `kb` can still read the journal. Every write is synced before it counts.

mod notifications;
mod rows;
mod schema;
mod tokens;
mod write;

pub use notifications::{NewNotification, Notification, NotificationState};
pub use rows::{
    API_TRIGGER, Change, Enabled, Fire, FireFilter, FireState, MCP_TRIGGER, NewFire, Recorded,
    TriggerState,
};
pub use tokens::{Role, TokenRow};
pub use write::{Delivery, StoredMessage};

use super::ids::FiredFile;
use kb_base::value::{RunId, Timestamp};
use kb_core::redaction::Redactor;
use kb_engine::journal::JournalError;
use rusqlite::{Connection, OptionalExtension, params};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How much longer than fires deliveries are kept, in milliseconds: 30 days.
const DELIVERIES_MS: i64 = 30 * 24 * 3600 * 1000;

/// The state of the triggers of a project. Can be shared between threads; processes share the file.
pub struct TriggerStore {
    connection: Mutex<Connection>,
    /// Masks the payloads, parameters and reasons that are stored.
    redactor: Arc<Redactor>,
    /// The person for whom it writes; `None`: the daemon itself.
    by: Option<String>,
}

impl TriggerStore {
    /// The name of its database in the state folder.
    pub const FILE: &str = schema::FILE;

    /// Opens the store of a state folder and creates both if they are missing.
    pub fn open(state_dir: &Path) -> Result<TriggerStore, JournalError> {
        TriggerStore::open_with(state_dir, Arc::default())
    }

    /// Opens the store as [`TriggerStore::open`] does. In what is stored, the secrets that the redactor knows are
    /// masked.
    pub fn open_with(
        state_dir: &Path,
        redactor: Arc<Redactor>,
    ) -> Result<TriggerStore, JournalError> {
        let connection = Mutex::new(schema::open(state_dir)?);
        Ok(TriggerStore { connection, redactor, by: None })
    }

    /// Records this person with what is written from now on.
    #[must_use]
    pub fn acting_as(self, person: String) -> TriggerStore {
        TriggerStore { by: Some(person), ..self }
    }

    /// The last change of each trigger by a person or the daemon.
    pub fn changes(&self) -> Result<BTreeMap<String, Change>, JournalError> {
        let connection = self.connection();
        let mut query = connection.prepare_cached("SELECT trigger, what, by, at FROM changes")?;
        let rows = query.query_map([], |row| Ok((row.get(0)?, rows::change(row)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The redactor of what is stored.
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Whether a state folder has a store.
    pub fn exists_in(state_dir: &Path) -> bool {
        state_dir.join(Self::FILE).is_file()
    }

    /// The store of another project, for reading; `None` if there is none that this version can read.
    pub fn read(state_dir: &Path) -> Option<TriggerStore> {
        let connection = Mutex::new(schema::read(state_dir)?);
        Some(TriggerStore { connection, redactor: Arc::default(), by: None })
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A number that changes with every fire and every change of a trigger.
    pub fn newest_fire(&self) -> Result<i64, JournalError> {
        let sql = "SELECT coalesce((SELECT max(id) FROM fires), 0) * 1000003
             + coalesce((SELECT total(coalesce(ended_at, 0) + coalesce(started_at, 0)
               + length(coalesce(reason, ''))) FROM
               (SELECT ended_at, started_at, reason FROM fires ORDER BY id DESC LIMIT 200)), 0)
             + coalesce((SELECT total(length(coalesce(digest, '')) + length(coalesce(paused, ''))
               + failures) FROM triggers), 0)";
        let number: f64 = self.connection().query_row(sql, [], |row| row.get(0))?;
        Ok(number as i64)
    }

    /// A number that changes when another process writes.
    pub fn version(&self) -> Result<i64, JournalError> {
        Ok(self.connection().query_row("PRAGMA data_version", [], |row| row.get(0))?)
    }

    /// The state of every trigger that was ever enabled, by id.
    pub fn states(&self) -> Result<BTreeMap<String, TriggerState>, JournalError> {
        let connection = self.connection();
        let mut query = connection
            .prepare_cached("SELECT trigger, digest, cursor, paused, failures FROM triggers")?;
        let rows =
            query.query_map([], |row| Ok((row.get::<_, String>(0)?, rows::trigger_state(row)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The state of one trigger; disabled if it was never enabled.
    pub fn state(&self, trigger: &str) -> Result<TriggerState, JournalError> {
        let connection = self.connection();
        let mut query = connection.prepare_cached(
            "SELECT trigger, digest, cursor, paused, failures FROM triggers WHERE trigger = ?1",
        )?;
        Ok(query.query_row([trigger], rows::trigger_state).optional()?.unwrap_or_default())
    }

    /// Fires, newest first.
    pub fn fires(&self, filter: &FireFilter) -> Result<Vec<Fire>, JournalError> {
        let connection = self.connection();
        let mut query = connection.prepare_cached(&format!(
            "SELECT {} FROM fires
             WHERE (?1 IS NULL OR trigger = ?1) AND (NOT ?2 OR state IN ('queued', 'started'))
             ORDER BY id DESC LIMIT ?3",
            rows::COLUMNS
        ))?;
        let limit = i64::try_from(filter.limit).unwrap_or(i64::MAX);
        let rows = query.query_map(params![filter.trigger, filter.open, limit], rows::fire)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Why the oldest delayed run of each trigger does not start or continue, by trigger.
    pub fn delays(&self) -> Result<BTreeMap<String, String>, JournalError> {
        let connection = self.connection();
        let mut query = connection.prepare_cached(
            "SELECT trigger, reason FROM fires WHERE state IN ('queued', 'started')
             AND reason IS NOT NULL ORDER BY id DESC",
        )?;
        let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The number of fires by trigger and state.
    pub fn fire_counts(&self) -> Result<Vec<(String, String, i64)>, JournalError> {
        let connection = self.connection();
        let mut query = connection.prepare_cached(
            "SELECT trigger, state, count(*) FROM fires GROUP BY trigger, state ORDER BY 1, 2",
        )?;
        let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The number of notifications by state.
    pub fn notification_counts(&self) -> Result<Vec<(String, i64)>, JournalError> {
        let connection = self.connection();
        let sql = "SELECT state, count(*) FROM notifications GROUP BY state ORDER BY 1";
        let mut query = connection.prepare_cached(sql)?;
        let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Nominal times that passed without a run and were recorded after the fire with this number, oldest first.
    pub fn missed_after(&self, fire: i64) -> Result<Vec<Fire>, JournalError> {
        let connection = self.connection();
        let mut query = connection.prepare_cached(&format!(
            "SELECT {} FROM fires WHERE id > ?1 AND state = 'missed' ORDER BY id",
            rows::COLUMNS
        ))?;
        let rows = query.query_map([fire], rows::fire)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The number of the newest fire; 0 if there is none.
    pub fn last_fire(&self) -> Result<i64, JournalError> {
        let sql = "SELECT coalesce(max(id), 0) FROM fires";
        Ok(self.connection().query_row(sql, [], |row| row.get(0))?)
    }

    /// The fire that a run belongs to.
    pub fn fire_of(&self, run: &RunId) -> Result<Option<Fire>, JournalError> {
        let connection = self.connection();
        let text = format!("SELECT {} FROM fires WHERE run = ?1", rows::COLUMNS);
        Ok(connection.prepare_cached(&text)?.query_row([run.as_str()], rows::fire).optional()?)
    }

    /// The fire of a trigger with this key.
    pub fn fire(&self, trigger: &str, key: &str) -> Result<Option<Fire>, JournalError> {
        let connection = self.connection();
        let text = format!("SELECT {} FROM fires WHERE trigger = ?1 AND key = ?2", rows::COLUMNS);
        Ok(connection.prepare_cached(&text)?.query_row([trigger, key], rows::fire).optional()?)
    }

    /// The last content of a path for which a file trigger fired.
    pub fn last_file(&self, trigger: &str, path: &str) -> Result<Option<FiredFile>, JournalError> {
        let connection = self.connection();
        let mut query = connection.prepare_cached(
            "SELECT key FROM fires WHERE trigger = ?1 AND key >= ?2 AND key < ?3
             ORDER BY key DESC LIMIT 1",
        )?;
        let (first, end) = FiredFile::keys(path);
        let key: Option<String> =
            query.query_row([trigger, &first, &end], |row| row.get(0)).optional()?;
        Ok(key.and_then(|key| FiredFile::parse(&key[first.len()..])))
    }

    /// A small value that the daemon keeps, such as the last run whose end it saw.
    pub fn note(&self, name: &str) -> Result<Option<String>, JournalError> {
        let connection = self.connection();
        let mut query = connection.prepare_cached("SELECT value FROM notes WHERE name = ?1")?;
        Ok(query.query_row([name], |row| row.get(0)).optional()?)
    }

    /// All small values whose names begin with a text, by the rest of their names.
    pub fn notes_below(&self, prefix: &str) -> Result<BTreeMap<String, String>, JournalError> {
        let connection = self.connection();
        let mut query = connection
            .prepare_cached("SELECT name, value FROM notes WHERE substr(name, 1, ?2) = ?1")?;
        let length = i64::try_from(prefix.chars().count()).unwrap_or(i64::MAX);
        let rows = query.query_map(params![prefix, length], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
        })?;
        rows.map(|row| row.map(|(name, value)| (name[prefix.len()..].to_owned(), value)))
            .collect::<Result<_, _>>()
            .map_err(JournalError::from)
    }

    /// Forgets a small value. Returns whether there was one.
    pub fn remove_note(&self, name: &str) -> Result<bool, JournalError> {
        let connection = self.connection();
        Ok(connection.execute("DELETE FROM notes WHERE name = ?1", [name])? == 1)
    }

    /// Keeps a small value.
    pub fn set_note(&self, name: &str, value: &str) -> Result<(), JournalError> {
        self.connection().execute(
            "INSERT INTO notes (name, value) VALUES (?1, ?2)
             ON CONFLICT (name) DO UPDATE SET value = ?2",
            [name, value],
        )?;
        Ok(())
    }

    /// Removes fires that ended before a time, and deliveries that were seen 30 days
    /// earlier. The cursors keep
    /// nominal times from firing again; fires of files stay, because the files do.
    /// The newest 200 of each trigger stay too, whatever a wrong clock says.
    pub fn prune(&self, before: Timestamp) -> Result<usize, JournalError> {
        let connection = self.connection();
        let fires = connection.execute(
            "DELETE FROM fires WHERE at < ?1 AND state NOT IN ('queued', 'started')
             AND key NOT LIKE 'file:%' AND id NOT IN (
               SELECT newer.id FROM fires AS newer WHERE newer.trigger = fires.trigger
               ORDER BY newer.id DESC LIMIT 200)",
            [before.0],
        )?;
        // A signature without a time stays valid for ever, so its deliveries are kept longer.
        let deliveries = before.0.saturating_sub(DELIVERIES_MS);
        connection.execute("DELETE FROM deliveries WHERE at < ?1", [deliveries])?;
        let sql = "DELETE FROM notifications WHERE at < ?1 AND state <> 'waiting'";
        connection.execute(sql, [before.0])?;
        connection.execute("DELETE FROM messages WHERE at < ?1 AND taken = 1", [before.0])?;
        Ok(fires)
    }

    /// Writes a consistent copy to a file that must not exist.
    pub fn copy_to(&self, path: &Path) -> Result<(), JournalError> {
        self.connection().execute("VACUUM INTO ?1", [path.to_string_lossy()])?;
        Ok(())
    }
}
