//! Tokens: list, create, revoke. The text of a token is shown once.

use crate::web::answers::OfProject;
use crate::web::call::Call;
use crate::web::param::PROJECT;
use crate::web::problem::Problem;
use crate::web::reply::{self, Answer};
use crate::web::route::{Route, get, post};
use crate::web::secret::{TokenView, new_token, revoke_token, token_view};
use axum::http::StatusCode;
use kb_base::value::parse_duration;
use kb_service::trigger::Role;
use schemars::JsonSchema;
use serde::Deserialize;

pub(super) const ROUTES: &[Route] = &[
    get("/api/v1/tokens", Role::Admin, list, "The tokens, without their secrets.")
        .query(&[PROJECT])
        .returns(|all| all.subschema_for::<Vec<OfProject<TokenView>>>()),
    post(
        "/api/v1/tokens",
        Role::Admin,
        create,
        "Creates a token. Its text is in the answer and nowhere else.",
    )
    .query(&[PROJECT])
    .body(|all| all.subschema_for::<Create>())
    .answers(&[(201, "The token."), (422, "Name, role or time do not fit.")])
    .returns(|all| all.subschema_for::<OfProject<TokenView>>()),
    post(
        "/api/v1/tokens/{token}/revoke",
        Role::Admin,
        revoke,
        "Revokes a token by its name, at once.",
    )
    .query(&[PROJECT])
    .answers(&[(204, "It is revoked."), (404, "There is no valid token of this name.")]),
];

/// A new token.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Create {
    /// Its name, for lists and records.
    name: String,
    /// `read`, `run`, `approve` or `admin`.
    role: String,
    /// Time after which it ends, such as `30d`.
    expires: Option<String>,
}

fn list(call: &Call) -> Answer {
    let mut all = Vec::new();
    for project in call.projects()? {
        for token in project.shared.store.tokens()? {
            let value = token_view(&token, call.now());
            all.push(OfProject { project: project.id.clone(), value });
        }
    }
    reply::json(&all)
}

fn create(call: &Call) -> Answer {
    let body: Create = call.json()?;
    let role = Role::parse(&body.role)
        .ok_or_else(|| Problem::unprocessable("`role` is read, run, approve or admin"))?;
    let expires = body.expires.as_deref().map(parse_duration).transpose();
    let expires = expires.map_err(|error| Problem::unprocessable(format!("`expires`: {error}")))?;
    let project = call.project_with("tokens", |_| true)?;
    let token = new_token(&project.shared.store, &body.name, role, expires, call.now())?;
    let value = TokenView { token: Some(token.text), ..token_view(&token.row, call.now()) };
    let view = OfProject { project: project.id.clone(), value };
    reply::json_with(StatusCode::CREATED, &view)
}

fn revoke(call: &Call) -> Answer {
    let project = call.project_with("tokens", |_| true)?;
    revoke_token(&project.shared.store, call.path("token"))?;
    reply::empty()
}
