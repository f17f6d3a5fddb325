//! Export of the traces of runs to a collector, as OTLP/JSON over HTTP.

use super::notify::{Untold, reading_secrets, secret};
use super::runs::ProjectContext;
use super::{Project, ServiceError};
use crate::definition::TraceSettings;
use crate::http::{HttpClient, HttpError, HttpRequest, host_of, shown_url};
use crate::inspect::{self, TracePart};
use crate::journal::Journal;
use crate::value::{Json, RunId, one_line};
use crate::wire::trace_request;
use std::sync::Arc;
use std::time::Duration;

/// Maximum number of spans of one request.
const MOST_SPANS: usize = 2000;
/// Time that a collector has.
const LIMIT: Duration = Duration::from_secs(30);
/// The path of a collector for traces.
const PATH: &str = "/v1/traces";

/// The trace of a run as a request of OTLP.
pub fn run_trace(context: &ProjectContext, run: &str, service: &str) -> Result<Json, ServiceError> {
    let journal = context.journal(Default::default())?;
    Ok(trace_request(&inspect::trace(&journal, run, TracePart::All)?, service))
}

/// Sends the spans of a run since its end before the last one. Ids are the same in every attempt, so that a trace
/// that is sent twice is one trace. Problems are masked.
pub async fn export_trace(
    project: &Project,
    to: &TraceSettings,
    journal: &Arc<dyn Journal>,
    run: &RunId,
) -> Result<(), Untold> {
    let (reader, name) = (journal.clone(), run.clone());
    let read = move || inspect::trace(&reader, name.as_str(), TracePart::LastEnd);
    let spans = tokio::task::spawn_blocking(read).await;
    let spans = match spans {
        Ok(Ok(spans)) => spans,
        Ok(Err(error)) => return Err(Untold::final_(error.to_string())),
        Err(_) => return Err(Untold::final_(format!("the trace of run `{run}` cannot be made"))),
    };
    let (secrets, redactor) = reading_secrets(project);
    for part in spans.chunks(MOST_SPANS) {
        let body = trace_request(part, &to.service).to_string();
        send(&secrets, to, body).await.map_err(|untold| {
            let problem = one_line(&redactor.mask_text(&untold.problem), 500);
            Untold { problem, ..untold }
        })?;
    }
    Ok(())
}

async fn send(
    secrets: &super::runs::ConfiguredSecrets,
    to: &TraceSettings,
    body: String,
) -> Result<(), Untold> {
    let is_secret = !to.endpoint.starts_with("http");
    let given = if is_secret { secret(secrets, &to.endpoint).await? } else { to.endpoint.clone() };
    let url = match given.trim_end_matches('/') {
        url if url.ends_with(PATH) => url.to_owned(),
        url => format!("{url}{PATH}"),
    };
    let host = host_of(&url);
    let host =
        host.ok_or_else(|| Untold::new("`serve.traces.endpoint` is not a URL".to_owned()))?;
    let shown = if is_secret { host.clone() } else { shown_url(&url) };
    let mut headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    for (name, value) in &to.headers {
        let is_reference = value.starts_with("env:") || value.starts_with("file:");
        let value = if is_reference { secret(secrets, value).await? } else { value.clone() };
        headers.push((name.to_lowercase(), value));
    }
    let request = HttpRequest {
        method: "POST".to_owned(),
        url: url.clone(),
        headers,
        query: Vec::new(),
        body: Some(Json::String(body)),
        timeout: Some(LIMIT),
    };
    // The collector is the choice of the settings, so it may be a host of the private network.
    let response = HttpClient::new(&[host]).send_once(&request).await;
    let response = response.map_err(|error| {
        let message = error.failure().message.replace(&shown_url(&url), &shown);
        let is_final = matches!(error, HttpError::Invalid(_) | HttpError::Refused(_));
        Untold { is_final, ..Untold::new(message) }
    })?;
    let problem = format!("the collector `{shown}` answered {}", response.status);
    match response.status {
        200..=299 => Ok(()),
        // What OTLP calls retryable, and what a proxy or a wrong token answers until a person repairs it.
        401 | 403 | 404 | 408 | 429 | 502..=504 => Err(Untold::new(problem)),
        _ => Err(Untold::final_(problem)),
    }
}
