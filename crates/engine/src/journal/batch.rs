//! One append: events, the status after them, and the inbox messages that they acknowledge.

use super::Durability;
use kb_base::value::Timestamp;
use kb_core::redaction::Masked;
use kb_core::run::{Event, RunStatus};

/// The content of one append. The journal stores all of it or none.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    /// Number of the last event that the caller has read; 0 before the first. The append fails if
    /// the journal has more or fewer events.
    pub expected: u64,
    /// Time of the decision.
    pub at: Timestamp,
    /// Events in order.
    pub events: &'a [Masked<Event>],
    /// Status of the run after the events.
    pub status: RunStatus,
    /// Ids of the inbox messages that led to these events. They are removed in the same commit, so
    /// that a message takes effect once even if the process is killed.
    pub acknowledged: &'a [i64],
    /// Whether the append is synced before it returns.
    pub durability: Durability,
}

impl<'a> Batch<'a> {
    /// An ordered batch of a run that continues, without inbox messages.
    pub fn after(expected: u64, at: Timestamp, events: &'a [Masked<Event>]) -> Batch<'a> {
        let (status, durability) = (RunStatus::Running, Durability::Ordered);
        Batch { expected, at, events, status, acknowledged: &[], durability }
    }
}
