//! What a tick has decided and not stored yet.

use super::queue::{Ack, HeardAck};
use kb_base::value::Timestamp;
use kb_core::evidence::Heard;
use kb_core::redaction::Masked;
use kb_core::run::{Effect, Event, RunStatus, State};

/// The decisions that are not stored yet, and what follows once they are.
pub(super) struct PendingWrite {
    /// Time of all decisions of the tick, so that the live and the replayed state agree.
    pub(super) at: Timestamp,
    pub(super) events: Vec<Masked<Event>>,
    pub(super) effects: Vec<Effect>,
    /// Attempts that wait until their records are stored.
    pub(super) acks: Vec<Ack>,
    /// Attempts that get their answers once the events are stored.
    pub(super) heard: Vec<(HeardAck, Heard)>,
    /// Inbox messages that the events acknowledge.
    pub(super) acknowledged: Vec<i64>,
}

impl PendingWrite {
    pub(super) fn new(at: Timestamp) -> PendingWrite {
        let (events, effects, acks, heard, acknowledged) = Default::default();
        PendingWrite { at, events, effects, acks, heard, acknowledged }
    }

    /// Whether the next append acknowledges this inbox message.
    pub(super) fn acknowledges(&self, message: i64) -> bool {
        self.acknowledged.contains(&message)
    }

    /// The status that the journal stores for the run.
    pub(super) fn status(&self, state: &State) -> RunStatus {
        if state.status() == RunStatus::Running && self.effects.contains(&Effect::Leave) {
            return if state.is_draining() { RunStatus::Interrupted } else { RunStatus::Waiting };
        }
        state.status()
    }
}
