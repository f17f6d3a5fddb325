//! Outputs of steps of GitHub Actions, also of steps that failed.

use super::actions_lowered::{AND, Lowered, OR, VALUE, quoted};
use super::actions_scope::{KnownStep, all_are, any_failed};
use super::draft::reference;

/// The line of a step that [keeps](KnownStep::keeps) its outputs and failed.
const FAILED: &str = "kb:failed";

/// What is read of a step; an error where the step failed, because its output is lost then: GitHub has it.
pub(super) fn unless_failed(step: &str, read: &str) -> String {
    let status = format!("{}.status", reference(step));
    format!("{read} if {status} != 'failed' else 'the outputs of a step that failed' | fromjson")
}

/// An output of a step: what follows `KEY=` in the last such line of its output, else an empty text.
pub(super) fn output(step: &KnownStep, key: &str, after_failure: bool) -> Option<Lowered> {
    // An output of several lines has another form.
    let writes = step.writes.as_ref()?;
    if writes.contains(&format!("{key}<<")) {
        return None;
    }
    let start = format!("{key}=");
    let mut lines = format!("{}.output", reference(&step.id));
    if after_failure || step.keeps {
        lines = format!("({})", unless_failed(&step.id, &format!("{lines} | default([])")));
    }
    let line = format!(
        "{lines} | select('startingwith', {start}) | list | last | default({start})",
        start = quoted(&start)
    );
    Some(Lowered::new(format!("({line})[{}:]", start.chars().count()), VALUE))
}

/// Whether a step that succeeds with a line that says that it failed has a result.
pub(super) fn kept_result(step: &KnownStep, result: &str) -> Option<Lowered> {
    let ids = [step.id.clone()];
    let line = format!("({}.output | default([]))", reference(&step.id));
    match result {
        _ if !step.keeps => None,
        "success" => {
            let text = format!("{} and '{FAILED}' not in {line}", all_are(&ids, "succeeded"));
            Some(Lowered::new(text, AND))
        }
        "failure" => {
            Some(Lowered::new(format!("{} or '{FAILED}' in {line}", any_failed(&ids)), OR))
        }
        _ => None,
    }
}
