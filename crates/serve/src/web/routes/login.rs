//! Login and logout: a one-time code or a token becomes a session cookie.

use crate::web::access;
use crate::web::answers::SessionRole;
use crate::web::call::Call;
use crate::web::gate::{self, LOGIN};
use crate::web::kept_session::take_code;
use crate::web::problem::Problem;
use crate::web::reply::{self, Answer};
use crate::web::route::{Route, asset, page, post};
use crate::web::sessions::SESSION;
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderValue, StatusCode};
use kb_service::trigger::Role;
use schemars::JsonSchema;
use serde::Deserialize;

pub(super) const ROUTES: &[Route] = &[
    page(LOGIN, Role::Read, show, "The page that opens a session.").public(),
    asset("/assets/login.js", script, "The script of the login."),
    post(
        LOGIN,
        Role::Read,
        login,
        "Opens a session and sets its cookie. Takes a form with `token`, too.",
    )
    .public()
    .body(|all| all.subschema_for::<Login>())
    .answers(&[
        (200, "The session is open."),
        (401, "The code or token is not valid."),
        (429, "Too many failed logins from this address."),
    ])
    .returns(|all| all.subschema_for::<SessionRole>()),
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
    login_page("")
}

/// The page, with a message of this file.
fn login_page(message: &'static str) -> Answer {
    let page = include_str!("../assets/login.html");
    reply::page(page.replace("<!--message-->", message))
}

fn script(_: &Call) -> Answer {
    let text = include_str!("../assets/login.js");
    Ok(reply::bytes(StatusCode::OK, "text/javascript; charset=utf-8", text))
}

fn login(call: &Call) -> Answer {
    if !gate::is_form(&call.headers) {
        return open_session(call, &call.json()?);
    }
    // A browser without scripts: the answer is a page.
    let token = form_urlencoded::parse(&call.body).find(|(name, _)| name == "token");
    let token = token.map(|(_, value)| value.trim().to_owned());
    match open_session(call, &Login { code: None, token }) {
        Ok(answer) => {
            let mut response = reply::see_other("/");
            let cookies = answer.headers().get_all(SET_COOKIE).iter();
            response.headers_mut().extend(cookies.map(|cookie| (SET_COOKIE, cookie.clone())));
            Ok(response)
        }
        Err(problem) => {
            let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::BAD_REQUEST);
            let mut response = login_page(match status {
                StatusCode::TOO_MANY_REQUESTS => "Too many failed logins. Try again in a minute.",
                StatusCode::UNAUTHORIZED => "This token is not valid.",
                _ => "The token could not be checked. Try again.",
            })?;
            *response.status_mut() = status;
            Ok(response)
        }
    }
}

fn open_session(call: &Call, body: &Login) -> Answer {
    let (state, now) = (&call.state, call.now());
    let wait = state.sessions().failures().must_wait(call.peer, now);
    if wait > 0 {
        return Err(Problem::too_many("too many failed logins", wait));
    }
    let found = match (&body.code, &body.token) {
        (Some(code), None) => {
            let store = state.projects().first().map(|project| &project.shared.store);
            let is_valid = store.map(|store| take_code(store, code, now)).transpose()?;
            let is_valid = is_valid.unwrap_or_default();
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
    let mut response = reply::json(&SessionRole { role: role.as_str().to_owned() })?;
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
