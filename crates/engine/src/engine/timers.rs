//! The timers of a run: retries that wait for their moment, and the run's own timeout.

use kb_base::value::Timestamp;
use kb_clock::{RunClock, WokenGuard};
use kb_core::run::InstanceIx;
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::time::Instant;

/// The timers. Their owner is the dispatcher.
pub(super) struct Timers {
    clock: RunClock,
    due: BTreeSet<(Timestamp, InstanceIx)>,
    /// End of the run's timeout, until it has fired.
    deadline: Option<Instant>,
}

impl Timers {
    /// Starts the run's timeout, if it has one.
    pub(super) fn new(clock: RunClock, timeout: Option<Duration>) -> Timers {
        let deadline = timeout.map(|limit| clock.instant() + limit);
        Timers { clock, due: BTreeSet::new(), deadline }
    }

    /// Sets the timer of an instance.
    pub(super) fn set(&mut self, due: Timestamp, instance: InstanceIx) {
        self.due.insert((due, instance));
    }

    /// Removes all timers that are due and returns their instances, oldest first.
    pub(super) fn take_due(&mut self) -> Vec<InstanceIx> {
        let now = self.clock.now();
        let mut instances = Vec::new();
        while let Some(&(due, instance)) = self.due.first().filter(|(due, _)| *due <= now) {
            self.due.remove(&(due, instance));
            instances.push(instance);
        }
        instances
    }

    /// The instances of the timers, next first; none while one is due. An instance may wait no longer.
    pub(super) fn upcoming(&self) -> impl Iterator<Item = InstanceIx> {
        let is_due = self.due.first().is_some_and(|(due, _)| *due <= self.clock.now());
        self.due.iter().filter(move |_| !is_due).map(|(_, instance)| *instance)
    }

    /// Stops the run's timeout, which has fired.
    pub(super) fn end_deadline(&mut self) {
        self.deadline = None;
    }

    /// Waits until the next timer is due; forever without timers.
    pub(super) fn next(&self) -> impl Future<Output = WokenGuard> + use<> {
        let (clock, due) = (self.clock.clone(), self.due.first().map(|(due, _)| *due));
        async move {
            match due {
                Some(due) => clock.sleep_until(clock.instant() + due.since(clock.now())).await,
                None => std::future::pending().await,
            }
        }
    }

    /// Waits for the end of the run's timeout; forever without a timeout.
    pub(super) fn expiry(&self) -> impl Future<Output = WokenGuard> + use<> {
        let (clock, deadline) = (self.clock.clone(), self.deadline);
        async move {
            match deadline {
                Some(deadline) => clock.sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        }
    }
}
