//! The open questions of a run and of its child runs, with the names under which a test answers them.

use crate::service::runs::ProjectContext;
use crate::service::{ServiceError, show_children, show_run};
use kb_base::value::Timestamp;
use kb_core::redaction::Masked;
use kb_core::wire::{RunView, StepStatus};
use kb_language::definition::{Located, LocatedMap, TestReply};
use std::collections::BTreeMap;

/// A question that a run of a test waits for.
pub(super) struct OpenQuestion {
    /// The run that asks.
    pub(super) run: String,
    /// The step or item in that run.
    pub(super) instance: String,
    /// Its name in the test: `ok[a]`, in a child run `release/ok`.
    pub(super) name: String,
    /// The same without items.
    step: String,
    /// When it is decided without a person.
    pub(super) due: Option<Timestamp>,
}

impl OpenQuestion {
    /// The reply of a test: to the item, else to the step.
    pub(super) fn reply<'t>(&self, replies: &'t LocatedMap<TestReply>) -> Option<&'t TestReply> {
        let named = |name: &str| replies.iter().find(|(own, _)| own == name);
        let found = named(&self.name).or_else(|| named(&self.step));
        found.map(|(_, Located { value, .. })| value)
    }
}

/// The open questions of a run, followed by those of its child runs.
pub(super) fn open_questions(
    context: &ProjectContext,
    run: &str,
) -> Result<Vec<OpenQuestion>, ServiceError> {
    let view = show_run(context, run)?;
    let children = show_children(context, &view)?;
    let mut found = Vec::new();
    add(&view, &children, ("", ""), &mut found);
    Ok(found)
}

fn add(
    view: &RunView,
    children: &BTreeMap<String, Masked<RunView>>,
    (above, step_above): (&str, &str),
    found: &mut Vec<OpenQuestion>,
) {
    let waiting = || view.steps.iter().filter(|step| step.status == StepStatus::Waiting);
    found.extend(waiting().filter_map(|step| {
        Some(OpenQuestion {
            run: view.run.clone(),
            instance: step.instance.clone(),
            name: format!("{above}{}", step.instance),
            step: format!("{step_above}{}", step.step),
            due: step.question.as_ref()?.due,
        })
    }));
    for step in waiting() {
        let Some(child) = step.child_run.as_ref().and_then(|id| children.get(id)) else { continue };
        let above = format!("{above}{}/", step.instance);
        add(child, children, (&above, &format!("{step_above}{}/", step.step)), found);
    }
}

/// The names of steps in the name of a question: `each[a/b]/ok` has `each` and `ok`.
pub(super) fn steps_of(name: &str) -> Vec<String> {
    let mut steps = vec![String::new()];
    let mut depth = 0u32;
    for char in name.chars() {
        match char {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            '/' if depth == 0 => steps.push(String::new()),
            _ if depth == 0 => steps.last_mut().into_iter().for_each(|step| step.push(char)),
            _ => {}
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::steps_of;

    #[test]
    fn items_may_contain_slashes() {
        assert_eq!(steps_of("each[src/a.rs]/ok"), ["each", "ok"]);
        assert_eq!(steps_of("ok"), ["ok"]);
    }
}
