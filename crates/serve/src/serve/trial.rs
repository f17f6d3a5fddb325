//! What an event would start, without starting it.

use super::catalog::find;
use super::event::Event;
use super::triggers::{params_of, schedule_payload, store};
use super::views::{self, TriggerStateName};
use kb_base::value::{Json, JsonMap};
use kb_language::definition::TriggerSource;
use kb_service::service::{Project, ServiceError};
use serde::Serialize;

/// What a payload would start.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tested {
    /// Id of the trigger.
    pub trigger: String,
    /// Id of the playbook.
    pub playbook: String,
    /// Parameters of the run.
    pub params: JsonMap,
    /// State of the trigger; only an enabled one starts runs.
    pub state: TriggerStateName,
    /// Why `when` lets the event start nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
}

/// What an event with a payload, and with `headers` for a webhook, would start, without starting it.
pub fn test(
    project: &Project,
    name: &str,
    payload: &Json,
    headers: &Json,
) -> Result<Tested, ServiceError> {
    let loaded = &find(project, name)?;
    project.runnable_plan(loaded.playbook.id.as_str())?;
    let payload = match &loaded.trigger.source {
        TriggerSource::Schedule(schedule, _) => schedule_payload(schedule, project.clock().wall()),
        _ => payload.clone(),
    };
    let params = params_of(loaded, &payload)?;
    let state = store(project)?.state(&loaded.id)?;
    let state = views::state_name(loaded, &state);
    let playbook = loaded.playbook.id.to_string();
    let left_out = Event { payload: &payload, headers, depth: 0 }.left_out(&loaded.trigger);
    Ok(Tested { trigger: loaded.id.clone(), playbook, params, state, left_out })
}
