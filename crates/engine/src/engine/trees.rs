//! The worktrees and copies of steps with files of their own, as the executor is asked for them.

use super::scope::RunScope;
use kb_attempt::TreeRequest;
use kb_core::run::InstanceIx;

/// The worktree or copy that a step or item runs in.
pub(super) fn tree(scope: &RunScope<'_>, ix: InstanceIx) -> Option<TreeRequest> {
    let instance = scope.state.instance(ix);
    let isolation = scope.plan.step(instance.step).isolation()?;
    let (run, iteration) = (scope.run.clone(), instance.iteration);
    Some(TreeRequest { run, instance: scope.state.key(scope.plan, ix), iteration, isolation })
}

/// The files whose changes are merged at the end of a step: its own, or those of its items.
pub(super) fn trees(scope: &RunScope<'_>, ix: InstanceIx) -> Vec<TreeRequest> {
    let merged = scope.state.merged_at_end(ix);
    merged.into_iter().filter_map(|ix| tree(scope, ix)).collect()
}
