//! [`Problem`]: an error as problem details (RFC 9457), with the code that `kb explain` knows.

use axum::Json;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use kb_base::diagnostic::Code;
use kb_base::value::Failure;
use kb_core::wire;
use kb_engine::journal::JournalError;
use kb_service::service::{InspectError, ServiceError};
use serde::Serialize;
use std::ops::Deref;

/// An error of the API. Its contents are boxed, so that a result with it stays small.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Problem(Box<ProblemContents>);

/// An error in the form of RFC 9457.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProblemContents {
    /// `urn:kb:CODE`, or `about:blank` for an error without a code.
    #[serde(rename = "type")]
    pub kind: String,
    /// Short title of the code or status.
    pub title: String,
    /// HTTP status.
    pub status: u16,
    /// What is wrong, as human-readable text.
    pub detail: String,
    /// The code, such as `KB1012`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// The fix, if one is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// All problems of a definition or of parameters.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<wire::Problem>,
    #[serde(skip)]
    retry_after: Option<u64>,
}

impl Problem {
    /// A problem with a code.
    pub fn new(status: StatusCode, code: Code, detail: impl Into<String>) -> Problem {
        let kind = format!("urn:kb:{}", code.as_str());
        let mut problem = Problem::plain(status, detail);
        problem.0.kind = kind;
        problem.0.title = code.title().to_owned();
        problem.0.code = Some(code);
        problem
    }

    /// A problem without a code.
    pub fn plain(status: StatusCode, detail: impl Into<String>) -> Problem {
        Problem(Box::new(ProblemContents {
            kind: "about:blank".to_owned(),
            title: status.canonical_reason().unwrap_or("error").to_lowercase(),
            status: status.as_u16(),
            detail: detail.into(),
            code: None,
            help: None,
            problems: Vec::new(),
            retry_after: None,
        }))
    }

    /// Adds the fix.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Problem {
        self.0.help = Some(help.into());
        self
    }

    /// Nothing has this address or name.
    pub fn not_found(detail: impl Into<String>) -> Problem {
        Problem::plain(StatusCode::NOT_FOUND, detail)
    }

    /// A malformed request.
    pub fn bad_request(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::BAD_REQUEST, Code::BAD_REQUEST, detail)
    }

    /// A request whose values do not fit.
    pub fn unprocessable(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::UNPROCESSABLE_ENTITY, Code::BAD_REQUEST, detail)
    }

    /// The state does not allow the request.
    pub fn conflict(code: Code, detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::CONFLICT, code, detail)
    }

    /// Too many requests; they may continue after some seconds.
    pub fn too_many(detail: impl Into<String>, seconds: u64) -> Problem {
        let status = StatusCode::TOO_MANY_REQUESTS;
        let mut problem = Problem::new(status, Code::TOO_MANY_REQUESTS, detail);
        problem.0.retry_after = Some(seconds);
        problem
    }

    pub(super) fn unauthenticated() -> Problem {
        let detail = "the request has no valid token or session";
        Problem::new(StatusCode::UNAUTHORIZED, Code::UNAUTHENTICATED, detail).help(
            "send `Authorization: Bearer TOKEN`; `kb serve token create` makes one, and `kb serve \
             --open` opens a session in the browser",
        )
    }

    pub(super) fn forbidden(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::FORBIDDEN, Code::FORBIDDEN, detail)
    }

    pub(super) fn wrong_host() -> Problem {
        let detail = "the `Host` of the request is not one of this server";
        Problem::new(StatusCode::MISDIRECTED_REQUEST, Code::REQUEST_REFUSED, detail)
            .help("use the address that `kb serve` prints; `--host NAME` accepts another name")
    }

    pub(super) fn other_site() -> Problem {
        let detail = "the request comes from a page of another site";
        Problem::new(StatusCode::FORBIDDEN, Code::REQUEST_REFUSED, detail)
    }

    pub(super) fn not_json() -> Problem {
        let detail = "the content type is not `application/json`";
        Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, Code::REQUEST_REFUSED, detail)
            .help("send `Content-Type: application/json`, also without a body")
    }

    pub(super) fn uri_too_long() -> Problem {
        Problem::plain(StatusCode::URI_TOO_LONG, "the address is too long")
    }

    pub(super) fn too_large(most: usize) -> Problem {
        let detail = format!("the body has more than {most} bytes");
        Problem::plain(StatusCode::PAYLOAD_TOO_LARGE, detail)
    }

    pub(super) fn internal(detail: impl Into<String>) -> Problem {
        Problem::plain(StatusCode::INTERNAL_SERVER_ERROR, detail)
    }
}

impl Deref for Problem {
    type Target = ProblemContents;

    fn deref(&self) -> &ProblemContents {
        &self.0
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::BAD_REQUEST);
        let retry_after = self.retry_after;
        let mut response = (status, Json(self)).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        headers.extend(retry_after.map(|seconds| (RETRY_AFTER, HeaderValue::from(seconds))));
        response
    }
}

impl From<ServiceError> for Problem {
    fn from(error: ServiceError) -> Problem {
        let status = status_of(&error);
        let (detail, help) = (error.to_string(), error.help());
        let code = error.code();
        let problems = match &error {
            ServiceError::Definitions { diagnostics, sources } => {
                diagnostics.iter().map(|found| wire::Problem::of(found, sources)).collect()
            }
            _ => Vec::new(),
        };
        let mut problem = match code {
            Some(code) => Problem::new(status, code, detail),
            None => Problem::plain(status, detail),
        };
        (problem.0.help, problem.0.problems) = (help, problems);
        problem
    }
}

impl From<JournalError> for Problem {
    fn from(error: JournalError) -> Problem {
        ServiceError::from(error).into()
    }
}

impl From<InspectError> for Problem {
    fn from(error: InspectError) -> Problem {
        ServiceError::from(error).into()
    }
}

fn status_of(error: &ServiceError) -> StatusCode {
    match error {
        ServiceError::NoProject { .. } | ServiceError::Unknown { .. } => StatusCode::NOT_FOUND,
        ServiceError::Definitions { .. } => StatusCode::UNPROCESSABLE_ENTITY,
        ServiceError::Refused(failure) => of_refusal(failure),
        ServiceError::Environment(_) => StatusCode::SERVICE_UNAVAILABLE,
        ServiceError::Journal(error) => match error {
            JournalError::NoRun(_) | JournalError::Ambiguous { .. } => StatusCode::NOT_FOUND,
            JournalError::Leased { .. } | JournalError::LeaseLost(_) => StatusCode::CONFLICT,
            _ => StatusCode::SERVICE_UNAVAILABLE,
        },
    }
}

/// Values that do not fit are the caller's; everything else depends on the state.
fn of_refusal(failure: &Failure) -> StatusCode {
    const VALUES: [Code; 3] = [Code::PAYLOAD, Code::BAD_ANSWER, Code::BAD_REQUEST];
    if VALUES.contains(&failure.code) {
        StatusCode::UNPROCESSABLE_ENTITY
    } else {
        StatusCode::CONFLICT
    }
}
