//! The JSON form of OTLP: requests, attributes, ids and times.

use super::{ErrorView, UsageView};
use kb_base::value::{Digest, Json, RunId, Timestamp};
use serde_json::json;

/// The version of the semantic conventions that the names of attributes are taken from.
const CONVENTIONS: &str = "https://opentelemetry.io/schemas/1.37.0";
/// The longest text of an attribute in characters.
const LONGEST: usize = 500;

/// The request of OTLP (`ExportTraceServiceRequest`) with spans of a service.
pub fn trace_request(spans: &[Json], service: &str) -> Json {
    let resource = [
        attribute("service.name", json!(service)),
        attribute("service.version", json!(env!("CARGO_PKG_VERSION"))),
    ];
    json!({"resourceSpans": [{
        "resource": {"attributes": resource},
        "scopeSpans": [{
            "scope": {"name": "kb", "version": env!("CARGO_PKG_VERSION")},
            "spans": spans,
            "schemaUrl": CONVENTIONS,
        }],
    }]})
}

/// Eight bytes in hexadecimal, the same for the same instance of the same run.
pub(super) fn span_id(run: &RunId, own: &str) -> String {
    Digest::of(format!("span {run} {own}")).short(16)
}

/// Nanoseconds as a text, as OTLP writes 64-bit numbers.
pub(super) fn nanos(at: Timestamp) -> String {
    match at.0 {
        0 => "0".to_owned(),
        ms => format!("{ms}000000"),
    }
}

/// An attribute with a value of its type.
pub(super) fn attribute(key: &str, value: Json) -> Json {
    let value = match value {
        Json::String(text) => json!({"stringValue": cut(&text)}),
        Json::Bool(value) => json!({"boolValue": value}),
        Json::Number(number) if number.is_f64() => json!({"doubleValue": number}),
        Json::Number(number) => json!({"intValue": number.to_string()}),
        other => json!({"stringValue": other.to_string()}),
    };
    json!({"key": key, "value": value})
}

/// The attributes of tokens, if models were called.
pub(super) fn tokens(usage: &UsageView) -> Vec<Json> {
    if usage.model_calls == 0 && usage.prompt_tokens == 0 && usage.completion_tokens == 0 {
        Vec::new()
    } else {
        vec![
            attribute("gen_ai.usage.input_tokens", json!(usage.prompt_tokens)),
            attribute("gen_ai.usage.output_tokens", json!(usage.completion_tokens)),
        ]
    }
}

/// The message of a failure.
pub(super) fn message(error: Option<&ErrorView>) -> String {
    error.map_or_else(|| "failed".to_owned(), |error| format!("{}: {}", error.code, error.message))
}

/// The start of a text.
pub(super) fn cut(text: &str) -> String {
    text.chars().take(LONGEST).collect()
}
