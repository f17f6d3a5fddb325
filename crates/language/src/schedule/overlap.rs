//! What happens to a start while other runs of the trigger are active, and which start is next.

use kb_base::value::Timestamp;
use std::collections::BTreeMap;

/// `overlap:` of a trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overlap {
    /// The start is skipped.
    #[default]
    Skip,
    /// One start waits; further ones are skipped.
    QueueOne,
    /// Every start waits.
    QueueAll,
    /// The active runs are cancelled, then it starts.
    Cancel,
    /// It starts beside them.
    Allow,
}

/// The runs of a trigger that have not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ActiveRuns {
    /// Runs that have started: running, waiting or interrupted.
    pub started: usize,
    /// Starts that wait.
    pub queued: usize,
}

/// What happens to a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// It starts when there is a free slot.
    Start,
    /// It starts when the active runs of its trigger have ended.
    Queue,
    /// The active runs are cancelled and waiting starts dropped; it starts when they have ended.
    Replace,
    /// It does not start.
    Skip,
}

/// Decides about a start while `active` runs of its trigger have not ended.
pub fn overlap(policy: Overlap, active: ActiveRuns) -> Decision {
    let none = active.started == 0 && active.queued == 0;
    match policy {
        _ if none => Decision::Start,
        Overlap::Allow => Decision::Start,
        Overlap::Skip => Decision::Skip,
        Overlap::QueueOne if active.queued > 0 => Decision::Skip,
        Overlap::QueueOne | Overlap::QueueAll => Decision::Queue,
        Overlap::Cancel => Decision::Replace,
    }
}

/// The index of the waiting start that is next: of the playbook with the fewest active runs, and of its
/// starts the oldest, so that a playbook with many starts does not delay the others. `waiting` has the
/// playbook and the time of each start, `active` the number of active runs by playbook.
pub fn next_in_queue(
    waiting: &[(&str, Timestamp)],
    active: &BTreeMap<String, usize>,
) -> Option<usize> {
    let of = |playbook: &str| active.get(playbook).copied().unwrap_or_default();
    let order = |index: &usize| {
        let (playbook, since) = waiting[*index];
        (of(playbook), since, *index)
    };
    (0..waiting.len()).min_by_key(order)
}
