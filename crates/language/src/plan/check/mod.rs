//! Rules over the whole plan, one per file.

mod child_locks;
mod child_params;
mod child_version;
mod cycle;
mod gate_reads;
mod item_keys;
mod loop_reads;
mod output_keys;
mod script_files;
mod send_back;
mod subject;
mod text_comparisons;
mod unguarded_reads;
mod unordered_files;
mod writers;

pub(super) use child_locks::child_locks;
pub(super) use child_params::child_params;
pub(super) use child_version::child_version;
pub(super) use cycle::cycle;

use super::Plan;
use super::reads::Read;
use kb_base::diagnostic::Diagnostic;
use subject::Subject;

/// All problems of a plan. With a circular dependency, the rules that need an order apply only to the
/// steps that have one.
pub(super) fn all<'a>(
    plan: &'a Plan,
    reads: Vec<Vec<Read<'a>>>,
    outputs: Vec<Read<'a>>,
) -> Vec<Diagnostic> {
    let mut position = vec![0; plan.steps().len()];
    plan.order().iter().enumerate().for_each(|(i, ix)| position[ix.at()] = i);
    let mut subject = Subject { plan, reads, outputs, position };
    let mut problems = output_keys::check(&subject);
    problems.extend(text_comparisons::check(&subject));
    problems.extend(item_keys::check(plan));
    problems.extend(loop_reads::check(plan));
    if plan.order().len() == plan.steps().len() {
        problems.extend(writers::check(plan));
        problems.extend(send_back::check(&subject));
        problems.extend(unordered_files::check(&subject));
    } else {
        subject.retain_ordered();
    }
    problems.extend(gate_reads::check(&subject));
    problems.extend(unguarded_reads::check(&subject));
    problems
}
