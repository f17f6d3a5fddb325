//! `specialist` steps: the input is checked, then the agent loop runs.

use super::lease::lease_lost;
use super::specialist_input;
use crate::specialist::SpecialistRunner;
use kb_attempt::{Context, Outcome, Request, SpecialistWork};
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, OutcomeKind};
use kb_core::evidence::{Note, Record};

/// Runs the specialist. Without a runner there is no model for the run, and the step fails.
pub(super) async fn run(
    runner: Option<&SpecialistRunner>,
    request: &Request,
    mut work: SpecialistWork,
    context: &Context,
) -> Outcome {
    let Some(runner) = runner else {
        let failure = Failure::new(Code::NO_MODEL, "there is no model for this run");
        return Outcome::failed(OutcomeKind::Unknown, failure);
    };
    let warnings = match specialist_input::fit(&mut work) {
        Ok(warnings) => warnings,
        Err(failure) => return Outcome::failed(OutcomeKind::ValidationFailed, *failure),
    };
    // A resumed attempt has recorded the warnings already.
    if !warnings.is_empty() && work.history.is_empty() {
        let note = Note::warning(warnings.join("; "));
        if context.recorder.record(Record::Note(note)).await.is_err() {
            return lease_lost();
        }
    }
    runner.run(request, &work, context).await
}
