//! The locks of steps between runs: requested before an attempt or gate starts, kept until its instance
//! leaves its slot. Within a run the state machine orders the steps.

use super::attempts::{self, AttemptChannel};
use crate::attempt::{Progress, Recorder};
use crate::diagnostic::Code;
use crate::journal::{JournalError, LockRequest, NamedLocks};
use crate::run::{InstanceIx, State};
use crate::value::{Failure, OutcomeKind};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Intervals between two reads of the queue of a lock.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const MAX_PAUSE: Duration = Duration::from_millis(200);

/// The locks that the live instances of a run hold.
#[derive(Default)]
pub(super) struct StepLocks(BTreeMap<InstanceIx, Vec<LockRequest>>);

impl StepLocks {
    /// Whether an instance has its locks.
    pub(super) fn has(&self, instance: InstanceIx) -> bool {
        self.0.contains_key(&instance)
    }

    /// Keeps the locks of an instance.
    pub(super) fn keep(&mut self, instance: InstanceIx, locks: Vec<LockRequest>) {
        if !locks.is_empty() {
            self.0.insert(instance, locks);
        }
    }

    /// Releases the locks of all instances that have left their slots.
    pub(super) fn release(&mut self, state: &State) {
        self.0.retain(|ix, _| state.instance(*ix).holds_slot());
    }
}

/// The locks that an effect waits for.
pub(super) struct WantedLocks {
    pub(super) locks: NamedLocks,
    /// In order, so that two steps do not wait for each other.
    pub(super) names: Vec<String>,
    pub(super) owner: String,
}

impl WantedLocks {
    /// Waits for the locks, one after the other.
    pub(super) async fn acquire(
        self,
        channel: &AttemptChannel,
        cancel: &CancellationToken,
    ) -> Result<Vec<LockRequest>, (OutcomeKind, Failure)> {
        let mut held = Vec::with_capacity(self.names.len());
        for name in &self.names {
            let request = self.locks.request(name, &self.owner).map_err(unusable)?;
            held.push(wait(request, name, channel, cancel).await?);
        }
        Ok(held)
    }
}

async fn wait(
    request: LockRequest,
    name: &str,
    channel: &AttemptChannel,
    cancel: &CancellationToken,
) -> Result<LockRequest, (OutcomeKind, Failure)> {
    let (mut pause, mut told) = (FIRST_PAUSE, false);
    loop {
        let queue = request.queue().map_err(unusable)?;
        let Some(owner) = queue.before.first() else { return Ok(request) };
        if !std::mem::replace(&mut told, true) {
            let lock = name.trim_start_matches("lock/");
            let text = format!("waiting for the lock `{lock}`, which {owner} holds");
            channel.progress(Progress::Output(text));
        }
        tokio::select! {
            () = cancel.cancelled() => return Err((OutcomeKind::Cancelled, attempts::cancelled())),
            () = channel.clock.sleep(pause) => pause = (pause * 2).min(MAX_PAUSE),
        }
    }
}

fn unusable(error: JournalError) -> (OutcomeKind, Failure) {
    (OutcomeKind::ToolError, Failure::new(Code::JOURNAL_UNUSABLE, error.to_string()))
}
