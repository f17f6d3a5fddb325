//! What earlier attempts of an instance left, for the attempt that starts.

use super::fold::Folded;
use super::scope::RunScope;
use kb_attempt::{KilledWork, LeftChanges};
use kb_base::value::Timestamp;
use kb_core::run::InstanceIx;

/// The changes of earlier iterations, unless this one has recorded calls already, and the processes
/// that were killed in the work of the instance.
pub(super) fn left_changes(
    folded: &Folded,
    scope: &RunScope<'_>,
    ix: InstanceIx,
    is_fresh: bool,
) -> Option<LeftChanges> {
    let is_first = is_fresh && scope.state.instance(ix).pass() == 1;
    let name = scope.state.key(scope.plan, ix).to_string();
    let recorded = folded.earlier.of(&name).filter(|_| is_first);
    let recorded = recorded.map(|net| net.changes().collect()).unwrap_or_default();
    let mut killed = Vec::new();
    killed.extend(folded.earlier.killed(&name).filter(|_| is_first).cloned());
    let own = |at: &Timestamp| KilledWork { run: scope.run.clone(), at: *at };
    killed.extend(folded.killed.get(&ix).map(own));
    let left = LeftChanges { recorded, killed };
    (left != LeftChanges::default()).then_some(left)
}
