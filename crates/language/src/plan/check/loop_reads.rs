//! Reads of `loop` in steps without one.

use crate::definition::Step;
use crate::expression::{Reference, Root};
use crate::plan::Plan;
use crate::plan::reads::references;
use kb_base::diagnostic::{Code, Diagnostic};

/// One error per step without a `loop` that reads it, and one for the outputs of the playbook.
pub(super) fn check(plan: &Plan) -> Vec<Diagnostic> {
    let steps = plan.steps().iter().map(|planned| &planned.step);
    let once = steps.filter(|step| step.details().repeat.is_none());
    let of_steps = once.filter_map(|step: &std::sync::Arc<Step>| {
        references(step).find(|reference| reads_loop(reference)).map(out_of_scope)
    });
    let outputs = plan.playbook().outputs.iter().flat_map(|(_, value)| value.references());
    let of_outputs = outputs.filter(|reference| reads_loop(reference)).take(1).map(out_of_scope);
    of_steps.chain(of_outputs).collect()
}

fn reads_loop(reference: &Reference) -> bool {
    reference.root == Root::Loop
}

fn out_of_scope(reference: &Reference) -> Diagnostic {
    let message = "`loop` exists only in a step that has a `loop`";
    Diagnostic::error(Code::NAME_OUT_OF_SCOPE, reference.span, message)
        .help("give the step a `loop`, or remove the placeholder")
}
