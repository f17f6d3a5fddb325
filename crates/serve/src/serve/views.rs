//! The JSON forms of triggers and fires.

use super::LoadedTrigger;
use kb_base::value::{Json, JsonMap, Timestamp};
use kb_language::definition::TriggerSource;
use kb_language::schedule::Schedule;
use kb_service::trigger::playbook_of;
use kb_service::trigger::{Change, Enabled, Fire, FireState, TriggerState};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// A trigger with its state.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TriggerView {
    /// `PLAYBOOK.NAME`.
    pub id: String,
    /// Id of the playbook.
    pub playbook: String,
    /// `schedule`, `webhook`, `file`, `message` or `run`; `unknown` if it is not defined.
    pub kind: &'static str,
    /// What it reacts to, as human-readable text.
    pub source: String,
    /// Whether it starts runs, and if not, why.
    pub state: TriggerStateName,
    /// Why it starts nothing: the errors of its file, that it was removed, or that the project was moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Why a run that it started, or is to start, is tried again later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delayed: Option<String>,
    /// Reason of the pause; `None` if it is not paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<String>,
    /// Who enabled, disabled, paused or resumed it last; absent if it was never enabled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed: Option<ChangeView>,
    /// Time zone of a schedule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// The digest of what it runs now.
    pub digest: String,
    /// The next times of a schedule.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<OccurrenceView>,
    /// Its newest fires, newest first.
    pub fires: Vec<FireView>,
}

/// The last change of the state of a trigger.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangeView {
    /// `enabled`, `disabled`, `paused` or `resumed`.
    pub what: String,
    /// The person; absent if `kb serve` paused it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// When, in RFC 3339.
    pub at: String,
}

impl From<Change> for ChangeView {
    fn from(change: Change) -> Self {
        ChangeView { what: change.what, by: change.by, at: change.at.rfc3339() }
    }
}

/// Whether a trigger starts runs, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TriggerStateName {
    /// It starts runs when it is due.
    Enabled,
    /// It starts nothing until a person enables it.
    Disabled,
    /// It was changed after it was enabled and starts nothing until a person enables it again.
    Changed,
    /// It starts nothing until a person ends the pause.
    Paused,
    /// A person enabled it, and its file has errors now.
    Broken,
    /// A person enabled it, and its playbook does not declare it any more.
    Removed,
    /// A person enabled it in a folder from which the project was moved since.
    Moved,
}

impl TriggerStateName {
    /// The name in lists.
    pub fn as_str(self) -> &'static str {
        match self {
            TriggerStateName::Enabled => "enabled",
            TriggerStateName::Disabled => "disabled",
            TriggerStateName::Changed => "changed",
            TriggerStateName::Paused => "paused",
            TriggerStateName::Broken => "broken",
            TriggerStateName::Removed => "removed",
            TriggerStateName::Moved => "moved",
        }
    }
}

/// A time of a schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OccurrenceView {
    /// In UTC, RFC 3339.
    pub at: String,
    /// In the zone of the schedule, with its offset.
    pub local: String,
    /// How a change of the clock affects it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<&'static str>,
}

/// A fire of a trigger.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FireView {
    /// Id of the trigger.
    pub trigger: String,
    /// Id of the playbook.
    pub playbook: String,
    /// Nominal time of a schedule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nominal: Option<String>,
    /// The last nominal time of several in a row that did not fire.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// The key under which it fired.
    pub key: String,
    /// `queued`, `started`, `succeeded`, `failed`, `cancelled`, `skipped` or `missed`.
    #[schemars(with = "String", extend("enum" = ["queued", "started", "succeeded", "failed", "cancelled", "skipped", "missed"]))]
    pub state: FireState,
    /// Why it did not fire or did not start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The run that it started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Parameters of the run.
    #[serde(skip_serializing_if = "JsonMap::is_empty")]
    #[schemars(with = "BTreeMap<String, Json>")]
    pub params: JsonMap,
    /// The person who asked for it; absent if its trigger did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// When it was recorded.
    pub at: String,
    /// When its run was started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    /// When its end was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
}

