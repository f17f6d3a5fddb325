//! Errors of providers as [`ModelError`]s, with human-readable messages. Start at [`model_error`].

use crate::llm::ModelError;
use crate::llm::status::error_of_status;
use crate::llm::target::Target;
use genai::Error;
use genai::webc::StreamTimeout;
use kb_base::value::Json;
use reqwest::header::HeaderMap;
use secrecy::ExposeSecret;
use std::error::Error as StdError;
use std::time::Duration;

/// Maximum length of a provider's message in ours, in characters.
const WORDS: usize = 300;
/// Maximum delay that a provider may ask for.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// A transient error.
pub(super) fn transient(message: String) -> ModelError {
    ModelError::Transient { message, status: None, retry_after: None }
}

/// The error for a response that is not of the protocol.
pub(super) fn invalid(target: &Target) -> ModelError {
    transient(format!("`{}` sent an invalid response", target.model))
}

/// The error for a stream that stands still.
pub(super) fn silent(target: &Target) -> ModelError {
    transient(format!("`{}` stopped sending in the middle of its response", target.model))
}

/// The error for a stream without an end event.
pub(super) fn cut(target: &Target, heard_events: bool) -> ModelError {
    transient(if heard_events {
        format!("the response of `{}` was interrupted", target.model)
    } else {
        format!(
            "`{}` did not send an event stream; check that it is a URL such as `http://127.0.0.1:8080/v1`",
            target.endpoint
        )
    })
}

/// The error with a human-readable message; API keys in texts of the provider are masked.
pub(super) fn model_error(error: Error, target: &Target) -> ModelError {
    match error {
        Error::HttpError { status, body, headers, .. } => {
            http(status.as_u16(), &headers, &body, target)
        }
        // A stream opens before its status is known; the error inside has the status.
        Error::WebStream { error, cause, .. } => match error.downcast::<Error>() {
            Ok(inner) => model_error(*inner, target),
            Err(other) => transport(other.as_ref(), &cause, target),
        },
        Error::WebModelCall { webc_error, .. } | Error::WebAdapterCall { webc_error, .. } => {
            let cause = webc_error.to_string();
            match webc_error.status() {
                Some(status) => {
                    let none = HeaderMap::new();
                    let headers = webc_error.headers().unwrap_or(&none);
                    http(status.as_u16(), headers, &cause, target)
                }
                None => transport(&webc_error, &cause, target),
            }
        }
        Error::ChatResponse { body, .. } => in_stream(&body, target),
        Error::StreamParse { serde_error, .. } => {
            let why = words(&serde_error.to_string(), target);
            transient(format!("`{}` sent an invalid response: {why}", target.model))
        }
        Error::SerdeJson(_)
        | Error::JsonValueExt(_)
        | Error::InvalidJsonResponseElement { .. }
        | Error::NoChatResponse { .. }
        | Error::ChatResponseGeneration { .. } => invalid(target),
        other => ModelError::Refused {
            message: format!(
                "`{}` cannot be called: {}",
                target.model,
                words(&other.to_string(), target)
            ),
            status: None,
        },
    }
}

/// The error for a response with an error status.
pub(super) fn http(status: u16, headers: &HeaderMap, body: &str, target: &Target) -> ModelError {
    let said = match said(body) {
        Some(said) => format!(": {}", words(&said, target)),
        None => String::new(),
    };
    let fix = fix(status, headers, target);
    let message = format!("`{}` answered with status {status}{said}{fix}", target.model);
    error_of_status(status, retry_after(headers), message)
}

/// The error for a response with an endless body.
pub(super) fn endless(status: u16, target: &Target) -> ModelError {
    let message = format!(
        "`{}` answered with status {status} and a body that exceeds the limit",
        target.model
    );
    error_of_status(status, None, message)
}

/// The fix for a status that a retry cannot change, as the end of a message.
fn fix(status: u16, headers: &HeaderMap, target: &Target) -> String {
    let endpoint = &target.endpoint;
    match (status, &target.key_env) {
        (401 | 403, Some(name)) => format!("; check the API key in `{name}`"),
        (401 | 403, None) => format!(
            "; `{endpoint}` requires an API key: name its variable with `apiKeyEnv` of the tier, or \
             set `KB_LLM_API_KEY`"
        ),
        (404, _) => format!(
            "; check the model name `{}` and the endpoint `{endpoint}` (`llm.tiers`, `KB_LLM_MODEL`, \
             `KB_LLM_ENDPOINT`)",
            target.model
        ),
        (300..=399, _) => {
            let location = headers.get("location").and_then(|location| location.to_str().ok());
            let location = location.map(|url| format!(" to `{}`", tidy(url))).unwrap_or_default();
            format!("; `{endpoint}` redirects{location}: set that URL as the endpoint")
        }
        _ => String::new(),
    }
}

