//! The rows of the store as values.

use kb_base::value::{Digest, JsonMap, RunId, Timestamp};
use kb_language::definition::RunEnd;
use rusqlite::Row;
use serde::{Serialize, Serializer};
use std::fmt;

/// What the store knows of a trigger: whether it is enabled, up to when it is recorded, why it
/// pauses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TriggerState {
    /// The digest of the definition that was enabled; `None` if the trigger is disabled.
    pub enabled: Option<Digest>,
    /// Every nominal time up to here is accounted for.
    pub cursor: Timestamp,
    /// Why the trigger is paused; `None` if it is not.
    pub paused: Option<String>,
    /// Number of failed runs in a row.
    pub failures: u32,
}

/// Whether the definition of a trigger is enabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enabled {
    /// The trigger starts runs.
    Yes,
    /// No person has enabled it.
    No,
    /// It was changed after it was enabled.
    Changed,
}

impl TriggerState {
    /// Whether the definition with this digest is enabled.
    pub fn is_enabled(&self, digest: &Digest) -> Enabled {
        match &self.enabled {
            None => Enabled::No,
            Some(enabled) if enabled == digest => Enabled::Yes,
            Some(_) => Enabled::Changed,
        }
    }
}

/// What became of a fire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FireState {
    /// Its run waits for a slot or for the end of other runs.
    Queued,
    /// Its run was started and has not ended.
    Started,
    /// A run was started and has ended.
    Ended(RunEnd),
    /// It started no run; the reason says why.
    Skipped,
    /// Its time passed while nothing could start.
    Missed,
}

impl FireState {
    /// The name of the state in the store and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            FireState::Queued => "queued",
            FireState::Started => "started",
            FireState::Ended(end) => end.as_str(),
            FireState::Skipped => "skipped",
            FireState::Missed => "missed",
        }
    }

    fn parse(text: &str) -> FireState {
        let ended = [RunEnd::Succeeded, RunEnd::Failed, RunEnd::Cancelled].map(FireState::Ended);
        let all =
            [FireState::Queued, FireState::Started, FireState::Missed].into_iter().chain(ended);
        all.into_iter().find(|state| state.as_str() == text).unwrap_or(FireState::Skipped)
    }

    /// Whether its run has not ended.
    pub fn is_open(self) -> bool {
        matches!(self, FireState::Queued | FireState::Started)
    }
}

impl fmt::Display for FireState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for FireState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// The trigger of runs that a person or program started through the daemon.
pub const API_TRIGGER: &str = "api";

/// The trigger of runs that an MCP client started. What it gives is foreign to the author of the playbook.
pub const MCP_TRIGGER: &str = "mcp";

/// A nominal time or an event of a trigger, and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Fire {
    /// Number, in the order in which fires were recorded.
    pub id: i64,
    /// Id of the trigger, or [`API_TRIGGER`].
    pub trigger: String,
    /// The key under which the trigger fires once.
    pub key: String,
    /// Id of the playbook.
    pub playbook: String,
    /// Nominal time, for schedules.
    pub nominal: Option<Timestamp>,
    /// The last nominal time of several in a row that did not fire.
    pub until: Option<Timestamp>,
    /// Id of its run; the run exists once it was started.
    pub run: Option<RunId>,
    /// Digest of the definition for which it fired; `None`: any.
    pub digest: Option<Digest>,
    /// What became of it.
    pub state: FireState,
    /// Why it was skipped, missed or failed to start.
    pub reason: Option<String>,
    /// Parameters of the run.
    pub params: JsonMap,
    /// Number of triggers on runs that led to it.
    pub depth: u32,
    /// How often its process was started.
    pub attempts: u32,
    /// When it was recorded.
    pub at: Timestamp,
    /// When its process was first started.
    pub started_at: Option<Timestamp>,
    /// When its end was recorded.
    pub ended_at: Option<Timestamp>,
    /// The person who asked for it; `None`: its trigger.
    pub by: Option<String>,
}

impl Fire {
    /// The key of a fire for the end of a run, or for a notification about one.
    pub fn key_after(run: &str, which: impl std::fmt::Display) -> String {
        format!("run:{run}:{which}")
    }

