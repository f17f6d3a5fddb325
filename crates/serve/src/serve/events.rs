//! Turns events into fires: ends of runs, messages and webhooks.

use super::catalog::{LoadedTrigger, TriggerCatalog};
use super::event::Event;
use super::triggers::{params_of, queued, unique_key};
use kb_base::value::{Json, JsonMap, RunId, Timestamp};
use kb_core::run::RunStatus;
use kb_engine::journal::{Journal, RunRow};
use kb_language::definition::{RunEnd, TriggerSource, Webhook};
use kb_language::schedule::{ActiveRuns, Decision, overlap};
use kb_service::service::runs::ProjectContext;
use kb_service::service::{Project, ServiceError, open_triggers, run_output};
use kb_service::trigger::{
    Delivery, Enabled, Fire, FireFilter, FireState, NewFire, Recorded, StoredMessage, TriggerState,
    TriggerStore, VerifiedWebhook,
};
use serde_json::json;
use std::collections::BTreeMap;

/// Maximum number of triggers in a chain of runs that start runs.
const DEEPEST: u32 = 8;

/// The enabled triggers whose source is wanted, with their states.
pub(super) fn enabled<'c>(
    catalog: &'c TriggerCatalog,
    states: &'c BTreeMap<String, TriggerState>,
    wanted: fn(&TriggerSource) -> bool,
) -> impl Iterator<Item = (&'c LoadedTrigger, &'c TriggerState)> {
    let is_wanted = move |loaded: &&LoadedTrigger| wanted(&loaded.trigger.source);
    catalog.values().filter(is_wanted).filter_map(|loaded| {
        let state = states.get(&loaded.id)?;
        (state.is_enabled(&loaded.digest) == Enabled::Yes).then_some((loaded, state))
    })
}

/// A fire for an event: queued, or skipped with the reason. `active` counts the runs of the trigger, this
/// one included afterwards.
pub(super) fn event_fire(
    loaded: &LoadedTrigger,
    state: &TriggerState,
    key: String,
    event: &Event<'_>,
    active: &mut ActiveRuns,
) -> NewFire {
    let depth = event.depth;
    let skipped = |reason: String| NewFire {
        state: FireState::Skipped,
        reason: Some(reason),
        ..queued(loaded, key.clone(), None, JsonMap::new())
    };
    if let Some(why) = &state.paused {
        return skipped(format!("the trigger is paused: {why}"));
    }
    if let Some(reason) = event.left_out(&loaded.trigger) {
        return skipped(reason);
    }
    if depth > DEEPEST {
        return skipped(format!("more than {DEEPEST} triggers in a row led to it"));
    }
    // An event that replaces the active run waits for its end, as one that queues does: the run that
    // handles an earlier event is not lost.
    if overlap(loaded.trigger.overlap, *active) == Decision::Skip {
        return skipped("another run of the trigger has not ended".to_owned());
    }
    match params_of(loaded, event.payload) {
        Ok(params) => {
            active.queued += 1;
            NewFire { depth, ..queued(loaded, key, None, params) }
        }
        Err(error) => skipped(error.to_string()),
    }
}

/// The ends of runs since the cursors of the triggers on runs.
pub(super) fn run_ends(
    context: &ProjectContext,
    journal: &dyn Journal,
    store: &TriggerStore,
    catalog: &TriggerCatalog,
    active: &mut BTreeMap<String, ActiveRuns>,
) -> Result<Vec<Recorded>, ServiceError> {
    let states = store.states()?;
    let mut all = Vec::new();
    for (loaded, state) in enabled(catalog, &states, |s| matches!(s, TriggerSource::Run(_))) {
        let TriggerSource::Run(source) = &loaded.trigger.source else { continue };
        let mut recorded =
            Recorded { trigger: loaded.id.clone(), cursor: state.cursor, fires: Vec::new() };
        let mut rows = journal.ended_since(state.cursor)?;
        rows.sort_by_key(|row| row.ended_at);
        for row in rows {
            let Some((ended, end)) = row.ended_at.zip(end_of(row.status)) else { continue };
            let wanted = source.playbook == *row.definition && source.statuses.contains(&end);
            let key = Fire::key_after(row.run.as_str(), row.epoch);
            recorded.cursor = recorded.cursor.max(ended);
            if !wanted || store.fire(&loaded.id, &key)?.is_some() {
                continue;
            }
            let depth = store.fire_of(&row.run)?.map_or(0, |fire| fire.depth) + 1;
            let payload = payload_of(context, &row, end);
            let active = active.entry(loaded.id.clone()).or_default();
            let event = Event { payload: &payload, headers: &Json::Null, depth };
            recorded.fires.push(event_fire(loaded, state, key, &event, active));
        }
        if recorded.cursor != state.cursor || !recorded.fires.is_empty() {
            all.push(recorded);
        }
    }
    Ok(all)
}

