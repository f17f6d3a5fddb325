//! Health and projects.

use crate::web::answers::{Health, JsonObject};
use crate::web::call::Call;
use crate::web::reply::{self, Answer};
use crate::web::route::{Route, get};
use axum::http::StatusCode;
use kb_service::trigger::Role;
use schemars::JsonSchema;
use serde::Serialize;
use std::time::Duration;

pub(super) const ROUTES: &[Route] = &[
    get(
        "/healthz",
        Role::Read,
        health,
        "Whether the server answers and schedules are followed; 503 if not for a minute.",
    )
    .public()
    .returns(|all| all.subschema_for::<Health>())
    .answers(&[
        (200, "Schedules are followed."),
        (503, "The scheduler made no turn for a minute."),
    ]),
    get("/api/v1/projects", Role::Read, projects, "The served projects that the caller sees.")
        .returns(|all| all.subschema_for::<Vec<ProjectView>>()),
    get("/api/v1/openapi.json", Role::Read, openapi, "The OpenAPI document of this API.")
        .returns(|all| all.subschema_for::<JsonObject>()),
];

/// The scheduler turns at least twice a second.
const STALLED: Duration = Duration::from_secs(60);

/// A served project.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ProjectView {
    id: String,
    root: String,
    playbooks: usize,
    triggers: usize,
    /// What keeps the daemon from serving it.
    problem: Option<String>,
}

fn health(call: &Call) -> Answer {
    let idle = call.state.since_turn();
    let all = call.state.projects().iter();
    let problems = all.filter(|project| project.state().problem.is_some()).count();
    let (code, status) = if idle.is_some_and(|idle| idle > STALLED) {
        (StatusCode::SERVICE_UNAVAILABLE, "stalled")
    } else if problems > 0 {
        (StatusCode::OK, "problem")
    } else {
        (StatusCode::OK, "ok")
    };
    let health = Health {
        status: status.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        problems,
        scheduler_idle_seconds: idle.map(|idle| idle.as_secs()),
    };
    reply::json_with(code, &health)
}

fn openapi(call: &Call) -> Answer {
    Ok(reply::bytes(StatusCode::OK, "application/json", call.state.document().to_owned()))
}

fn projects(call: &Call) -> Answer {
    let view = |project: &crate::web::state::WebProject| {
        let state = project.state();
        ProjectView {
            id: project.id.clone(),
            root: project.shared.context.root.display().to_string(),
            playbooks: state.project.catalog.playbooks.len(),
            triggers: state.triggers.len(),
            problem: state.problem,
        }
    };
    let all: Vec<ProjectView> = call.projects()?.iter().map(|project| view(project)).collect();
    reply::json(&all)
}