    /// The run of which [`Fire::key_after`] made the key.
    pub fn run_before(&self) -> Option<RunId> {
        RunId::new(self.key.strip_prefix("run:")?.split(':').next()?).ok()
    }
}

/// The last change of the state of a trigger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// `enabled`, `disabled`, `paused` or `resumed`.
    pub what: String,
    /// The person; `None`: the daemon, as after failures.
    pub by: Option<String>,
    /// When.
    pub at: Timestamp,
}

/// A fire to record.
#[derive(Debug, Clone, PartialEq)]
pub struct NewFire {
    /// Id of the trigger.
    pub trigger: String,
    /// The key under which the trigger fires once.
    pub key: String,
    /// Id of the playbook.
    pub playbook: String,
    /// Nominal time, for schedules.
    pub nominal: Option<Timestamp>,
    /// The last nominal time of several in a row.
    pub until: Option<Timestamp>,
    /// Digest of the definition for which it fires; `None`: any.
    pub digest: Option<Digest>,
    /// [`FireState::Queued`], [`FireState::Skipped`] or [`FireState::Missed`].
    pub state: FireState,
    /// Why it does not fire.
    pub reason: Option<String>,
    /// Parameters of the run.
    pub params: JsonMap,
    /// Number of triggers on runs that led to it.
    pub depth: u32,
}

impl NewFire {
    /// A fire that waits for its start, from any definition and at no nominal time.
    pub fn queued(trigger: &str, key: String, playbook: &str, params: JsonMap) -> NewFire {
        NewFire {
            trigger: trigger.to_owned(),
            key,
            playbook: playbook.to_owned(),
            nominal: None,
            until: None,
            digest: None,
            state: FireState::Queued,
            reason: None,
            params,
            depth: 0,
        }
    }
}

/// The nominal times of one schedule that are accounted for.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// Id of the trigger.
    pub trigger: String,
    /// The time up to which all nominal times are recorded now.
    pub cursor: Timestamp,
    /// What happened to the nominal times before the cursor.
    pub fires: Vec<NewFire>,
}

/// Which fires are listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FireFilter {
    /// Only fires of this trigger.
    pub trigger: Option<String>,
    /// Only fires whose run has not ended.
    pub open: bool,
    /// Maximum number of fires.
    pub limit: usize,
}

pub(super) const COLUMNS: &str = "id, trigger, key, playbook, nominal, until, run, digest, state, \
     reason, params, depth, attempts, at, started_at, ended_at, by";

pub(super) fn fire(row: &Row<'_>) -> rusqlite::Result<Fire> {
    let time = |column: usize| -> rusqlite::Result<Option<Timestamp>> {
        Ok(row.get::<_, Option<i64>>(column)?.map(Timestamp))
    };
    let params: String = row.get(10)?;
    Ok(Fire {
        id: row.get(0)?,
        trigger: row.get(1)?,
        key: row.get(2)?,
        playbook: row.get(3)?,
        nominal: time(4)?,
        until: time(5)?,
        run: row.get::<_, Option<String>>(6)?.and_then(|run| RunId::new(run).ok()),
        digest: row.get::<_, Option<String>>(7)?.and_then(|digest| Digest::from_hex(&digest)),
        state: FireState::parse(&row.get::<_, String>(8)?),
        reason: row.get(9)?,
        params: serde_json::from_str(&params).unwrap_or_default(),
        depth: row.get(11)?,
        attempts: row.get(12)?,
        at: Timestamp(row.get(13)?),
        started_at: time(14)?,
        ended_at: time(15)?,
        by: row.get(16)?,
    })
}

/// A change from the columns after the id of its trigger.
pub(super) fn change(row: &Row<'_>) -> rusqlite::Result<Change> {
    Ok(Change { what: row.get(1)?, by: row.get(2)?, at: Timestamp(row.get(3)?) })
}

pub(super) fn trigger_state(row: &Row<'_>) -> rusqlite::Result<TriggerState> {
    Ok(TriggerState {
        enabled: row.get::<_, Option<String>>(1)?.and_then(|digest| Digest::from_hex(&digest)),
        cursor: Timestamp(row.get(2)?),
        paused: row.get(3)?,
        failures: row.get(4)?,
    })
}
