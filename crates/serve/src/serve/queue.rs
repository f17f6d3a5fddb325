//! Which waiting fire starts next.

use kb_base::value::Timestamp;
use kb_language::definition::{Queue, Settings, Trigger};
use kb_language::schedule::{Overlap, next_in_queue};
use kb_service::trigger::{Fire, FireState};
use std::collections::{BTreeMap, BTreeSet};

/// The fire that starts next, out of those that have not ended. `running` says whether the process of a
/// started fire runs; `overlap` is the policy of a trigger. A fire starts beside another run of its
/// trigger only if the trigger allows it. A fire that is `held` lets later ones of its trigger pass, one that is
/// `delayed` does not. Of the starts whose queue has a place, those with the highest priority are next.
pub(super) fn next<'f>(
    open: &'f [Fire],
    running: impl Fn(&Fire) -> bool,
    overlap: impl Fn(&str) -> Overlap,
    held: impl Fn(&Fire) -> bool,
    delayed: impl Fn(&Fire) -> bool,
    settings: &Settings,
) -> Option<&'f Fire> {
    let queue = |fire: &Fire| settings.serve.queue_of(&fire.playbook);
    let mut busy: BTreeSet<&str> = BTreeSet::new();
    let mut taken: BTreeMap<&str, u32> = BTreeMap::new();
    let mut active: BTreeMap<String, usize> = BTreeMap::new();
    for fire in open.iter().filter(|fire| fire.state == FireState::Started) {
        busy.insert(&fire.trigger);
        if let Some(queue) = queue(fire) {
            *taken.entry(&queue.name).or_default() += 1;
        }
        if running(fire) {
            *active.entry(fire.playbook.clone()).or_default() += 1;
        }
    }
    let is_full = |fire: &Fire| {
        queue(fire).is_some_and(|queue| {
            let taken = taken.get(queue.name.as_str()).copied().unwrap_or_default();
            queue.max_runs.is_some_and(|most| taken >= most)
        })
    };
    let mut candidates: Vec<&Fire> = Vec::new();
    for fire in open.iter().filter(|fire| fire.state == FireState::Queued && !held(fire)) {
        // Starts of one trigger keep their order.
        let is_next = overlap(&fire.trigger) == Overlap::Allow || busy.insert(&fire.trigger);
        if is_next && !delayed(fire) && !is_full(fire) {
            candidates.push(fire);
        }
    }
    let priority = |fire: &Fire| queue(fire).map_or(Queue::PRIORITY, |queue| queue.priority);
    let highest = candidates.iter().map(|fire| priority(fire)).max();
    candidates.retain(|fire| Some(priority(fire)) == highest);
    let waiting: Vec<(&str, Timestamp)> =
        candidates.iter().map(|fire| (fire.playbook.as_str(), fire.at)).collect();
    next_in_queue(&waiting, &active).map(|index| candidates[index])
}

/// The overlap policy of the trigger of a fire; runs that a person started may run beside others.
pub(super) fn policy(trigger: Option<&Trigger>) -> Overlap {
    trigger.map_or(Overlap::Allow, |trigger| trigger.overlap)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kb_base::value::JsonMap;

    fn fire(id: i64, playbook: &str, state: FireState) -> Fire {
        Fire {
            id,
            trigger: format!("{playbook}.{id}"),
            key: id.to_string(),
            playbook: playbook.to_owned(),
            nominal: None,
            until: None,
            run: None,
            digest: None,
            state,
            reason: None,
            params: JsonMap::new(),
            depth: 0,
            attempts: 0,
            at: Timestamp(id),
            started_at: None,
            ended_at: None,
            by: None,
        }
    }

    fn queue(name: &str, playbooks: &[&str], max_runs: Option<u32>, priority: u32) -> Queue {
        let playbooks = playbooks.iter().map(|id| (*id).to_owned()).collect();
        Queue { name: name.to_owned(), playbooks, max_runs, priority }
    }

    #[test]
    fn a_full_queue_waits_and_the_highest_priority_is_next() {
        let queues = vec![
            queue("deploy", &["deploy", "migrate"], Some(1), 200),
            queue("batch", &["report"], None, 10),
        ];
        let mut settings = Settings::default();
        settings.serve.queues = queues;
        let next = |open: &[Fire]| {
            let allow = |_: &str| Overlap::Allow;
            next(open, |_| false, allow, |_| false, |_| false, &settings).map(|fire| fire.id)
        };
        let queued = |id, playbook| fire(id, playbook, FireState::Queued);
        let mut open = vec![queued(1, "report"), queued(2, "other"), queued(3, "deploy")];
        assert_eq!(next(&open), Some(3), "the highest priority");
        // A run that waits for a person holds its place.
        open.push(fire(4, "migrate", FireState::Started));
        assert_eq!(next(&open), Some(2), "its queue is full");
        open.retain(|fire| fire.playbook != "other");
        assert_eq!(next(&open), Some(1));
    }
}
