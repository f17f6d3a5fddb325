//! The forms of streams.

use axum::body::Bytes;
use serde_json::json;

/// The form of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Server-sent events.
    Sse,
    /// One JSON object per line.
    Jsonl,
}

/// A named event without a number.
pub(super) fn named(name: &str, data: &serde_json::Value, form: Form) -> Bytes {
    let text = match form {
        Form::Sse => format!("event: {name}\ndata: {data}\n\n"),
        Form::Jsonl => format!("{}\n", json!({"type": name, "data": data})),
    };
    Bytes::from(text)
}
