//! The forms of an answer.

use super::problem::Problem;
use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use futures::Stream;
use serde::Serialize;
use std::convert::Infallible;

/// What a handler returns.
pub(super) type Answer = Result<Response, Problem>;

/// The content policy of a page: only its own scripts, styles, pictures and requests.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
     font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// A value as JSON, with status 200.
pub(super) fn json(value: &impl Serialize) -> Answer {
    json_with(StatusCode::OK, value)
}

/// A value as JSON.
pub(super) fn json_with(status: StatusCode, value: &impl Serialize) -> Answer {
    let text = serde_json::to_vec(value)
        .map_err(|error| Problem::internal(format!("the answer cannot be written: {error}")))?;
    Ok(bytes(status, "application/json", text))
}

/// A page. Its policy allows only what this server serves.
pub(super) fn page(html: String) -> Answer {
    let mut response = bytes(StatusCode::OK, "text/html; charset=utf-8", html);
    let policy = HeaderValue::from_static(PAGE_POLICY);
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    Ok(response)
}

/// Bytes of a type.
pub(super) fn bytes(
    status: StatusCode,
    content_type: &'static str,
    content: impl Into<Bytes>,
) -> Response {
    let mut response = (status, Body::from(content.into())).into_response();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// An answer that ends with the stream.
pub(super) fn stream(
    content_type: &'static str,
    parts: impl Stream<Item = Bytes> + Send + 'static,
) -> Response {
    let parts = futures::StreamExt::map(parts, Ok::<Bytes, Infallible>);
    let mut response = Body::from_stream(parts).into_response();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// An answer without content.
pub(super) fn empty() -> Answer {
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Leads a browser to another page of this server.
pub(super) fn see_other(path: &'static str) -> Response {
    (StatusCode::SEE_OTHER, [(LOCATION, HeaderValue::from_static(path))]).into_response()
}
