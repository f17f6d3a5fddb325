//! The tools that use the network: `http:request`.

use super::spec::{InputCheck, ToolLevel, ToolSpec};
use serde_json::json;

pub(super) fn specs() -> Vec<ToolSpec> {
    vec![ToolSpec {
        name: "http:request".into(),
        aliases: &["api_call", "web_fetch", "WebFetch"],
        groups: &["api_call", "web_fetch"],
        restricted_by: &[
            "api:call",
            "http:get",
            "http:post",
            "http:put",
            "http:patch",
            "http:delete",
            "http:head",
        ],
        level: ToolLevel::Restricted,
        description: "Send one HTTP request to a public address. Returns the response with any \
                      status code. A body that is not a string is sent as JSON."
            .into(),
        input: json!({
            "type": "object",
            "properties": {
                "url": {"type": "string", "description": "http or https."},
                "method": {"enum": ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]},
                "headers": {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}},
                "query": {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}},
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
        network: true,
        input_check: InputCheck::Url,
        done: "Sent request",
        subject: &["url"],
        ..ToolSpec::base()
    }]
}
