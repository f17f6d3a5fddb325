//! Login and logout: a one-time code or a token becomes a session cookie.

use crate::web::access;
use crate::web::call::Call;
use crate::web::problem::Problem;
use crate::web::reply::{self, Answer};
use crate::web::route::{Route, asset, page, post};
use crate::web::sessions::SESSION;
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderValue, StatusCode};
use kb_service::trigger::Role;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

pub(super) const ROUTES: &[Route] = &[
    page("/login", Role::Read, show, "The page that opens a session.").public(),
    asset("/assets/login.js", script, "The script of the login."),
    post("/login", Role::Read, login, "Opens a session and sets its cookie.")
        .public()
        .body(|| schemars::schema_for!(Login).to_value())
        .answers(&[
            (200, "The session is open."),
            (401, "The code or token is not valid."),
            (429, "Too many failed logins from this address."),
        ]),
    post("/logout", Role::Read, logout, "Ends the session and its streams.")
        .public()
        .answers(&[(204, "The session has ended.")]),
];

/// The body of a login: one of both.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Login {
    /// The one-time code of the address that `kb serve --open` opens.
    code: Option<String>,
    /// A token of `kb serve token`.
    token: Option<String>,
}

fn show(_: &Call) -> Answer {
    reply::page(include_str!("../assets/login.html").to_owned())
}

fn script(_: &Call) -> Answer {
    let text = include_str!("../assets/login.js");
    Ok(reply::bytes(StatusCode::OK, "text/javascript; charset=utf-8", text))
}

fn login(call: &Call) -> Answer {
    let body: Login = call.json()?;
    let (state, now) = (&call.state, call.now());
    let wait = state.sessions().failures().must_wait(call.peer, now);
    if wait > 0 {
        return Err(Problem::too_many("too many failed logins", wait));
    }
    let found = match (&body.code, &body.token) {
        (Some(code), None) => {
            let is_valid = state.sessions().take_code(code, now);
            is_valid.then_some((Role::Admin, None)).ok_or_else(Problem::unauthenticated)
        }
        (None, Some(token)) => {
            access::by_token(state, token).map(|identity| (identity.role, identity.token()))
        }
        _ => return Err(Problem::unprocessable("the body needs either `code` or `token`")),
    };
    let (role, token) =
        found.inspect_err(|_| state.sessions().failures().has_failed(call.peer, now))?;
    // The cookie is always a new one: what the browser had before is ended, not continued.
    let mut sessions = state.sessions();
    if let Some(earlier) = access::session_id(state, &call.headers) {
        sessions.end(&earlier);
    }
    let text = sessions.begin(role, token, now);
    let text = text.map_err(|error| Problem::internal(format!("no random bytes: {error}")))?;
    let mut response = reply::json(&json!({"role": role.as_str()}))?;
    response.headers_mut().insert(SET_COOKIE, cookie(state.cookie(), &text, SESSION.as_secs())?);
    Ok(response)
}

fn logout(call: &Call) -> Answer {
    if let Some(id) = access::session_id(&call.state, &call.headers) {
        call.state.sessions().end(&id);
    }
    let mut response = reply::empty()?;
    response.headers_mut().insert(SET_COOKIE, cookie(call.state.cookie(), "", 0)?);
    Ok(response)
}

fn cookie(name: &str, value: &str, seconds: u64) -> Result<HeaderValue, Problem> {
    let text = format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age={seconds}");
    HeaderValue::from_str(&text).map_err(|_| Problem::internal("the cookie cannot be written"))
}