fn end_of(status: RunStatus) -> Option<RunEnd> {
    match status {
        RunStatus::Succeeded => Some(RunEnd::Succeeded),
        RunStatus::Failed => Some(RunEnd::Failed),
        RunStatus::Cancelled => Some(RunEnd::Cancelled),
        RunStatus::Running | RunStatus::Waiting | RunStatus::Interrupted => None,
    }
}

fn payload_of(context: &ProjectContext, row: &RunRow, end: RunEnd) -> Json {
    // A run that failed may have no outputs.
    let outputs =
        run_output(context, row.run.as_str(), None).map(|(outputs, _)| (*outputs).clone());
    json!({
        "run": row.run.as_str(),
        "playbook": row.definition,
        "status": end.as_str(),
        "outputs": outputs.unwrap_or(Json::Null),
    })
}

/// The fires of messages that no daemon has handled.
pub(super) fn messages(
    store: &TriggerStore,
    catalog: &TriggerCatalog,
    active: &mut BTreeMap<String, ActiveRuns>,
) -> Result<(Vec<StoredMessage>, Vec<NewFire>), ServiceError> {
    let messages = store.messages()?;
    if messages.is_empty() {
        return Ok((messages, Vec::new()));
    }
    let states = store.states()?;
    let mut fires = Vec::new();
    let is_message = |source: &TriggerSource| matches!(source, TriggerSource::Message { .. });
    for (loaded, state) in enabled(catalog, &states, is_message) {
        let TriggerSource::Message { topic } = &loaded.trigger.source else { continue };
        // A message from before the trigger was enabled starts nothing.
        let fits = |m: &&StoredMessage| m.topic == *topic && m.at >= state.cursor;
        for message in messages.iter().filter(fits) {
            let sender = message.run.as_ref().map(|run| store.fire_of(run)).transpose()?.flatten();
            let depth = sender.map_or(0, |fire| fire.depth) + u32::from(message.run.is_some());
            let payload =
                json!({"topic": message.topic, "id": message.id, "message": message.body});
            let active = active.entry(loaded.id.clone()).or_default();
            let key = format!("message:{}", message.id);
            let event = Event { payload: &payload, headers: &Json::Null, depth };
            fires.push(event_fire(loaded, state, key, &event, active));
        }
    }
    Ok((messages, fires))
}

/// Stores a message of a topic. Returns false if the topic has a message with this id.
pub fn publish(
    project: &Project,
    topic: &str,
    id: &str,
    body: &Json,
    run: Option<&RunId>,
    now: Timestamp,
) -> Result<bool, ServiceError> {
    Ok(open_triggers(project)?.publish(topic, id, body, run, now)?)
}

/// The webhook trigger with an address.
pub fn webhook_at<'c>(
    catalog: &'c TriggerCatalog,
    path: &str,
) -> Option<(&'c LoadedTrigger, &'c Webhook)> {
    catalog.values().find_map(|loaded| match &loaded.trigger.source {
        TriggerSource::Webhook(webhook) if webhook.path == path => Some((loaded, webhook)),
        _ => None,
    })
}

/// Records a webhook delivery whose signature was verified, and queues its run. `None`: the trigger is not
/// enabled, so the delivery starts nothing and is not kept.
pub fn deliver(
    store: &TriggerStore,
    loaded: &LoadedTrigger,
    verified: &VerifiedWebhook,
    payload: &Json,
    headers: &Json,
    now: Timestamp,
) -> Result<Option<Delivery>, ServiceError> {
    let state = store.state(&loaded.id)?;
    if state.is_enabled(&loaded.digest) != Enabled::Yes {
        return Ok(None);
    }
    let filter = FireFilter { trigger: Some(loaded.id.clone()), open: true, limit: 10_000 };
    let mut active = active_runs(store.fires(&filter)?.iter());
    let active = active.entry(loaded.id.clone()).or_default();
    let key = verified.key.clone().unwrap_or_else(|| unique_key("request", now));
    let event = Event { payload, headers, depth: 0 };
    let fire = event_fire(loaded, &state, key, &event, active);
    Ok(Some(store.deliver(&fire, now)?))
}

/// The number of runs that have not ended, by trigger.
pub(super) fn active_runs<'f>(
    open: impl Iterator<Item = &'f kb_service::trigger::Fire>,
) -> BTreeMap<String, ActiveRuns> {
    let mut active: BTreeMap<String, ActiveRuns> = BTreeMap::new();
    for fire in open {
        let runs = active.entry(fire.trigger.clone()).or_default();
        match fire.state {
            FireState::Queued => runs.queued += 1,
            _ => runs.started += 1,
        }
    }
    active
}
