//! The tools that use the network: `http:request` and `http:fetch`.

use super::spec::{EvidenceTier, InputCheck, ToolLevel, ToolSpec, texts};
use kb_base::value::Json;
use serde_json::json;

pub(super) fn specs() -> Vec<ToolSpec> {
    vec![request(), fetch()]
}

fn request() -> ToolSpec {
    ToolSpec {
        name: "http:request".into(),
        aliases: texts(["api_call"]),
        groups: texts(["api_call"]),
        // A rule against reading pages applies to every tool that can read one.
        restricted_by: texts([
            "web_fetch",
            "WebFetch",
            "api:call",
            "http:get",
            "http:post",
            "http:put",
            "http:patch",
            "http:delete",
            "http:head",
        ]),
        level: ToolLevel::Restricted,
        description: "Send one HTTP request to a public address. Returns the response with any \
                      status code. A body that is not a string is sent as JSON."
            .into(),
        input: json!({
            "type": "object",
            "properties": {
                "url": {"type": "string", "description": "http or https."},
                "method": {"enum": ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]},
                "headers": texts_by_name(),
                "query": texts_by_name(),
                "body": {},
            },
            "required": ["url"],
            "additionalProperties": false,
        }),
        output: response(),
        network: true,
        tier: EvidenceTier::Remote,
        input_check: InputCheck::Url,
        done: "Sent request".into(),
        subject: texts(["url"]),
        ..ToolSpec::base()
    }
}

fn fetch() -> ToolSpec {
    ToolSpec {
        name: "http:fetch".into(),
        aliases: texts(["web_fetch", "WebFetch"]),
        groups: texts(["web_fetch"]),
        restricted_by: texts(["http:get"]),
        description:
            "Read one public address with a GET request. Returns the response with any status code."
                .into(),
        input: json!({
            "type": "object",
            "properties": {
                "url": {"type": "string", "description": "http or https."},
                "headers": texts_by_name(),
                "query": texts_by_name(),
            },
            "required": ["url"],
            "additionalProperties": false,
        }),
        done: "Fetched".into(),
        ..request()
    }
}

/// The schema of headers and of the query.
fn texts_by_name() -> Json {
    json!({"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}})
}

fn response() -> Json {
    json!({
        "type": "object",
        "properties": {
            "status": {"type": "integer"},
            "headers": {"type": "object"},
            "body": {"description": "The parsed value of a JSON response, else the text."},
            "bodyBase64": {"type": "string", "description": "The body of a binary response, in Base64."},
        },
        "required": ["status", "headers", "body"],
    })
}
