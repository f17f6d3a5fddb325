//! The open questions of a run and of its child runs, with the names under which a test answers them.

use crate::service::runs::ProjectContext;
use crate::service::{ServiceError, show_children, show_run};
use kb_base::value::{AttemptName, AttemptPlace, PlacedStep, Timestamp};
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
    /// The attempt that waits.
    place: AttemptPlace,
    /// When it is decided without a person.
    pub(super) due: Option<Timestamp>,
}

impl OpenQuestion {
    /// The reply of a test whose name is the most exact one.
    pub(super) fn reply<'t>(&self, replies: &'t LocatedMap<TestReply>) -> Option<&'t TestReply> {
        let replies = replies.iter().map(|(name, Located { value, .. })| (name.as_str(), value));
        AttemptName::most_exact(replies, &self.place).map(|(_, reply)| reply)
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
    add(&view, &children, &[], &mut found);
    Ok(found)
}

fn add(
    view: &RunView,
    children: &BTreeMap<String, Masked<RunView>>,
    callers: &[PlacedStep],
    found: &mut Vec<OpenQuestion>,
) {
    let waiting = || {
        let waiting = view.steps.iter().filter(|step| step.status == StepStatus::Waiting);
        waiting.map(|step| {
            let (iteration, attempt) = (step.iteration, step.attempts.max(1));
            (step, PlacedStep::named(&step.step, &step.instance, iteration, attempt))
        })
    };
    let above: String = callers.iter().map(|step| format!("{}/", step.instance())).collect();
    found.extend(waiting().filter_map(|(step, own)| {
        Some(OpenQuestion {
            run: view.run.clone(),
            instance: step.instance.clone(),
            name: format!("{above}{}", step.instance),
            place: AttemptPlace { callers: callers.to_vec(), own },
            due: step.question.as_ref()?.due,
        })
    }));
    for (step, own) in waiting() {
        let Some(child) = step.child_run.as_ref().and_then(|id| children.get(id)) else { continue };
        let below = AttemptPlace { callers: callers.to_vec(), own }.below();
        add(child, children, &below, found);
    }
}
