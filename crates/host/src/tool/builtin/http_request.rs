//! `http:request` and `http:fetch`: send one HTTP request. The schema of `http:fetch` has no method and no body.

use crate::tool::call::{Call, CallResult, Refusal};
use crate::tool::context::{CallContext, Tool, arguments, cancelled};
use futures::future::BoxFuture;
use kb_base::value::{Json, JsonMap, json_text};
use kb_core::evidence::{EvidenceKind, EvidenceRef, InvocationStatus};
use kb_http::{HttpError, HttpRequest};
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

/// The implementation of a tool that sends a request, by the name of the tool.
pub(super) struct HttpTool(&'static str);

pub(super) const HTTP_REQUEST: HttpTool = HttpTool("http:request");
pub(super) const HTTP_FETCH: HttpTool = HttpTool("http:fetch");

#[derive(Deserialize)]
struct Args {
    url: String,
    method: Option<String>,
    #[serde(default)]
    headers: JsonMap,
    #[serde(default)]
    query: JsonMap,
    body: Option<Json>,
}

impl Tool for HttpTool {
    fn name(&self) -> &'static str {
        self.0
    }

    fn call<'a>(
        &'a self,
        call: &'a Call,
        context: &'a CallContext<'a>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, CallResult> {
        Box::pin(async move {
            match arguments::<Args>(call) {
                Ok(args) => request(args, context, cancel).await,
                Err(refusal) => refusal.into(),
            }
        })
    }
}

async fn request(args: Args, context: &CallContext<'_>, cancel: &CancellationToken) -> CallResult {
    let texts = |map: &JsonMap| map.iter().map(|(k, v)| (k.clone(), json_text(v))).collect();
    let request = HttpRequest {
        method: args.method.unwrap_or_default(),
        url: args.url,
        headers: texts(&args.headers),
        query: texts(&args.query),
        body: args.body,
        timeout: context.limit,
    };
    match context.http.send(&request, cancel).await {
        Ok(response) => {
            let reference = EvidenceRef {
                kind: EvidenceKind::Http,
                reference: response.url.clone(),
                sha256: Some(response.sha256),
                status: Some(response.status),
            };
            let result = CallResult::success(response.output());
            CallResult { evidence: vec![reference], ..result }
        }
        Err(HttpError::Cancelled) => cancelled(),
        Err(HttpError::Refused(failure)) => Refusal::Denied(failure).into(),
        Err(HttpError::TimedOut(failure)) => {
            CallResult::failed(InvocationStatus::Timeout, *failure)
        }
        Err(error) => Refusal::failed(error.failure()).into(),
    }
}
