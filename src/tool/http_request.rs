use super::call::{Call, CallResult, Refusal};
use super::toolbox::{Toolbox, arguments, stopped};
use super::{Tool, ToolLevel, ToolSpec};
use crate::evidence::{EvidenceRef, InvocationStatus};
use crate::http::{HttpError, HttpRequest};
use crate::value::{Json, JsonMap, json_text};
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// `http:request`: one request.
pub(super) struct HttpRequestTool {
    spec: ToolSpec,
}

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

impl HttpRequestTool {
    pub(super) fn new() -> Self {
        let scalar = json!({"type": ["string", "number", "boolean"]});
        let spec = ToolSpec {
            name: "http:request",
            level: ToolLevel::Restricted,
            description: "Send one HTTP request to a public address and return the response, \
                          whatever its status. A body that is not a string is sent as JSON.",
            input: json!({
                "type": "object",
                "properties": {
                    "url": {"type": "string", "description": "http or https."},
                    "method": {"enum": ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]},
                    "headers": {"type": "object", "additionalProperties": scalar},
                    "query": {"type": "object", "additionalProperties": scalar},
                    "body": {},
                },
                "required": ["url"],
                "additionalProperties": false,
            }),
            output: json!({
                "type": "object",
                "properties": {
                    "status": {"type": "integer"},
                    "headers": {"type": "object"},
                    "body": {"description": "The parsed value of a JSON response, else the text."},
                    "bodyBase64": {"type": "string", "description": "The body of a binary response, in Base64."},
                },
                "required": ["status", "headers", "body"],
            }),
            only_reads: false,
        };
        HttpRequestTool { spec }
    }
}

impl Tool for HttpRequestTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        call: &'a Call,
        toolbox: &'a Toolbox,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, CallResult> {
        Box::pin(async move {
            match arguments::<Args>(call) {
                Ok(args) => request(args, toolbox, cancel).await,
                Err(refusal) => refusal.into(),
            }
        })
    }
}

async fn request(args: Args, toolbox: &Toolbox, cancel: &CancellationToken) -> CallResult {
    let texts = |map: &JsonMap| map.iter().map(|(k, v)| (k.clone(), json_text(v))).collect();
    let request = HttpRequest {
        method: args.method.unwrap_or_default(),
        url: args.url,
        headers: texts(&args.headers),
        query: texts(&args.query),
        body: args.body,
        timeout: toolbox.limit(),
    };
    match toolbox.http().send(&request, cancel).await {
        Ok(response) => {
            let reference = EvidenceRef {
                kind: "http".into(),
                reference: response.url.clone(),
                sha256: Some(response.sha256),
            };
            let result = CallResult::success(response.output());
            CallResult { evidence: vec![reference], ..result }
        }
        Err(HttpError::Cancelled) => stopped(),
        Err(HttpError::Refused(failure)) => Refusal::Denied(failure).into(),
        Err(HttpError::TimedOut(failure)) => {
            CallResult::failed(InvocationStatus::Timeout, *failure)
        }
        Err(error) => Refusal::failed(error.failure()).into(),
    }
}
