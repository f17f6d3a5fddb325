//! The memory: what a person decides about an entry.

use crate::web::answers::OfProject;
use crate::web::call::Call;
use crate::web::param::PROJECT;
use crate::web::problem::Problem;
use crate::web::reply::{self, Answer};
use crate::web::route::{Route, post};
use crate::web::state::WebProject;
use kb_service::service::{self, Environment};
use kb_service::trigger::Role;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const ANSWERS: &[(u16, &str)] = &[
    (200, "What became of the entry."),
    (404, "There is no such entry."),
    (409, "Its state does not allow it."),
];

pub(super) const ROUTES: &[Route] = &[
    post(
        "/api/v1/memory/{entry}/approve",
        Role::Admin,
        approve,
        "Shares an entry of the memory: writes it to `.kb/memory`.",
    )
    .query(&[PROJECT])
    .answers(ANSWERS)
    .returns(|all| all.subschema_for::<OfProject<DecidedEntry>>()),
    post(
        "/api/v1/memory/{entry}/reject",
        Role::Admin,
        reject,
        "Rejects an entry of the memory, so that its sentence is not proposed again.",
    )
    .query(&[PROJECT])
    .body(|all| all.subschema_for::<Reject>())
    .answers(ANSWERS)
    .returns(|all| all.subschema_for::<OfProject<DecidedEntry>>()),
];

/// Why an entry is rejected.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Reject {
    /// The reason, for its history.
    reason: Option<String>,
}

/// What became of an entry.
#[derive(Debug, Serialize, JsonSchema)]
struct DecidedEntry {
    /// Its id.
    entry: String,
    /// As in lists, such as `shared` or `forgotten`.
    state: String,
    /// Its file, if it is shared.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
}

fn decide(
    call: &Call,
    decide: impl FnOnce(&Environment, &str) -> Result<DecidedEntry, service::ServiceError>,
) -> Answer {
    let name = call.path("entry");
    let has = |project: &WebProject| {
        service::show_memory(&call.environment_of(project), name)
            .is_ok_and(|own| own.entry.id == name)
    };
    let project = call.project_with(&format!("the entry `{name}`"), has)?;
    // Only whole ids: an address must not come to mean another entry.
    if !has(&project) {
        return Err(Problem::not_found(format!("there is no entry `{name}`")));
    }
    let value = decide(&call.environment_of(&project), name)?;
    reply::json(&OfProject { project: project.id.clone(), value })
}

fn approve(call: &Call) -> Answer {
    decide(call, |environment, name| {
        let done = service::approve_memory(environment, name)?;
        let state = done.entry.state.as_str().to_owned();
        Ok(DecidedEntry { entry: done.entry.id, state, file: done.file })
    })
}

fn reject(call: &Call) -> Answer {
    let body: Reject = call.json()?;
    let reason = body.reason.filter(|own| !own.trim().is_empty());
    let reason = reason.map(|own| own.chars().take(200).collect());
    decide(call, |environment, name| {
        let entry = service::reject_memory(environment, name, reason)?;
        Ok(DecidedEntry { state: entry.state.as_str().to_owned(), entry: entry.id, file: None })
    })
}