/// The error for an error event in the stream.
pub(super) fn in_stream(body: &Json, target: &Target) -> ModelError {
    let inner = if body["error"].is_object() { &body["error"] } else { body };
    let kind = inner["type"].as_str().or(inner["status"].as_str()).unwrap_or_default();
    let status = [&inner["code"], &inner["status"], &inner["status_code"]]
        .into_iter()
        .find_map(|value| value.as_u64().or_else(|| value.as_str()?.parse().ok()))
        .filter(|status| (400..600).contains(status));
    let status = status.map(|status| status as u16).unwrap_or(match kind {
        "invalid_request_error" | "exceed_context_size_error" | "INVALID_ARGUMENT" => 400,
        "authentication_error" | "UNAUTHENTICATED" => 401,
        "permission_error" | "PERMISSION_DENIED" => 403,
        "not_found_error" | "NOT_FOUND" => 404,
        "rate_limit_error" | "RESOURCE_EXHAUSTED" => 429,
        "overloaded_error" | "UNAVAILABLE" => 529,
        _ => 500,
    });
    http(status, &HeaderMap::new(), &body.to_string(), target)
}

/// The error for a connection that failed.
pub(super) fn transport(
    error: &(dyn StdError + Send + Sync + 'static),
    cause: &str,
    target: &Target,
) -> ModelError {
    let endpoint = &target.endpoint;
    if let Some(StreamTimeout::Headers | StreamTimeout::Read) = error.downcast_ref() {
        return silent(target);
    }
    let Some(web) = error.downcast_ref::<reqwest::Error>() else {
        return transient(format!(
            "`{}` closed the connection: {}",
            target.model,
            words(cause, target)
        ));
    };
    let why = words(&root(web), target);
    if web.is_connect() {
        let local = crate::llm::target::is_local(endpoint);
        let fix = if local { "; is the server running?" } else { "; is there a network?" };
        return ModelError::Unreachable {
            message: format!("cannot reach `{endpoint}`: {why}{fix}"),
        };
    }
    if web.is_timeout() {
        return transient(format!("connecting to `{endpoint}` timed out"));
    }
    transient(format!("the response of `{}` was interrupted: {why}", target.model))
}

/// The innermost cause, which has the specific message.
fn root(error: &dyn StdError) -> String {
    let mut deepest = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    deepest.to_string()
}

/// The message in a body: `error.message` of JSON, a fixed text for HTML, else the text itself.
fn said(body: &str) -> Option<String> {
    let text = body.trim();
    if text.is_empty() {
        return None;
    }
    if text.starts_with('<') {
        return Some("an HTML page, as from a proxy or a web site".to_owned());
    }
    let json: Json = serde_json::from_str(text).unwrap_or_default();
    let json = json.get(0).cloned().unwrap_or(json);
    let message = [&json["error"]["message"], &json["message"], &json["error"], &json["detail"]];
    let found = message.into_iter().find_map(Json::as_str).map(str::to_owned);
    found.or_else(|| Some(text.to_owned()))
}

/// A text of the provider as one bounded line, without control characters and API keys.
fn words(text: &str, target: &Target) -> String {
    let keys = target.key.iter().map(|key| key.expose_secret());
    let masked = keys
        .filter(|key| key.len() >= 4)
        .fold(text.to_owned(), |text, key| text.replace(key, "***"));
    // Masked before it is truncated, since a truncated secret is not found.
    tidy(&target.redactor.mask(masked))
}

fn tidy(text: &str) -> String {
    let line: Vec<&str> = text
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|w| !w.is_empty())
        .collect();
    let line = line.join(" ");
    match line.char_indices().nth(WORDS) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

/// `retry-after-ms`, or `retry-after` in seconds or as a date. A date is compared with the date of the
/// response, so that the clocks of provider and client may differ.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let seconds = |text: &str| text.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0);
    let wait = match text("retry-after-ms").and_then(seconds) {
        Some(ms) => Some(ms / 1000.0),
        None => text("retry-after")
            .and_then(|wait| seconds(wait).or_else(|| until(wait, text("date")?))),
    };
    wait.map(|seconds| Duration::from_secs_f64(seconds.min(LONGEST_WAIT.as_secs_f64())))
}

/// The seconds from the date of a response to another date.
fn until(date: &str, sent: &str) -> Option<f64> {
    let [at, sent] = [date, sent].map(|date| jiff::fmt::rfc2822::parse(date).ok());
    let wait = at?.timestamp().as_millisecond() - sent?.timestamp().as_millisecond();
    Some(wait.max(0) as f64 / 1000.0)
}
