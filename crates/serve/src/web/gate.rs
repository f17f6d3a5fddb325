//! The checks of a request that need no knowledge of who asks. Pure, in the order of the functions here.

use super::hosts::Hosts;
use super::problem::Problem;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, COOKIE, HOST, ORIGIN, TRANSFER_ENCODING};
use axum::http::{HeaderMap, Method, Uri};

/// The address of the login, which takes a form from browsers without scripts.
pub(super) const LOGIN: &str = "/login";
/// The longest path with its query.
const LONGEST_URI: usize = 4096;

/// Checks host, site, origin and content type of a request.
pub(super) fn check(
    hosts: &Hosts,
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<(), Problem> {
    let host = host_of(hosts, uri, headers)?;
    if uri.path_and_query().is_some_and(|path| path.as_str().len() > LONGEST_URI) {
        return Err(Problem::uri_too_long());
    }
    check_site(method, headers)?;
    check_origin(hosts, host, headers)?;
    // A webhook is signed, and the login needs a token: no page of another site can send one that counts.
    let takes_forms = || uri.path().starts_with("/hooks/") || uri.path() == LOGIN;
    // What a browser adds by itself is the cookie: without one, a page of another site has no rights.
    let is_empty_without_cookie = !headers.contains_key(COOKIE)
        && !headers.contains_key(CONTENT_TYPE)
        && has_no_body(headers);
    let is_safe = is_reading(method) || is_json(headers) || is_empty_without_cookie;
    if is_safe || is_form(headers) && takes_forms() {
        return Ok(());
    }
    Err(Problem::not_json())
}

/// Whether the method has no effect.
pub(super) fn is_reading(method: &Method) -> bool {
    *method == Method::GET || *method == Method::HEAD
}

/// Whether the request names our origin.
pub(super) fn has_origin(headers: &HeaderMap) -> bool {
    headers.contains_key(ORIGIN)
}

fn host_of<'h>(hosts: &Hosts, uri: &Uri, headers: &'h HeaderMap) -> Result<&'h str, Problem> {
    let mut given = headers.get_all(HOST).iter();
    let (Some(host), None) = (given.next(), given.next()) else {
        return Err(Problem::wrong_host());
    };
    let host = host.to_str().map_err(|_| Problem::wrong_host())?;
    // The form of requests to proxies names the host twice.
    let fits = uri.authority().is_none_or(|authority| authority.as_str() == host);
    if fits && hosts.accept(host) { Ok(host) } else { Err(Problem::wrong_host()) }
}

/// Requests that a page of another site makes are refused; following a link to a page is not.
fn check_site(method: &Method, headers: &HeaderMap) -> Result<(), Problem> {
    let is = |name: &str, value: &str| {
        let mut all = headers.get_all(name).iter();
        all.next().is_some_and(|found| found == value) && all.next().is_none()
    };
    let site = "sec-fetch-site";
    if !headers.contains_key(site) || is(site, "same-origin") || is(site, "none") {
        return Ok(());
    }
    let is_link = is("sec-fetch-mode", "navigate") && is("sec-fetch-dest", "document");
    if is_link && is_reading(method) { Ok(()) } else { Err(Problem::other_site()) }
}

fn check_origin(hosts: &Hosts, host: &str, headers: &HeaderMap) -> Result<(), Problem> {
    let own = |origin: &axum::http::HeaderValue| {
        origin.to_str().is_ok_and(|origin| hosts.is_own_origin(origin, host))
    };
    let mut given = headers.get_all(ORIGIN).iter();
    match (given.next(), given.next()) {
        (None, _) => Ok(()),
        (Some(origin), None) if own(origin) => Ok(()),
        _ => Err(Problem::other_site()),
    }
}

/// Forms and plain texts are what a page of another site can send without asking.
fn is_json(headers: &HeaderMap) -> bool {
    has_type(headers, "application/json")
}

/// Whether the body is a form.
pub(super) fn is_form(headers: &HeaderMap) -> bool {
    has_type(headers, "application/x-www-form-urlencoded")
}

fn has_no_body(headers: &HeaderMap) -> bool {
    let length = headers.get(CONTENT_LENGTH).is_none_or(|length| length == "0");
    length && !headers.contains_key(TRANSFER_ENCODING)
}

fn has_type(headers: &HeaderMap, wanted: &str) -> bool {
    let mut given = headers.get_all(CONTENT_TYPE).iter();
    let (Some(only), None) = (given.next(), given.next()) else { return false };
    let essence = only.to_str().unwrap_or_default().split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case(wanted)
}
