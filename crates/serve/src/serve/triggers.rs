//! The use cases of triggers: list, show, enable, pause, fire, backfill.

use super::catalog::{LoadedTrigger, find, trigger_catalog};
use super::moved::{keep_folder, moved};
use super::named_secrets::require_named_secrets;
use super::undefined::undefined;
use super::views::{self, ChangeView, OccurrenceView, TriggerStateName, TriggerView};
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, Json, JsonMap, RunId, Timestamp, counted};
use kb_language::definition::{RunEnd, TriggerSource};
use kb_language::schedule::Schedule;
use kb_service::service::{Project, ServiceError, open_triggers, params};
use kb_service::trigger::{
    FireFilter, FireState, NewFire, TriggerState, TriggerStore, parameters, run_id, schedule_key,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// Maximum number of times that one backfill starts.
const MOST_TIMES: usize = 1000;

/// A run that was queued.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Fired {
    /// Id of the trigger.
    pub trigger: String,
    /// Id of the run; it exists once the daemon has started it.
    pub run: String,
    /// Whether an earlier request with the same key had queued it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub repeated: bool,
}

/// What a backfill starts, or would start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Backfill {
    /// Id of the trigger.
    pub trigger: String,
    /// The nominal times without a run.
    pub times: Vec<OccurrenceView>,
    /// Number of nominal times that fired already.
    pub fired: usize,
    /// Whether the runs were queued.
    pub queued: bool,
}

/// The store, for the person of the project.
pub(super) fn store(project: &Project) -> Result<TriggerStore, ServiceError> {
    Ok(open_triggers(project)?.acting_as(project.context.environment.user()))
}

/// All triggers of a project, each with its next times and its newest fires, at most `count`.
pub fn list(project: &Project, count: usize) -> Result<Vec<TriggerView>, ServiceError> {
    let (store, now) = (store(project)?, project.clock().wall());
    let states = store.states()?;
    let one = |loaded: &LoadedTrigger| {
        let state = states.get(&loaded.id).cloned().unwrap_or_default();
        view_of(&store, loaded, &state, now, count)
    };
    let catalog = trigger_catalog(project);
    let mut all: Vec<TriggerView> = catalog.values().map(one).collect::<Result<_, _>>()?;
    all.extend(undefined(project, &catalog, &store, count)?);
    all.sort_by(|a, b| a.id.cmp(&b.id));
    complete(project, &store, &states, catalog.keys(), &mut all)?;
    Ok(all)
}

/// Adds what the store knows of triggers besides their state.
fn complete<'a>(
    project: &Project,
    store: &TriggerStore,
    states: &BTreeMap<String, TriggerState>,
    ids: impl IntoIterator<Item = &'a String>,
    views: &mut [TriggerView],
) -> Result<(), ServiceError> {
    let moved = moved(project, states, ids);
    let (mut delays, mut changes) = (store.delays()?, store.changes()?);
    for view in views {
        moved.iter().for_each(|moved| moved.mark(view));
        view.delayed = delays.remove(&view.id);
        view.changed = changes.remove(&view.id).map(ChangeView::from);
    }
    Ok(())
}

/// One trigger with its next times and newest fires.
pub fn show(project: &Project, name: &str, count: usize) -> Result<TriggerView, ServiceError> {
    let (store, now) = (store(project)?, project.clock().wall());
    let loaded = &find(project, name)?;
    let mut view = view_of(&store, loaded, &store.state(&loaded.id)?, now, count)?;
    let (states, views) = (store.states()?, std::slice::from_mut(&mut view));
    complete(project, &store, &states, [&loaded.id], views)?;
    Ok(view)
}

fn view_of(
    store: &TriggerStore,
    loaded: &LoadedTrigger,
    state: &TriggerState,
    now: Timestamp,
    count: usize,
) -> Result<TriggerView, ServiceError> {
    let filter = FireFilter { trigger: Some(loaded.id.clone()), open: false, limit: count };
    let next = match &loaded.trigger.source {
        TriggerSource::Schedule(schedule, _) => views::occurrences(schedule, now, count.min(5)),
        _ => Vec::new(),
    };
    Ok(views::view(loaded, state, next, store.fires(&filter)?))
}

/// The next times of a schedule.
pub fn next_times(
    project: &Project,
    name: &str,
    from: Option<Timestamp>,
    count: usize,
) -> Result<Vec<OccurrenceView>, ServiceError> {
    let loaded = &find(project, name)?;
    let schedule = schedule_of(loaded)?;
    Ok(views::occurrences(schedule, from.unwrap_or_else(|| project.clock().wall()), count))
}

fn schedule_of(loaded: &LoadedTrigger) -> Result<&Schedule, ServiceError> {
    match &loaded.trigger.source {
        TriggerSource::Schedule(schedule, _) => Ok(schedule),
        other => {
            let message = format!("`{}` is a {} trigger, not a schedule", loaded.id, other.kind());
            Err(refused(message, "`kb trigger list` shows the schedules"))
        }
    }
}

