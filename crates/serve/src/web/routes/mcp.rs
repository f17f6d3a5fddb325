//! The address for clients of the Model Context Protocol: one message a request, each with its answer.

use crate::web::call::Call;
use crate::web::param::{QueryParam, param};
use crate::web::problem::Problem;
use crate::web::reply::{self, Answer};
use crate::web::route::{Method, Route, waiting};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use futures::FutureExt;
use kb_base::value::Json;
use kb_service::trigger::Role;

/// The versions of the protocol that a client may name in its header.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// The header with the version that was agreed on.
const VERSION: &str = "mcp-protocol-version";

const PROJECT: QueryParam = param("project", "The project, if the daemon serves several.");

pub(super) const ROUTES: &[Route] = &[waiting(
    Method::Post,
    "/mcp",
    Role::Read,
    |call| message(call).boxed(),
    "Answers a message of an MCP client (Streamable HTTP, without sessions and streams).",
)
.query(&[PROJECT])
.body(|all| all.subschema_for::<Json>())
.returns(|all| all.subschema_for::<Json>())
.answers(&[
    (200, "The answer to a request."),
    (202, "The message needs no answer."),
    (400, "The body is no message, the version is not spoken, or several projects are served and none is named."),
])];

async fn message(mut call: Call) -> Answer {
    let named =
        call.headers.get(VERSION).map(|value| value.to_str().unwrap_or_default().to_owned());
    if let Some(version) = named.filter(|version| !VERSIONS.contains(&version.as_str())) {
        let detail = format!("the version `{version}` of the protocol is not spoken");
        return Err(
            Problem::bad_request(detail).help(format!("use one of {}", VERSIONS.join(", ")))
        );
    }
    let Some(messages) = call.state.mcp() else {
        return Err(Problem::not_found("this server offers no MCP server"));
    };
    let project = call.project_with("runs", |_| true)?;
    let body = call.read_body().await?;
    let message: Json = serde_json::from_slice(&body)
        .map_err(|error| Problem::bad_request(format!("the body is not JSON: {error}")))?;
    let answer = messages.answer(&project.shared, call.has(Role::Run), message).await;
    match answer {
        Some(answer) => reply::json(&answer),
        None => Ok(StatusCode::ACCEPTED.into_response()),
    }
}
