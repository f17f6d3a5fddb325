//! What happened to triggers since the last look: which of them start nothing any more, start runs again, or missed times.

use super::catalog::TriggerCatalog;
use super::undefined;
use super::views::{TriggerStateName, state_name};
use kb_base::value::Timestamp;
use kb_language::definition::NotifyEvent;
use kb_service::service::{Project, ServiceError, TriggerNews};
use kb_service::trigger::{Fire, TriggerState, TriggerStore, playbook_of};
use std::collections::BTreeMap;

/// The note with the state of each enabled trigger at the last look.
const STATES: &str = "notify.triggers";
/// The note with the number of the newest fire at the last look.
const FIRES: &str = "notify.fires";

/// What happened, and the notes to store with it; no notes if nothing changed.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// What happened, by event.
    pub(super) news: Vec<(NotifyEvent, Vec<TriggerNews>)>,
    /// Names and values of notes of the store.
    pub(super) notes: Vec<(&'static str, String)>,
}

/// What happened to the triggers of a project since the notes of its store were written. The first look finds nothing.
pub(super) fn find(
    project: &Project,
    catalog: &TriggerCatalog,
    store: &TriggerStore,
) -> Result<Found, ServiceError> {
    let mut found = Found::default();
    states(project, catalog, store, &mut found)?;
    missed(store, &mut found)?;
    found.news.retain(|(_, news)| !news.is_empty());
    Ok(found)
}

/// Writes what happened to the log.
pub(super) fn log(event: NotifyEvent, news: &[TriggerNews]) {
    for one in news {
        let trigger = &one.trigger;
        let reason = one.reason.as_deref().unwrap_or_default();
        match (event, one.from.as_deref()) {
            (NotifyEvent::Recovered, _) => tracing::info!(trigger, "the trigger starts runs again"),
            (_, Some(from)) => {
                let until = one.until.as_deref().unwrap_or(from);
                tracing::warn!(trigger, from, until, "times passed without a run: {reason}");
            }
            (_, None) => {
                tracing::warn!(trigger, "the trigger starts nothing: {}: {reason}", one.state);
            }
        }
    }
}

fn states(
    project: &Project,
    catalog: &TriggerCatalog,
    store: &TriggerStore,
    found: &mut Found,
) -> Result<(), ServiceError> {
    let before = store.note(STATES)?;
    let known: BTreeMap<String, String> =
        before.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let enabled = TriggerStateName::Enabled.as_str();
    let mut now: BTreeMap<String, String> = BTreeMap::new();
    let (mut stopped, mut recovered) = (Vec::new(), Vec::new());
    let all = store.states()?;
    let by_person = paused_by_a_person(store, &all)?;
    for (id, state) in all.iter().filter(|(_, state)| state.enabled.is_some()) {
        let last = known.get(id).map_or(enabled, String::as_str);
        let (name, reason) = condition(project, catalog, id, state);
        // A pause by a person is no news.
        let shown = if by_person.contains(id) { last } else { name.as_str() };
        now.insert(id.clone(), shown.to_owned());
        let is_news = before.is_some() && shown != last;
        let news = || TriggerNews {
            trigger: id.clone(),
            playbook: playbook_of(id).to_owned(),
            state: name.as_str(),
            reason: reason.clone(),
            from: None,
            until: None,
        };
        if is_news && shown == enabled {
            recovered.push(news());
        } else if is_news {
            stopped.push(news());
        }
    }
    if before.is_none() || now != known {
        let text = serde_json::to_string(&now).unwrap_or_default();
        found.notes.push((STATES, text));
    }
    found.news.extend([(NotifyEvent::Stopped, stopped), (NotifyEvent::Recovered, recovered)]);
    Ok(())
}

/// The state of an enabled trigger, and why it starts nothing.
fn condition(
    project: &Project,
    catalog: &TriggerCatalog,
    id: &str,
    state: &TriggerState,
) -> (TriggerStateName, Option<String>) {
    let Some(loaded) = catalog.get(id) else {
        let (name, why) = undefined::why(project, id);
        return (name, Some(why));
    };
    let name = state_name(loaded, state);
    let reason = match name {
        TriggerStateName::Changed => {
            Some(format!("its definition changed; `kb trigger enable {id}` enables it again"))
        }
        TriggerStateName::Paused => {
            let why = state.paused.as_deref().unwrap_or_default();
            Some(format!("{why}; `kb trigger resume {id}` ends the pause"))
        }
        _ => None,
    };
    (name, reason)
}

/// The paused triggers that a person paused.
fn paused_by_a_person(
    store: &TriggerStore,
    states: &BTreeMap<String, TriggerState>,
) -> Result<Vec<String>, ServiceError> {
    if states.values().all(|state| state.paused.is_none()) {
        return Ok(Vec::new());
    }
    let changes = store.changes()?;
    let by_person = |id: &String| changes.get(id).is_some_and(|change| change.by.is_some());
    let paused = states.iter().filter(|(_, state)| state.paused.is_some());
    Ok(paused.map(|(id, _)| id.clone()).filter(by_person).collect())
}

fn missed(store: &TriggerStore, found: &mut Found) -> Result<(), ServiceError> {
    let newest = store.last_fire()?;
    let known = store.note(FIRES)?.and_then(|text| text.parse::<i64>().ok());
    if known == Some(newest) {
        return Ok(());
    }
    found.notes.push((FIRES, newest.to_string()));
    let Some(known) = known else { return Ok(()) };
    let news = |fire: Fire| TriggerNews {
        playbook: fire.playbook,
        trigger: fire.trigger,
        state: fire.state.as_str(),
        reason: fire.reason,
        from: fire.nominal.map(Timestamp::rfc3339),
        until: fire.until.map(Timestamp::rfc3339),
    };
    let all = store.missed_after(known)?.into_iter().filter(|fire| fire.id <= newest);
    found.news.push((NotifyEvent::Missed, all.map(news).collect()));
    Ok(())
}
