//! Tool calls of OpenAI streams, assembled from deltas.

use genai::chat::{ChatFrameSink, FrameCtx, RawFrameRef};
use kb_base::value::Json;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Maximum number of tool calls in one response.
const MOST_CALLS: usize = 128;
/// Maximum length of the arguments of all calls of a response, in bytes.
const MOST_BYTES: usize = 4 << 20;

/// A tool call as the provider sent it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct RawCall {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: String,
}

/// Assembles the tool calls of an OpenAI stream from deltas.
///
/// The library does this too, but it allocates as many entries as the index of a call demands, which is
/// untrusted, and it drops calls without an index, which some servers send.
#[derive(Debug, Default)]
pub(super) struct CallCollector {
    collected: Mutex<CollectedCalls>,
}

#[derive(Debug, Default)]
struct CollectedCalls {
    calls: BTreeMap<u64, RawCall>,
    bytes: usize,
    events: usize,
    model: Option<String>,
}

impl CallCollector {
    /// The calls, ordered by index.
    pub(super) fn calls(&self) -> Vec<RawCall> {
        self.with(|collected| collected.calls.values().cloned().collect())
    }

    /// The model name in the response.
    pub(super) fn model(&self) -> Option<String> {
        self.with(|collected| collected.model.clone())
    }

    /// Whether the stream contained any event with data.
    pub(super) fn has_events(&self) -> bool {
        self.with(|collected| collected.events > 0)
    }

    fn with<T>(&self, read: impl FnOnce(&mut CollectedCalls) -> T) -> T {
        read(&mut self.collected.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ChatFrameSink for CallCollector {
    fn on_frame(&self, _: &FrameCtx, frame: RawFrameRef<'_>) {
        if !frame.data.is_empty() {
            self.with(|collected| collected.events += 1);
        }
        // Nearly all frames contain only text and need no second parse.
        let first = self.with(|collected| collected.model.is_none());
        if !first && !frame.data.contains("tool_calls") {
            return;
        }
        let Some(data) = frame.json() else { return };
        self.with(|collected| collected.take(&data));
    }
}

impl CollectedCalls {
    fn take(&mut self, data: &Json) {
        if self.model.is_none() {
            self.model = data["model"].as_str().map(str::to_owned);
        }
        let deltas = data["choices"][0]["delta"]["tool_calls"].as_array();
        deltas.into_iter().flatten().for_each(|delta| self.add(delta));
    }

    fn add(&mut self, delta: &Json) {
        let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
        let (id, name) = (text(&delta["id"]), text(&delta["function"]["name"]));
        let arguments = match &delta["function"]["arguments"] {
            Json::String(part) => part.clone(),
            Json::Null => String::new(),
            whole => whole.to_string(),
        };
        let index = delta["index"].as_u64().unwrap_or_else(|| self.index_of(&id, &name));
        self.bytes += id.len() + name.len() + arguments.len();
        let full = self.calls.len() >= MOST_CALLS && !self.calls.contains_key(&index);
        if full || self.bytes > MOST_BYTES {
            return;
        }
        let call = self.calls.entry(index).or_default();
        if call.id.is_empty() {
            call.id = id;
        }
        if call.name.is_empty() {
            call.name = name;
        }
        call.arguments.push_str(&arguments);
    }

    /// The index of the call that a delta without an index belongs to; a delta with a name starts a new
    /// call.
    fn index_of(&self, id: &str, name: &str) -> u64 {
        let last = self.calls.last_key_value();
        let known = self.calls.iter().find(|(_, call)| !id.is_empty() && call.id == id);
        match (known, last) {
            (Some((index, _)), _) => *index,
            (None, Some((index, _))) if name.is_empty() => *index,
            (None, Some((index, _))) => index.saturating_add(1),
            (None, None) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(deltas: &[Json], expected: &[(&str, &str, &str)]) {
        let mut collected = CollectedCalls::default();
        for delta in deltas {
            collected.take(&json!({"choices": [{"delta": {"tool_calls": [delta]}}]}));
        }
        let calls: Vec<_> = collected
            .calls
            .values()
            .map(|call| (call.id.as_str(), call.name.as_str(), call.arguments.as_str()))
            .collect();
        assert_eq!(calls, expected);
    }

    #[test]
    fn deltas_of_calls_side_by_side_are_put_together() {
        check(
            &[
                json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": ""}}),
                json!({"index": 1, "id": "b", "function": {"name": "g", "arguments": "{"}}),
                json!({"index": 0, "function": {"arguments": "{\"x\":"}}),
                json!({"index": 0, "function": {"arguments": "1}"}}),
                json!({"index": 1, "function": {"arguments": "}"}}),
            ],
            &[("a", "f", "{\"x\":1}"), ("b", "g", "{}")],
        );
    }

    #[test]
    fn a_huge_index_takes_no_room_and_a_missing_one_loses_no_call() {
        check(
            &[
                json!({"index": u64::MAX, "id": "a", "function": {"name": "f"}}),
                json!({"index": 4_000_000_000u64, "id": "b", "function": {"name": "g"}}),
            ],
            &[("b", "g", ""), ("a", "f", "")],
        );
        check(
            &[
                json!({"id": "a", "function": {"name": "f", "arguments": {"x": 1}}}),
                json!({"id": "b", "function": {"name": "g", "arguments": "{"}}),
                json!({"function": {"arguments": "}"}}),
                json!("garbage"),
                json!({"function": 7}),
            ],
            &[("a", "f", "{\"x\":1}"), ("b", "g", "{}")],
        );
    }
}
