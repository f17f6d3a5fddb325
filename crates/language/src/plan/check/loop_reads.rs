//! Reads of `loop` in steps without one, and of the pass before in the first pass.

use crate::definition::Step;
use crate::expression::{Reference, Root};
use crate::plan::Plan;
use crate::plan::reads::{of_work, references};
use kb_base::diagnostic::{Code, Diagnostic};

/// One error per step without a `loop` that reads it, one for the outputs of the playbook, and one per step whose first
/// pass reads the one before.
pub(super) fn check(plan: &Plan) -> Vec<Diagnostic> {
    let steps = plan.steps().iter().map(|planned| &planned.step);
    let once = steps.filter(|step| step.details().repeat.is_none());
    let of_steps = once.filter_map(|step: &std::sync::Arc<Step>| {
        references(step).find(|reference| reads_loop(reference)).map(out_of_scope)
    });
    let outputs = plan.playbook().outputs.iter().flat_map(|(_, value)| value.references());
    let of_outputs = outputs.filter(|reference| reads_loop(reference)).take(1).map(out_of_scope);
    let repeated = plan.steps().iter().map(|planned| &*planned.step);
    let repeated = repeated.filter(|step| step.details().repeat.is_some());
    of_steps.chain(of_outputs).chain(repeated.filter_map(first_pass)).collect()
}

/// The error of a step whose work reads `loop.previous` in a text that does not say what holds in the first pass. The
/// checks of a gate are expressions, in which an undefined value is false.
fn first_pass(step: &Step) -> Option<Diagnostic> {
    let all: Vec<(u32, &Reference)> = match step.kind.checks() {
        Some(_) => Vec::new(),
        None => of_work(step).into_iter().filter(|(_, found)| reads_loop(found)).collect(),
    };
    let says_more = |found: &Reference| match found.path().as_slice() {
        ["iteration"] => true,
        ["previous", rest @ ..] => found.guarded || rest.is_empty() && !is_alone(&all, found),
        _ => false,
    };
    let is_guarded = |text: u32| all.iter().any(|(own, found)| *own == text && says_more(found));
    let reads = |found: &Reference| found.field() == Some("previous");
    let (_, open) = all.iter().find(|(text, found)| reads(found) && !is_guarded(*text))?;
    let path = format!("loop.{}", open.path().join("."));
    let message = format!("`{}` reads `{path}`, and before its first pass there is none", step.id);
    let help = format!("write `{{{{ {path} | default('') }}}}`");
    Some(Diagnostic::error(Code::UNGUARDED_READ, open.span, message).help(help))
}

/// Whether a text reads only this of `loop`.
fn is_alone(all: &[(u32, &Reference)], reference: &Reference) -> bool {
    let text = all.iter().find(|(_, own)| *own == reference).map(|(text, _)| *text);
    all.iter().filter(|(own, _)| Some(*own) == text).count() < 2
}

fn reads_loop(reference: &Reference) -> bool {
    reference.root == Root::Loop
}

fn out_of_scope(reference: &Reference) -> Diagnostic {
    let message = "`loop` exists only in a step that has a `loop`";
    Diagnostic::error(Code::NAME_OUT_OF_SCOPE, reference.span, message)
        .help("give the step a `loop`, or remove the placeholder")
}