/// Enables a trigger as it is defined now. With `digest`, only if that is its definition.
pub fn enable(
    project: &Project,
    name: &str,
    digest: Option<&str>,
) -> Result<TriggerView, ServiceError> {
    project.require_valid_settings()?;
    let loaded = &find(project, name)?;
    project.runnable_plan(loaded.playbook.id.as_str())?;
    if digest.is_some_and(|digest| digest != loaded.digest.to_string()) {
        let message = format!("`{}` was changed after it was shown", loaded.id);
        return Err(refused(message, "inspect it again, then enable it"));
    }
    let store = store(project)?;
    keep_folder(&store, &project.context)?;
    store.enable(&loaded.id, &loaded.digest, project.clock().wall())?;
    show(project, &loaded.id, 1)
}

/// Disables a trigger. Its active runs continue.
pub fn disable(project: &Project, name: &str) -> Result<TriggerView, ServiceError> {
    let catalog = trigger_catalog(project);
    let lost = undefined(project, &catalog, &store(project)?, 1)?;
    if let Some(lost) = lost.into_iter().find(|lost| lost.id == name || lost.playbook == name) {
        store(project)?.disable(&lost.id, project.clock().wall())?;
        return Ok(TriggerView { state: TriggerStateName::Disabled, ..lost });
    }
    let id = &find(project, name)?.id;
    store(project)?.disable(id, project.clock().wall())?;
    show(project, id, 1)
}

/// Pauses an enabled trigger. Its nominal times are listed as skipped until it is resumed.
pub fn pause(project: &Project, name: &str, reason: &str) -> Result<TriggerView, ServiceError> {
    let loaded = &find(project, name)?;
    let store = store(project)?;
    if store.state(&loaded.id)?.enabled.is_none() {
        let message = format!("`{}` is disabled, so there is nothing to pause", loaded.id);
        return Err(refused(message, &format!("`kb trigger enable {}`", loaded.id)));
    }
    store.pause(&loaded.id, reason, project.clock().wall())?;
    show(project, &loaded.id, 1)
}

/// Ends the pause of a trigger.
pub fn resume(project: &Project, name: &str) -> Result<TriggerView, ServiceError> {
    let loaded = &find(project, name)?;
    let store = store(project)?;
    if store.state(&loaded.id)?.paused.is_none() {
        let message = format!("`{}` is not paused", loaded.id);
        let help = format!("`kb trigger show {}` shows its state", loaded.id);
        return Err(refused(message, &help));
    }
    store.resume(&loaded.id, project.clock().wall())?;
    show(project, &loaded.id, 1)
}

/// Queues a run of a trigger now, with the parameters that `payload` gives.
pub fn fire(project: &Project, name: &str, payload: &Json) -> Result<Fired, ServiceError> {
    let loaded = &find(project, name)?;
    project.runnable_plan(loaded.playbook.id.as_str())?;
    let now = project.clock().wall();
    let payload = match &loaded.trigger.source {
        TriggerSource::Schedule(schedule, _) => schedule_payload(schedule, now),
        _ => payload.clone(),
    };
    let store = store(project)?;
    let key = unique_key("manual", now);
    let fire = queued(loaded, key, None, params_of(loaded, &payload)?);
    store.add(&fire, now)?;
    Ok(Fired {
        trigger: loaded.id.clone(),
        run: run_id(&fire.trigger, &fire.key).to_string(),
        repeated: false,
    })
}

/// Queues a run of a playbook that a person or program asked for through `origin`: `API_TRIGGER` or
/// `MCP_TRIGGER`. A second request with the same `key` queues nothing and returns the run of the first one.
pub fn start(
    project: &Project,
    origin: &str,
    playbook: &str,
    values: JsonMap,
    key: &str,
) -> Result<Fired, ServiceError> {
    project.require_valid_settings()?;
    let plan = project.runnable_plan(playbook)?;
    let definition = plan.playbook();
    params::of_child(&definition.params, values.clone()).map_err(|problems| {
        let messages: Vec<String> = problems.into_iter().map(|p| p.message).collect();
        ServiceError::refused(Failure::new(Code::PAYLOAD, messages.join("; ")))
    })?;
    require_named_secrets(project, &definition.params, &values)?;
    let store = store(project)?;
    if let Some(name) = store.redactor().written_in(key) {
        let message = format!("the key contains the value of the secret `{name}`");
        return Err(ServiceError::refused(Failure::new(Code::SECRET_LITERAL, message)));
    }
    let fire = NewFire::queued(origin, key.to_owned(), definition.id.as_str(), values);
    let repeated = !store.add(&fire, project.clock().wall())?;
    let masked = store.redactor().mask_json(&Json::Object(fire.params.clone()));
    if repeated
        && let Some(first) = store.fire(origin, key)?
        && (first.playbook != fire.playbook || Json::Object(first.params) != masked)
    {
        let message = "the key was used for another start".to_owned();
        return Err(ServiceError::refused(
            Failure::new(Code::BAD_REQUEST, message).help("use a new key for a new start"),
        ));
    }
    Ok(Fired { trigger: origin.to_owned(), run: run_id(origin, key).to_string(), repeated })
}

