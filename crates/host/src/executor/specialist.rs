//! `specialist` steps: the input is checked, then the agent loop runs.

use super::lease::lease_lost;
use super::specialist_input;
use crate::specialist::SpecialistRunner;
use crate::workspace::Workspace;
use kb_attempt::{Context, Outcome, Request, SpecialistWork, run_blocking};
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, OutcomeKind};
use kb_core::evidence::{Note, Record};

/// Runs the specialist. Without a runner there is no model for the run, and the step fails. It fails too where git
/// executes hooks of the folder that the specialist can write to.
pub(super) async fn run(
    runner: Option<&SpecialistRunner>,
    workspace: &Workspace,
    request: &Request,
    mut work: SpecialistWork,
    context: &Context,
) -> Outcome {
    let Some(runner) = runner else {
        let failure = Failure::new(Code::NO_MODEL, "there is no model for this run");
        return Outcome::failed(OutcomeKind::Unknown, failure);
    };
    if work.specialist.writes()
        && let Err(error) = run_blocking(|| workspace.require_hooks_elsewhere())
    {
        return Outcome::failed(OutcomeKind::PolicyDenied, error.failure());
    }
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
