//! Whether the commands of a step of the author run in the sandbox.

use kb_attempt::{ChangedCode, Confined};
use kb_language::definition::AuthorSandbox;
use kb_language::plan::PlanStep;

/// Whether the commands of a step of the author run in the sandbox. Those of a specialist always do.
pub(super) fn confined(planned: &PlanStep, code: Option<&ChangedCode>) -> Option<Confined> {
    if planned.specialist.is_some() {
        return None;
    }
    match planned.step.details().sandbox.unwrap_or(AuthorSandbox::Auto) {
        AuthorSandbox::Auto => code.cloned().map(Confined::IfCode),
        AuthorSandbox::Always => Some(Confined::Always),
        AuthorSandbox::Never => None,
    }
}