/// Cancels a run that waits for its start. Returns false if it has been started.
pub fn cancel_queued(
    store: &TriggerStore,
    run: &RunId,
    by: &str,
    now: Timestamp,
) -> Result<bool, ServiceError> {
    let Some(fire) = store.fire_of(run)?.filter(|fire| fire.state == FireState::Queued) else {
        return Ok(false);
    };
    let reason = format!("cancelled by {by} before it was started");
    store.ended(&fire, FireState::Ended(RunEnd::Cancelled), Some(&reason), now)?;
    Ok(true)
}

/// The nominal times of a schedule from `from` to `to` that a backfill would start.
pub fn backfill_times(
    project: &Project,
    name: &str,
    from: Timestamp,
    to: Timestamp,
) -> Result<Backfill, ServiceError> {
    let loaded = &find(project, name)?;
    let schedule = schedule_of(loaded)?;
    if to > project.clock().wall() {
        return Err(refused(
            "a backfill starts times that have passed".to_owned(),
            "leave `--to` out for now",
        ));
    }
    let store = store(project)?;
    let (mut times, mut fired, mut at) = (Vec::new(), 0, Timestamp(from.0 - 1));
    while let Some(next) = schedule.next(at).filter(|next| *next <= to) {
        at = next;
        match store.fire(&loaded.id, &schedule_key(next))? {
            Some(_) => fired += 1,
            None => times.push(next),
        }
        if times.len() > MOST_TIMES {
            let message = format!("the backfill has more than {}", counted(MOST_TIMES, "time"));
            return Err(refused(message, "choose a shorter time with `--from` and `--to`"));
        }
    }
    let view = |at: Timestamp| views::occurrences(schedule, Timestamp(at.0 - 1), 1);
    let times = times.into_iter().flat_map(view).collect();
    Ok(Backfill { trigger: loaded.id.clone(), times, fired, queued: false })
}

/// Queues a run for each of the nominal times of [`backfill_times`], oldest first.
pub fn backfill(
    project: &Project,
    name: &str,
    from: Timestamp,
    to: Timestamp,
) -> Result<Backfill, ServiceError> {
    let found = backfill_times(project, name, from, to)?;
    let loaded = &find(project, name)?;
    project.runnable_plan(loaded.playbook.id.as_str())?;
    let (schedule, store, now) = (schedule_of(loaded)?, store(project)?, project.clock().wall());
    for time in &found.times {
        let Some(nominal) = Timestamp::parse(&time.at) else { continue };
        let params = params_of(loaded, &schedule_payload(schedule, nominal))?;
        let fire = queued(loaded, schedule_key(nominal), Some(nominal), params);
        store.add(&fire, now)?;
    }
    Ok(Backfill { queued: true, ..found })
}

/// A key that no other fire has: two requests within a millisecond are two fires.
pub fn unique_key(kind: &str, now: Timestamp) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{kind}:{}:{}:{count}", now.0, std::process::id())
}

/// The payload of a nominal time.
pub(super) fn schedule_payload(schedule: &Schedule, nominal: Timestamp) -> Json {
    let local = schedule.describe(nominal).local;
    let date = local.get(..10).unwrap_or_default().to_owned();
    json!({"nominal": nominal.rfc3339(), "local": local, "date": date})
}

/// The parameters of a run that a payload starts, checked against their declarations.
pub(super) fn params_of(loaded: &LoadedTrigger, payload: &Json) -> Result<JsonMap, ServiceError> {
    let declared = &loaded.playbook.params;
    let optional = |name: &str| {
        declared
            .iter()
            .any(|param| param.name == name && (param.default.is_some() || !param.required))
    };
    let values = parameters(&loaded.trigger, payload, optional);
    let values = values.map_err(|error| {
        let help = format!("`payload` of `{}` declares the path", loaded.id);
        ServiceError::refused(Failure::new(Code::PAYLOAD, error.to_string()).help(help))
    })?;
    match params::of_child(declared, values.clone()) {
        // The values as given: secrets stay references, defaults are taken when the run starts.
        Ok(_) => Ok(values),
        Err(problems) => {
            let messages: Vec<String> = problems.into_iter().map(|p| p.message).collect();
            let failure = Failure::new(Code::PAYLOAD, messages.join("; "));
            Err(ServiceError::refused(
                failure.help("`kb trigger test` shows what a payload starts"),
            ))
        }
    }
}

/// A fire that waits for its start.
pub(super) fn queued(
    loaded: &LoadedTrigger,
    key: String,
    nominal: Option<Timestamp>,
    params: JsonMap,
) -> NewFire {
    NewFire {
        nominal,
        digest: Some(loaded.digest),
        ..NewFire::queued(&loaded.id, key, loaded.playbook.id.as_str(), params)
    }
}

fn refused(message: String, help: &str) -> ServiceError {
    ServiceError::refused(Failure::new(Code::TRIGGER_REFUSED, message).help(help))
}