impl From<Fire> for FireView {
    fn from(fire: Fire) -> Self {
        let text = |at: Option<Timestamp>| at.map(Timestamp::rfc3339);
        FireView {
            trigger: fire.trigger,
            playbook: fire.playbook,
            nominal: text(fire.nominal),
            until: text(fire.until),
            key: fire.key,
            state: fire.state,
            reason: fire.reason,
            run: fire.run.map(|run| run.to_string()),
            params: fire.params,
            by: fire.by,
            at: fire.at.rfc3339(),
            started_at: text(fire.started_at),
            ended_at: text(fire.ended_at),
        }
    }
}

/// The state of a trigger in one word.
pub(super) fn state_name(loaded: &LoadedTrigger, state: &TriggerState) -> TriggerStateName {
    match state.is_enabled(&loaded.digest) {
        Enabled::No => TriggerStateName::Disabled,
        Enabled::Changed => TriggerStateName::Changed,
        Enabled::Yes if state.paused.is_some() => TriggerStateName::Paused,
        Enabled::Yes => TriggerStateName::Enabled,
    }
}

/// The next times of a schedule.
pub(super) fn occurrences(
    schedule: &Schedule,
    after: Timestamp,
    count: usize,
) -> Vec<OccurrenceView> {
    let next = |at: &Timestamp| schedule.next(*at);
    std::iter::successors(schedule.next(after), next)
        .take(count)
        .map(|at| {
            let found = schedule.describe(at);
            let note = found.change.map(|change| change.note());
            OccurrenceView { at: at.rfc3339(), local: found.local, note }
        })
        .collect()
}

pub(super) fn view(
    loaded: &LoadedTrigger,
    state: &TriggerState,
    next: Vec<OccurrenceView>,
    fires: Vec<Fire>,
) -> TriggerView {
    let source = match &loaded.trigger.source {
        TriggerSource::Schedule(schedule, _) => schedule.written().to_owned(),
        TriggerSource::Webhook(webhook) => {
            format!("/hooks/{} ({})", webhook.path, webhook.form.name())
        }
        TriggerSource::File(files) => files.paths.join(", "),
        TriggerSource::Message { topic } => topic.clone(),
        TriggerSource::Run(run) => {
            let ends: Vec<&str> = run.statuses.iter().map(|end| end.as_str()).collect();
            format!("{} {}", run.playbook, ends.join(" or "))
        }
    };
    let zone = match &loaded.trigger.source {
        TriggerSource::Schedule(schedule, _) => Some(schedule.zone().name().to_owned()),
        _ => None,
    };
    TriggerView {
        id: loaded.id.clone(),
        playbook: loaded.playbook.id.to_string(),
        kind: loaded.trigger.source.kind(),
        source,
        state: state_name(loaded, state),
        problem: None,
        delayed: None,
        paused: state.paused.clone(),
        changed: None,
        zone,
        digest: loaded.digest.to_string(),
        next,
        fires: fires.into_iter().map(FireView::from).collect(),
    }
}

/// A trigger that a person enabled and that is not defined now.
pub(super) fn undefined(
    id: &str,
    state: &TriggerState,
    (name, problem): (TriggerStateName, String),
    fires: Vec<Fire>,
) -> TriggerView {
    TriggerView {
        id: id.to_owned(),
        playbook: playbook_of(id).to_owned(),
        kind: "unknown",
        source: String::new(),
        state: name,
        problem: Some(problem),
        delayed: None,
        paused: state.paused.clone(),
        changed: None,
        zone: None,
        digest: state.enabled.map(|digest| digest.to_string()).unwrap_or_default(),
        next: Vec::new(),
        fires: fires.into_iter().map(FireView::from).collect(),
    }
}
