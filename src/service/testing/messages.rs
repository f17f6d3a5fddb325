//! Messages about what differs from the expected result.

use super::compare::short;
use super::snapshot;
use crate::definition::FileExpectation;
use crate::diagnostic::nearest;
use crate::value::Json;

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

/// The help for a step that waits for a reply that the test does not have.
pub(super) fn missing_reply(waiting: &[&str], replies: &[&str]) -> Option<String> {
    let step = waiting.first()?;
    Some(match nearest(step, replies.iter().copied()) {
        Some(near) if near != *step => format!("did you mean `{step}` in place of `{near}`?"),
        _ => format!("add `answers: {{{step}: approve}}`, or expect `status: waiting`"),
    })
}
