use super::compression::arguments;
use super::conversation::PendingCall;
use super::excerpt::first_line;
use crate::definition::Violation;
use crate::evidence::Invocation;
use crate::value::{Json, json_text};
use serde_json::json;
use std::collections::BTreeSet;

/// Calls that a report shows.
const LAST_CALLS: usize = 5;

/// What an attempt leaves behind where it does not end well (000 §12.1: work is not lost).
#[derive(Debug, Clone, Default)]
pub(super) struct Transcript {
    calls: Vec<Json>,
    changed: BTreeSet<String>,
    text: String,
    candidate: Option<Json>,
    violations: Vec<Json>,
}

impl Transcript {
    pub(super) fn said(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.text = first_line_or_all(text);
        }
    }

    pub(super) fn called(&mut self, call: &PendingCall, invocation: &Invocation, result: &Json) {
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

    pub(super) fn handed_in(&mut self, candidate: Json, violations: &[Violation]) {
        self.candidate = Some(candidate);
        let lines = violations.iter().map(|v| json!({"at": v.pointer, "message": v.message}));
        self.violations = lines.collect();
    }

    pub(super) fn last_calls(&self) -> &[Json] {
        &self.calls
    }

    /// The ways in which the last output did not fit.
    pub(super) fn violations(&self) -> &[Json] {
        &self.violations
    }

    /// `output`, `text` and `changed`, those that there are.
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

fn first_line_or_all(text: &str) -> String {
    match text.char_indices().nth(2_000) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
