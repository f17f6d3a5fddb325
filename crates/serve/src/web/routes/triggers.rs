//! Triggers: list, pause, resume, fire, backfill, enable.

use crate::serve::{self, Backfill, Fired, TriggerView};
use crate::web::answers::OfProject;
use crate::web::call::Call;
use crate::web::param::{PROJECT, QueryValues, param};
use crate::web::problem::Problem;
use crate::web::reply::{self, Answer};
use crate::web::route::{Route, get, post};
use axum::http::StatusCode;
use kb_base::value::{Json, Timestamp};
use kb_service::service::{PointInTime, Project, ServiceError};
use kb_service::trigger::Role;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const STATES: &[(u16, &str)] = &[
    (200, "The trigger."),
    (404, "There is no such trigger."),
    (409, "Its state does not allow it."),
];

pub(super) const ROUTES: &[Route] = &[
    get("/api/v1/triggers", Role::Read, list, "All triggers with their state and next times.")
        .query(&[PROJECT])
        .returns(|all| all.subschema_for::<Vec<OfProject<TriggerView>>>()),
    get(
        "/api/v1/triggers/{trigger}",
        Role::Read,
        show,
        "A trigger with its next times and newest fires.",
    )
    .query(&[
        param("count", "Number of fires, at most 200; by default 20.")
            .values(QueryValues::Number(200)),
        PROJECT,
    ])
    .answers(&[(200, "As of `kb trigger show --json`."), (404, "There is no such trigger.")])
    .returns(|all| all.subschema_for::<OfProject<TriggerView>>()),
    post("/api/v1/triggers/{trigger}/pause", Role::Run, pause, "Pauses an enabled trigger.")
        .query(&[PROJECT])
        .body(|all| all.subschema_for::<Pause>())
        .answers(STATES)
        .returns(|all| all.subschema_for::<OfProject<TriggerView>>()),
    post("/api/v1/triggers/{trigger}/resume", Role::Run, resume, "Ends the pause of a trigger.")
        .query(&[PROJECT])
        .answers(STATES)
        .returns(|all| all.subschema_for::<OfProject<TriggerView>>()),
    post("/api/v1/triggers/{trigger}/fire", Role::Run, fire, "Queues a run of a trigger now.")
        .query(&[PROJECT])
        .body(|all| all.subschema_for::<Fire>())
        .answers(&[
            (202, "The run is queued."),
            (404, "There is no such trigger."),
            (422, "The payload does not fit."),
        ])
        .returns(|all| all.subschema_for::<OfProject<Fired>>()),
    post(
        "/api/v1/triggers/{trigger}/backfill",
        Role::Run,
        backfill,
        "Counts the past times of a schedule without a run; with `confirm`, queues them.",
    )
    .query(&[PROJECT])
    .body(|all| all.subschema_for::<BackfillRequest>())
    .answers(&[
        (200, "What would start."),
        (202, "The runs are queued."),
        (404, "There is no such trigger."),
        (409, "It is no schedule, or the number of times is not the confirmed one."),
        (422, "A time is not one."),
    ])
    .returns(|all| all.subschema_for::<OfProject<Backfill>>()),
    post(
        "/api/v1/triggers/{trigger}/enable",
        Role::Admin,
        enable,
        "Enables the definition that the caller has seen.",
    )
    .query(&[PROJECT])
    .body(|all| all.subschema_for::<Enable>())
    .answers(&[
        (200, "The trigger."),
        (404, "There is no such trigger."),
        (409, "The definition is another one."),
        (422, "It has errors."),
    ])
    .returns(|all| all.subschema_for::<OfProject<TriggerView>>()),
    post(
        "/api/v1/triggers/{trigger}/disable",
        Role::Admin,
        disable,
        "Disables a trigger; its active runs continue.",
    )
    .query(&[PROJECT])
    .answers(STATES)
    .returns(|all| all.subschema_for::<OfProject<TriggerView>>()),
];

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Pause {
    /// Why, for lists.
    reason: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Fire {
    /// The payload, as an event would have it; a schedule needs none.
    #[serde(default)]
    payload: Json,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct BackfillRequest {
    /// The first time: RFC 3339, or a duration before now such as `7d`.
    from: String,
    /// The last time; by default now.
    to: Option<String>,
    /// The number of times that the count gave: the runs are queued if it is still the same.
    confirm: Option<usize>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Enable {
    /// The digest of the definition, as listed.
    digest: String,
}

fn list(call: &Call) -> Answer {
    let mut all = Vec::new();
    for project in call.projects()? {
        for view in serve::list(&project.state().project, 1)? {
            all.push(OfProject { project: project.id.clone(), value: view });
        }
    }
    reply::json(&all)
}

/// Executes a use case of the trigger of the path, and wakes the daemon if it writes.
fn with<T: Serialize>(
    call: &Call,
    status: StatusCode,
    use_case: impl FnOnce(&Project, &str) -> Result<T, ServiceError>,
) -> Answer {
    let name = call.path("trigger");
    let has = |project: &crate::web::state::WebProject| project.state().triggers.contains_key(name);
    let project = call.project_with(&format!("the trigger `{name}`"), has)?;
    let value = use_case(&project.state().project, name)?;
    project.shared.daemon.wake();
    reply::json_with(status, &OfProject { project: project.id.clone(), value })
}

/// [`with`] for a use case that records who asked.
fn changing<T: Serialize>(
    call: &Call,
    status: StatusCode,
    use_case: impl FnOnce(&Project, &str) -> Result<T, ServiceError>,
) -> Answer {
    with(call, status, |project, name| use_case(&project.acting_as(call.user()), name))
}

fn show(call: &Call) -> Answer {
    let count = call.query.number("count", 20, 200)? as usize;
    with(call, StatusCode::OK, |project, name| serve::show(project, name, count))
}

fn pause(call: &Call) -> Answer {
    let body: Pause = call.json()?;
    let reason = body.reason.unwrap_or_else(|| format!("by {}", call.user()));
    let reason: String = reason.chars().take(200).collect();
    changing(call, StatusCode::OK, |project, name| serve::pause(project, name, &reason))
}

fn resume(call: &Call) -> Answer {
    changing(call, StatusCode::OK, serve::resume)
}

fn fire(call: &Call) -> Answer {
    let body: Fire = call.json()?;
    changing(call, StatusCode::ACCEPTED, |project, name| serve::fire(project, name, &body.payload))
}

fn enable(call: &Call) -> Answer {
    let body: Enable = call.json()?;
    changing(call, StatusCode::OK, |project, name| serve::enable(project, name, Some(&body.digest)))
}

fn disable(call: &Call) -> Answer {
    changing(call, StatusCode::OK, serve::disable)
}

fn backfill(call: &Call) -> Answer {
    let body: BackfillRequest = call.json()?;
    let time = |text: &str| {
        PointInTime::parse(text).map(|time| time.at(call.now())).ok_or_else(|| {
            Problem::unprocessable(format!(
                "`{}` is not a time",
                text.chars().take(40).collect::<String>()
            ))
        })
    };
    let (from, to) = (time(&body.from)?, body.to.as_deref().map(time).transpose()?);
    let to: Timestamp = to.unwrap_or_else(|| call.now());
    let Some(confirmed) = body.confirm else {
        return with(call, StatusCode::OK, |project, name| {
            serve::backfill_times(project, name, from, to)
        });
    };
    changing(call, StatusCode::ACCEPTED, |project, name| {
        let found = serve::backfill_times(project, name, from, to)?.times.len();
        if found != confirmed {
            let message = format!("there are {found} times now, not {confirmed}");
            let code = kb_base::diagnostic::Code::CHANGED_MEANWHILE;
            return Err(ServiceError::refused(kb_base::value::Failure::new(code, message)));
        }
        serve::backfill(project, name, from, to)
    })
}
