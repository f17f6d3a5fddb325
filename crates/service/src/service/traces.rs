//! Export of the traces of runs to a collector, as OTLP/JSON over HTTP.

use super::hook_secrets::touched_in;
use super::notify::reading_secrets;
use super::outgoing::{DeliveryFailure, Receiver, Unmasked, secret};
use super::runs::{ConfiguredSecrets, ProjectContext};
use super::{Project, ServiceError};
use kb_base::value::{Json, RunId};
use kb_core::wire::trace_request;
use kb_engine::inspect::{self, TracePart};
use kb_engine::journal::Journal;
use kb_language::definition::TraceSettings;
use std::sync::Arc;

/// Maximum number of spans of one request.
const MOST_SPANS: usize = 2000;
/// The path of a collector for traces.
const PATH: &str = "/v1/traces";

/// The trace of a run as a request of OTLP.
pub fn run_trace(context: &ProjectContext, run: &str, service: &str) -> Result<Json, ServiceError> {
    let journal = context.journal(Default::default())?;
    Ok(trace_request(&inspect::trace(&journal, run, TracePart::All)?, service))
}

/// Sends the spans of a run since its end before the last one. Ids are the same in every attempt, so that a trace
/// that is sent twice is one trace.
pub async fn export_trace(
    project: &Project,
    to: &TraceSettings,
    journal: &Arc<dyn Journal>,
    run: &RunId,
) -> Result<(), DeliveryFailure> {
    let touched = touched_in(&project.context, run.as_str());
    let (secrets, redactor) = reading_secrets(project, touched);
    let sent = send_spans(&secrets, to, journal, run).await;
    sent.map_err(|failure| failure.masked_by(&redactor))
}

async fn send_spans(
    secrets: &ConfiguredSecrets,
    to: &TraceSettings,
    journal: &Arc<dyn Journal>,
    run: &RunId,
) -> Result<(), Unmasked> {
    let (reader, name) = (journal.clone(), run.clone());
    let read = move || inspect::trace(&reader, name.as_str(), TracePart::LastEnd);
    let spans = match tokio::task::spawn_blocking(read).await {
        Ok(Ok(spans)) => spans,
        Ok(Err(error)) => return Err(Unmasked::final_(error.to_string())),
        Err(_) => {
            return Err(Unmasked::final_(format!("the trace of run `{run}` cannot be made")));
        }
    };
    for part in spans.chunks(MOST_SPANS) {
        send(secrets, to, trace_request(part, &to.service).to_string()).await?;
    }
    Ok(())
}

async fn send(
    secrets: &ConfiguredSecrets,
    to: &TraceSettings,
    body: String,
) -> Result<(), Unmasked> {
    let complete = |url: String| match url.trim_end_matches('/') {
        url if url.ends_with(PATH) => url.to_owned(),
        url => format!("{url}{PATH}"),
    };
    let invalid = Unmasked::new("`serve.traces.endpoint` is not a URL".to_owned());
    let collector = Receiver::at(secrets, &to.endpoint, complete, invalid).await?;
    let mut headers = Vec::new();
    for (name, value) in &to.headers {
        let is_reference = value.starts_with("env:") || value.starts_with("file:");
        let value = if is_reference { secret(secrets, value).await? } else { value.clone() };
        headers.push((name.to_lowercase(), value));
    }
    let response = collector.post(headers, body).await?;
    let problem = format!("the collector `{}` answered {}", collector.shown, response.status);
    match response.status {
        200..=299 => Ok(()),
        // What OTLP calls retryable, and what a proxy or a wrong token answers until a person repairs it.
        401 | 403 | 404 | 408 | 429 | 502..=504 => Err(Unmasked::new(problem)),
        _ => Err(Unmasked::final_(problem)),
    }
}
