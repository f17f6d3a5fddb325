//! Messages about what differs from the expected result.

use super::compare::short;
use super::snapshot;
use kb_base::diagnostic::nearest;
use kb_base::value::Json;
use kb_language::definition::{Fault, FaultKind, FileExpectation};

/// How the content of a file differs from the expected one.
pub(super) fn different_content(
    path: &str,
    expected: &FileExpectation,
    content: &str,
) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(equals) = expected.equals.as_ref().filter(|equals| *equals != content) {
        let diff = snapshot::diff(equals, content).replace("--- stored\n+++ found\n", "");
        found.push(format!("the content of `{path}` differs:\n{diff}"));
    }
    let start = short(&Json::from(content));
    for text in expected.contains.iter().filter(|text| !content.contains(&***text)) {
        found.push(format!("`{path}` does not contain `{text}`; it starts with {start}"));
    }
    for text in expected.lacks.iter().filter(|text| content.contains(&***text)) {
        found.push(format!("`{path}` contains `{text}`"));
    }
    if let Some(pattern) = &expected.matches {
        let matches = regex::Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(content));
        if !matches {
            found.push(format!("`{path}` does not match `{pattern}`; it starts with {start}"));
        }
    }
    found
}

/// A fault of a model call or tool call that did not occur.
pub(super) fn unused_fault(fault: &Fault) -> String {
    let step = &fault.step.value;
    let why = match &fault.kind {
        FaultKind::Model { turn, .. } => format!("the model was not called {turn} times"),
        FaultKind::Tool { tool, call: 1, .. } => format!("`{tool}` was not called"),
        FaultKind::Tool { tool, call, .. } => format!("`{tool}` was not called {call} times"),
        FaultKind::Kill | FaultKind::DiskFull => "the step did not end".to_owned(),
    };
    let attempts = match fault.attempts {
        1 => "in its first attempt",
        _ => "in any of these attempts",
    };
    format!("the fault in `{step}` did not occur: {why} {attempts}")
}

/// The help for a step that waits for a reply that the test does not have.
pub(super) fn missing_reply(waiting: &[&str], replies: &[&str]) -> Option<String> {
    let step = waiting.first()?;
    Some(match nearest(step, replies.iter().copied()) {
        Some(near) if near != *step => format!("did you mean `{step}` in place of `{near}`?"),
        _ => format!("add `answers: {{{step}: approve}}`, or expect `status: waiting`"),
    })
}
