//! `http` steps: one request through the tool `http:request`, with its policy and trace.

use super::host_access::HostAccess;
use super::tool;
use crate::tool::Toolbox;
use kb_attempt::{Context, HttpWork, Outcome, Request};
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, Json, OutcomeKind, json_text};
use kb_http::shown_url;
use kb_language::toolspec::HTTP_REQUEST;
use serde_json::json;
use std::time::Duration;

/// Sends the request. An unexpected status is a failure; 429 and 5xx are transient.
pub(super) async fn send(
    host: &HostAccess,
    toolbox: &Toolbox,
    request: &Request,
    work: &HttpWork,
    context: &Context,
) -> Outcome {
    let HttpWork { args, expect } = work;
    let spec = toolbox.tools().entry(HTTP_REQUEST);
    let outcome = tool::call(host, toolbox, request, &spec, args, context).await;
    let status = outcome.output.as_ref().and_then(|o| o.get("status")).and_then(Json::as_u64);
    match status {
        Some(status) if !is_expected(status as u16, expect) => {
            unexpected(outcome, status as u16, &json_text(&args["url"]))
        }
        _ => outcome,
    }
}

fn is_expected(status: u16, expect: &[u16]) -> bool {
    if expect.is_empty() { (200..300).contains(&status) } else { expect.contains(&status) }
}

fn unexpected(outcome: Outcome, status: u16, url: &str) -> Outcome {
    let response = outcome.output.unwrap_or_default();
    let body = response.get("body").map(json_text).unwrap_or_default();
    let start: String = body.chars().take(200).collect();
    let message = format!("`{}` answered {status}: {start}", shown_url(url));
    let failure = Failure::new(Code::UNEXPECTED_STATUS, message)
        .help("list the expected statuses in `http.expect`")
        .details(json!({"status": status}));
    let transient = status == 429 || status >= 500;
    let kind = if transient { OutcomeKind::Transient } else { OutcomeKind::ToolError };
    Outcome { retry_after: retry_after(&response), ..Outcome::failed(kind, failure) }
}

/// The header `retry-after` in seconds, at most one hour; dates are ignored.
fn retry_after(response: &Json) -> Option<Duration> {
    let text = response.get("headers")?.get("retry-after")?.as_str()?;
    let seconds: u64 = text.trim().parse().ok()?;
    Some(Duration::from_secs(seconds.min(3600)))
}
