//! The last events of a conversation, for the failure report of an attempt.

use super::compression::arguments;
use super::excerpt::first_line;
use super::pending_call::PendingCall;
use kb_base::value::{Json, json_text};
use kb_core::evidence::Invocation;
use kb_language::definition::Violation;
use serde_json::json;
use std::collections::BTreeSet;

/// Number of calls in a report.
const LAST_CALLS: usize = 5;

/// The partial results of an attempt. A failed attempt reports them, so that its work is not lost.
#[derive(Debug, Clone, Default)]
pub(super) struct Transcript {
    calls: Vec<Json>,
    changed: BTreeSet<String>,
    text: String,
    candidate: Option<Json>,
    violations: Vec<Json>,
    /// The last response; `None` before the first.
    response: Option<Response>,
}

/// What is known of a response beside its content.
#[derive(Debug, Clone)]
pub(super) struct Response {
    /// Name of the model.
    pub(super) model: String,
    /// Number of its tokens; 0 if the provider does not tell.
    pub(super) tokens: u64,
    /// Whether it ended at its length limit.
    pub(super) cut: bool,
}

impl Transcript {
    pub(super) fn note_response(&mut self, model: &str, tokens: u64, cut: bool) {
        self.response = Some(Response { model: model.to_owned(), tokens, cut });
    }

    /// The last response.
    pub(super) fn response(&self) -> Option<&Response> {
        self.response.as_ref()
    }

    pub(super) fn add_text(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.text = bounded(text);
        }
    }

    pub(super) fn add_call(&mut self, call: &PendingCall, invocation: &Invocation, result: &Json) {
        self.changed.extend(invocation.changes.iter().map(|change| change.path.clone()));
        if self.calls.len() == LAST_CALLS {
            self.calls.remove(0);
        }
        self.calls.push(json!({
            "tool": call.tool,
            "args": arguments(&call.args),
            "status": invocation.status,
            "result": first_line(&json_text(result), 200),
        }));
    }

    pub(super) fn add_submission(&mut self, candidate: Json, violations: &[Violation]) {
        self.candidate = Some(candidate);
        let lines = violations.iter().map(|v| json!({"at": v.pointer, "message": v.message}));
        self.violations = lines.collect();
    }

    pub(super) fn last_calls(&self) -> &[Json] {
        &self.calls
    }

    /// The schema violations of the last submitted output.
    pub(super) fn violations(&self) -> &[Json] {
        &self.violations
    }

    /// `hypothesis` of the last submitted output: what the model itself takes for the reason of its failure.
    pub(super) fn hypothesis(&self) -> Option<&str> {
        let text = self.candidate.as_ref()?["hypothesis"].as_str()?.trim();
        (!text.is_empty()).then_some(text)
    }

    /// `output`, `text` and `changed`, as far as they are present.
    pub(super) fn partial(&self) -> Json {
        let mut partial = json!({});
        if let Some(candidate) = &self.candidate {
            partial["output"] = candidate.clone();
        }
        if !self.text.is_empty() {
            partial["text"] = json!(self.text);
        }
        if !self.changed.is_empty() {
            partial["changed"] = json!(self.changed);
        }
        partial
    }
}

fn bounded(text: &str) -> String {
    match text.char_indices().nth(2_000) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
