//! Turns the nominal times that have passed into fires.

use super::catalog::{LoadedTrigger, TriggerCatalog};
use super::triggers::{params_of, queued, schedule_payload};
use kb_base::value::{JsonMap, Timestamp};
use kb_language::definition::TriggerSource;
use kb_language::schedule::{ActiveRuns, Decision, Entry, Verdict, account, overlap};
use kb_service::trigger::{Enabled, FireState, NewFire, Recorded, TriggerState, schedule_key};
use std::collections::BTreeMap;

/// What happened to the schedules of a project since the last time.
#[derive(Debug, Default)]
pub(super) struct Passed {
    /// The nominal times that are due, by trigger, to be stored in one transaction.
    pub(super) recorded: Vec<Recorded>,
    /// Triggers whose active and waiting runs make room for a new one.
    pub(super) replaced: Vec<String>,
    /// When the next nominal time is due.
    pub(super) due: Option<Timestamp>,
}

/// Accounts for the nominal times of all enabled schedules. `active` has the runs that have not ended.
pub(super) fn passed(
    catalog: &TriggerCatalog,
    states: &BTreeMap<String, TriggerState>,
    active: &BTreeMap<String, ActiveRuns>,
    now: Timestamp,
) -> Passed {
    let mut passed = Passed::default();
    for loaded in catalog.values() {
        let TriggerSource::Schedule(schedule, policy) = &loaded.trigger.source else { continue };
        let Some(state) = states.get(&loaded.id) else { continue };
        let enabled = state.is_enabled(&loaded.digest);
        if enabled == Enabled::No {
            continue;
        }
        let paused = state.paused.is_some();
        let found = account(&loaded.id, schedule, *policy, paused, state.cursor, now);
        passed.due = [passed.due, found.due].into_iter().flatten().min();
        if found.entries.is_empty() && found.cursor == state.cursor {
            continue;
        }
        let mut active = active.get(&loaded.id).copied().unwrap_or_default();
        let mut fires = Vec::new();
        for entry in found.entries {
            if enabled == Enabled::Changed {
                fires.push(fire_without_run(loaded, entry, FireState::Skipped, CHANGED));
                continue;
            }
            match entry.verdict {
                Verdict::Fire { .. } => {
                    let decision = overlap(loaded.trigger.overlap, active);
                    if decision == Decision::Replace {
                        passed.replaced.push(loaded.id.clone());
                        fires.iter_mut().for_each(replace);
                        active.queued = 0;
                    }
                    fires.push(fire(
                        loaded,
                        schedule_payload(schedule, entry.nominal),
                        entry,
                        decision,
                    ));
                    active.queued += usize::from(decision != Decision::Skip);
                }
                Verdict::Paused => {
                    let reason = state.paused.as_deref().unwrap_or_default();
                    let reason = format!("the trigger is paused: {reason}");
                    fires.push(fire_without_run(loaded, entry, FireState::Skipped, &reason));
                }
                Verdict::Missed => {
                    fires.push(fire_without_run(loaded, entry, FireState::Missed, MISSED))
                }
                Verdict::Superseded => {
                    fires.push(fire_without_run(loaded, entry, FireState::Missed, SUPERSEDED));
                }
                Verdict::BeyondMaximum => {
                    fires.push(fire_without_run(loaded, entry, FireState::Missed, BEYOND));
                }
            }
        }
        passed.recorded.push(Recorded { trigger: loaded.id.clone(), cursor: found.cursor, fires });
    }
    passed
}

const CHANGED: &str = "the definition was changed and is not enabled";
const MISSED: &str = "`kb serve` did not run";
const SUPERSEDED: &str = "`kb serve` did not run; a newer time starts one run for all";
const BEYOND: &str = "`kb serve` did not run; more times than `catchUp.max`";
/// The reason of a start that a newer one replaced.
pub(super) const REPLACED: &str = "replaced by a newer start";

fn replace(fire: &mut NewFire) {
    if fire.state == FireState::Queued {
        fire.state = FireState::Skipped;
        fire.reason = Some(REPLACED.to_owned());
    }
}

fn fire(
    loaded: &LoadedTrigger,
    payload: kb_base::value::Json,
    entry: Entry,
    decision: Decision,
) -> NewFire {
    if decision == Decision::Skip {
        return fire_without_run(
            loaded,
            entry,
            FireState::Skipped,
            "another run of the trigger has not ended",
        );
    }
    match params_of(loaded, &payload) {
        Ok(params) => queued(loaded, schedule_key(entry.nominal), Some(entry.nominal), params),
        Err(error) => fire_without_run(loaded, entry, FireState::Skipped, &error.to_string()),
    }
}

/// A nominal time, or several in a row, without a run.
fn fire_without_run(
    loaded: &LoadedTrigger,
    entry: Entry,
    state: FireState,
    reason: &str,
) -> NewFire {
    NewFire {
        nominal: Some(entry.nominal),
        until: entry.until,
        state,
        reason: Some(reason.to_owned()),
        ..queued(loaded, format!("{}:{}", state.as_str(), entry.nominal.0), None, JsonMap::new())
    }
}
