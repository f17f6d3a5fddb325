//! `http:` steps: one request through the same tool, guard and trace as a specialist's.

use super::tool;
use crate::attempt::{Context, Outcome, Request, StepWork};
use crate::diagnostic::Code;
use crate::http::shown_url;
use crate::tool::Toolbox;
use crate::value::{Failure, Json, OutcomeKind};
use serde_json::json;
use std::time::Duration;

/// Sends it; a status that was not expected is a failure, one that asks to come back transient.
pub(super) async fn send(toolbox: &Toolbox, request: &Request, context: &Context) -> Outcome {
    let StepWork::Http { method, expect, url, headers, query, body } = &request.work else {
        let failure = Failure::new(Code::INTERNAL_ERROR.as_str(), "no `http` step");
        return Outcome::failed(OutcomeKind::Unknown, failure);
    };
    let mut args =
        json!({"url": url, "method": method, "headers": object(headers), "query": object(query)});
    if let (Some(body), Some(map)) = (body, args.as_object_mut()) {
        map.insert("body".to_owned(), body.clone());
    }
    let outcome = tool::call(toolbox, request, "http:request", &args, context).await;
    let status = outcome.output.as_ref().and_then(|o| o.get("status")).and_then(Json::as_u64);
    match status {
        Some(status) if !is_expected(status as u16, expect) => {
            unexpected(outcome, status as u16, url)
        }
        _ => outcome,
    }
}

fn object(pairs: &[(String, String)]) -> Json {
    Json::Object(pairs.iter().map(|(name, value)| (name.clone(), json!(value))).collect())
}

fn is_expected(status: u16, expect: &[u16]) -> bool {
    if expect.is_empty() { (200..300).contains(&status) } else { expect.contains(&status) }
}

fn unexpected(outcome: Outcome, status: u16, url: &str) -> Outcome {
    let response = outcome.output.unwrap_or_default();
    let body = response.get("body").map(crate::value::json_text).unwrap_or_default();
    let start: String = body.chars().take(200).collect();
    let message = format!("`{}` answered {status}: {start}", shown_url(url));
    let failure = Failure::new(Code::UNEXPECTED_STATUS.as_str(), message)
        .help("list the statuses that count as done in `http.expect`")
        .details(json!({"status": status}));
    let transient = status == 429 || status >= 500;
    let kind = if transient { OutcomeKind::Transient } else { OutcomeKind::ToolError };
    Outcome { retry_after: retry_after(&response), ..Outcome::failed(kind, failure) }
}

/// `retry-after` in seconds, at most an hour; dates are ignored.
fn retry_after(response: &Json) -> Option<Duration> {
    let text = response.get("headers")?.get("retry-after")?.as_str()?;
    let seconds: u64 = text.trim().parse().ok()?;
    Some(Duration::from_secs(seconds.min(3600)))
}
