use super::Durability;
use crate::run::{Event, RunStatus};
use crate::value::Timestamp;

/// What one append stores: all of it or none.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    /// The last seq that the caller knows; 0 at first. An append anywhere else is refused.
    pub expected: u64,
    /// When it was decided.
    pub at: Timestamp,
    /// In their order.
    pub events: &'a [Event],
    /// The run's status after them.
    pub status: RunStatus,
    /// Items of the inbox that these events came of. They leave it with the same commit, so that an
    /// answer is acted on once, whatever is killed in between.
    pub taken: &'a [i64],
    /// When the append returns.
    pub durability: Durability,
}

impl<'a> Batch<'a> {
    /// Events of a run that goes on, after what the caller knows.
    pub fn after(expected: u64, at: Timestamp, events: &'a [Event]) -> Batch<'a> {
        let (status, durability) = (RunStatus::Running, Durability::Ordered);
        Batch { expected, at, events, status, taken: &[], durability }
    }
}
