//! What the steps of a run left behind: session, artifacts, changed files.

use crate::web::answers::JsonObject;
use crate::web::call::Call;
use crate::web::param::{PROJECT, param};
use crate::web::reply::{self, Answer};
use crate::web::route::{Route, get};
use axum::http::header::CONTENT_DISPOSITION;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use kb_base::value::Json;
use kb_service::service::{FileContent, changed_file, run_session};
use kb_service::trigger::Role;

pub(super) const ROUTES: &[Route] = &[
    get(
        "/api/v1/runs/{run}/session",
        Role::Read,
        session,
        "What the specialists of a run decided and left behind, or what one step sees of it.",
    )
    .query(&[param("step", "As this step sees it."), PROJECT])
    .answers(&[
        (200, "As of `kb run session --json`; `artifacts` has the ids."),
        (404, "There is no such run or step."),
    ])
    .returns(|all| all.subschema_for::<JsonObject>()),
    get("/api/v1/runs/{run}/artifacts/{artifact}", Role::Read, artifact, "The content of an artifact.")
        .query(&[PROJECT])
        .answers(&[
            (200, "A text, or JSON in its text form."),
            (404, "There is no such run or artifact."),
        ])
        .returns_text(&["text/plain"]),
    get(
        "/api/v1/runs/{run}/files/{file}",
        // The file is as it is on disk, with what no redactor knows.
        Role::Admin,
        file,
        "The content of a file that the run changed; the path is encoded as one part (`src%2Fmain.rs`).",
    )
    .query(&[param("step", "As this step or item left it."), PROJECT])
    .answers(&[
        (200, "The content as it is on disk; the values of secrets that are variables or files are masked."),
        (404, "There is no such run, or it did not change such a file."),
        (409, "The file is not as the run left it, or it is too large."),
    ])
    .returns_text(&["text/plain", "application/octet-stream"]),
];

fn session(call: &Call) -> Answer {
    let (project, row) = call.run()?;
    let session = run_session(&project.shared.context, row.run.as_str())?;
    reply::json(&session.view(call.query.get("step"))?)
}

fn artifact(call: &Call) -> Answer {
    let (project, row) = call.run()?;
    let session = run_session(&project.shared.context, row.run.as_str())?;
    let text = match &*session.artifact(call.path("artifact"))? {
        Json::String(text) => text.clone(),
        value => format!("{value:#}"),
    };
    Ok(text_file(text))
}

fn file(call: &Call) -> Answer {
    let (project, row) = call.run()?;
    let (context, redactor) = (&project.shared.context, project.shared.redactor());
    let (path, step) = (call.path("file"), call.query.get("step"));
    match changed_file(context, row.run.as_str(), step, path, redactor)? {
        FileContent::Text(text) => Ok(text_file(text)),
        FileContent::Binary(bytes) => {
            let mut response = reply::bytes(StatusCode::OK, "application/octet-stream", bytes);
            let headers = response.headers_mut();
            headers.insert(CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
            Ok(response)
        }
    }
}

/// A text that browsers show. Every answer has `nosniff`, so that it is never a page.
fn text_file(text: String) -> Response {
    reply::bytes(StatusCode::OK, "text/plain; charset=utf-8", text)
}
