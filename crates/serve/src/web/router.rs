//! The router: made of the tables of routes. Every request passes [`serve`].

use super::access::{self, Identity};
use super::call::{self, Call, Query};
use super::gate;
use super::pages;
use super::problem::Problem;
use super::reply::{self, Answer};
use super::route::{Access, Handler, Kind, Method, Route};
use super::routes::ROUTE_GROUPS;
use super::state::WebState;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{FromRequestParts, RawPathParams, Request};
use axum::http::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, on};
use kb_clock as clock;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use tower_http::compression::CompressionLayer;

/// The address of the sender, which the connection adds to each request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer(pub IpAddr);

/// The longest parameter of a path.
const LONGEST_PARAM: usize = 512;

/// The headers of every answer that does not set its own.
const HEADERS: [(HeaderName, &str); 7] = [
    (CONTENT_SECURITY_POLICY, "default-src 'none'; base-uri 'none'; frame-ancestors 'none'"),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
    (REFERRER_POLICY, "no-referrer"),
    (CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// The router of all routes.
pub(super) fn router(state: &Arc<WebState>) -> Router {
    let mut router = Router::new();
    for route in ROUTE_GROUPS.iter().flat_map(|group| group.iter()) {
        let filter = match route.method {
            Method::Get => MethodFilter::GET,
            Method::Post => MethodFilter::POST,
        };
        let state = state.clone();
        let handler = move |request: Request| serve(state.clone(), route, request);
        router = router.route(route.path, on(filter, handler));
    }
    // Only callers with a token learn that something does not exist.
    let (unknown, wrong) = (state.clone(), state.clone());
    router
        .fallback(move |request: Request| {
            let problem = Problem::not_found("nothing has this address");
            async move { refuse(&unknown, &request, problem) }
        })
        .method_not_allowed_fallback(move |request: Request| {
            let detail = "the address does not accept this method";
            let problem = Problem::plain(StatusCode::METHOD_NOT_ALLOWED, detail);
            async move { refuse(&wrong, &request, problem) }
        })
        .layer(CompressionLayer::new().compress_when(compressed))
        .layer(from_fn_with_state(state.clone(), outer))
}

/// Whether an answer is compressed for those who accept it. Streams must reach the reader event by event.
fn compressed(
    status: StatusCode,
    _: axum::http::Version,
    headers: &axum::http::HeaderMap,
    _: &axum::http::Extensions,
) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kinds = ["text/html", "text/css", "text/javascript", "application/json", "image/svg+xml"];
    status == StatusCode::OK && kinds.iter().any(|one| kind.starts_with(one))
}

fn refuse(state: &WebState, request: &Request, problem: Problem) -> Response {
    let accepts = request.headers().get(ACCEPT).and_then(|accepted| accepted.to_str().ok());
    let is_browser = request.method() == axum::http::Method::GET
        && accepts.is_some_and(|accepted| accepted.contains("text/html"));
    match access::identify(state, request.headers()) {
        Ok(_) if is_browser => page_of(problem),
        Ok(_) => problem.into_response(),
        Err(_) if is_browser => reply::see_other("/login"),
        Err(unauthenticated) => unauthenticated.into_response(),
    }
}

/// A problem as a page.
fn page_of(problem: Problem) -> Response {
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::BAD_REQUEST);
    match pages::problem(&problem).and_then(reply::page) {
        Ok(mut response) => {
            *response.status_mut() = status;
            response
        }
        Err(_) => problem.into_response(),
    }
}

/// The checks before the routes, and the headers of every answer.
async fn outer(
    axum::extract::State(state): axum::extract::State<Arc<WebState>>,
    request: Request,
    next: Next,
) -> Response {
    let (method, uri, headers) = (request.method(), request.uri(), request.headers());
    let began = clock::instant();
    let mut response = match gate::check(state.hosts(), method, uri, headers) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    let (status, took) = (response.status().as_u16(), began.elapsed());
    state.meter().add(status, took);
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

async fn serve(state: Arc<WebState>, route: &'static Route, request: Request) -> Response {
    let is_browser = route.kind == Kind::Page;
    let answer = answer(state, route, request).await;
    let status = match &answer {
        Ok(response) => response.status().as_u16(),
        Err(problem) => problem.status,
    };
    // The route, not the address, which can have a token in a wrong place or what a person searches for.
    tracing::debug!(method = route.method.as_str(), route = route.path, status, "request");
    match answer {
        Ok(response) => response,
        Err(problem) if is_browser && problem.status == StatusCode::UNAUTHORIZED.as_u16() => {
            reply::see_other("/login")
        }
        Err(problem) if is_browser => page_of(problem),
        Err(problem) => problem.into_response(),
    }
}

async fn answer(state: Arc<WebState>, route: &'static Route, request: Request) -> Answer {
    let (mut parts, body) = request.into_parts();
    let mut identity = identity(&state, route, &parts.method, &parts.headers)?;
    let path = path_params(&mut parts).await?;
    let query = Query::read(parts.uri.query().unwrap_or_default(), route.query)?;
    let peer = parts.extensions.get::<Peer>().map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |p| p.0);
    let headers = parts.headers;
    if let (Some(identity), Some(person)) = (&mut identity, access::person(&state, &headers, peer))
    {
        identity.name = person;
    }
    let (body, unread) = match route.handler {
        Handler::Blocking(_) => (call::read(body, &headers).await?, None::<Body>),
        Handler::Waiting(_) => (Bytes::new(), Some(body)),
    };
    let call = Call { state, identity, peer, headers, query, path, body, unread };
    match route.handler {
        Handler::Waiting(handler) => handler(call).await,
        Handler::Blocking(handler) => {
            match tokio::task::spawn_blocking(move || handler(&call)).await {
                Ok(answer) => answer,
                Err(_) => Err(Problem::internal(
                    "the request failed; the log of `kb serve` has the cause",
                )),
            }
        }
    }
}

fn identity(
    state: &WebState,
    route: &Route,
    method: &axum::http::Method,
    headers: &axum::http::HeaderMap,
) -> Result<Option<Identity>, Problem> {
    let role = match route.access {
        Access::Public | Access::Signed => return Ok(None),
        Access::Role(role) => role,
    };
    let identity = access::identify(state, headers)?;
    // Browsers name the origin of every request that writes. A cookie alone proves no intention.
    if identity.session.is_some() && !gate::is_reading(method) && !gate::has_origin(headers) {
        return Err(Problem::other_site());
    }
    if identity.role >= role {
        Ok(Some(identity))
    } else {
        let (needed, own) = (role.as_str(), identity.role.as_str());
        Err(Problem::forbidden(format!("this needs the role `{needed}`; yours is `{own}`")))
    }
}

async fn path_params(
    parts: &mut axum::http::request::Parts,
) -> Result<Vec<(String, String)>, Problem> {
    let unknown = || Problem::not_found("nothing has this address");
    let params = RawPathParams::from_request_parts(parts, &()).await.map_err(|_| unknown())?;
    let params: Vec<(String, String)> =
        params.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let is_wrong = |(_, value): &(String, String)| {
        value.len() > LONGEST_PARAM || value.chars().any(char::is_control)
    };
    if params.iter().any(is_wrong) { Err(unknown()) } else { Ok(params) }
}
