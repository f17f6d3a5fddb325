//! Which waiting fire starts next.

use kb_base::value::Timestamp;
use kb_language::definition::Trigger;
use kb_language::schedule::{Overlap, next_in_queue};
use kb_service::trigger::{Fire, FireState};
use std::collections::{BTreeMap, BTreeSet};

/// The fire that starts next, out of those that have not ended. `running` says whether the process of a
/// started fire runs; `overlap` is the policy of a trigger. A fire starts beside another run of its
/// trigger only if the trigger allows it. A fire that is `held` lets later ones of its trigger pass, one that is
/// `delayed` does not.
pub(super) fn next(
    open: &[Fire],
    running: impl Fn(&Fire) -> bool,
    overlap: impl Fn(&str) -> Overlap,
    held: impl Fn(&Fire) -> bool,
    delayed: impl Fn(&Fire) -> bool,
) -> Option<&Fire> {
    let mut busy: BTreeSet<&str> = BTreeSet::new();
    let mut active: BTreeMap<String, usize> = BTreeMap::new();
    for fire in open.iter().filter(|fire| fire.state == FireState::Started) {
        busy.insert(&fire.trigger);
        if running(fire) {
            *active.entry(fire.playbook.clone()).or_default() += 1;
        }
    }
    let mut candidates: Vec<&Fire> = Vec::new();
    for fire in open.iter().filter(|fire| fire.state == FireState::Queued && !held(fire)) {
        // Starts of one trigger keep their order.
        let is_next = overlap(&fire.trigger) == Overlap::Allow || busy.insert(&fire.trigger);
        if is_next && !delayed(fire) {
            candidates.push(fire);
        }
    }
    let waiting: Vec<(&str, Timestamp)> =
        candidates.iter().map(|fire| (fire.playbook.as_str(), fire.at)).collect();
    next_in_queue(&waiting, &active).map(|index| candidates[index])
}

/// The overlap policy of the trigger of a fire; runs that a person started may run beside others.
pub(super) fn policy(trigger: Option<&Trigger>) -> Overlap {
    trigger.map_or(Overlap::Allow, |trigger| trigger.overlap)
}
