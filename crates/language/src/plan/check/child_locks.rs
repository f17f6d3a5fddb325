//! Locks that a `playbook` step and its child run would wait for from each other.

use crate::definition::Step;
use crate::plan::Plan;
use kb_base::diagnostic::{Code, Diagnostic};

/// A `playbook` step holds its locks until its child run has ended, so no step of the child can need one
/// of them.
pub(in crate::plan) fn child_locks(step: &Step, child: &Plan) -> Vec<Diagnostic> {
    let own = &step.details().locks;
    if own.is_empty() {
        return Vec::new();
    }
    let mut problems = Vec::new();
    for plan in child.with_children() {
        for inner in plan.steps() {
            for lock in inner.step.details().locks.iter().filter(|lock| own.contains(lock)) {
                let (id, below) = (&step.id, &inner.step.id);
                let playbook = &plan.playbook().id;
                let message = format!(
                    "`{id}` holds the lock `{lock}` while its child run waits for it in step `{below}` \
                     of `{playbook}`"
                );
                problems.push(
                    Diagnostic::error(Code::LOCK_OF_PARENT, step.span, message)
                        .help(format!("remove `{lock}` from the `locks` of one of them")),
                );
            }
        }
    }
    problems
}
