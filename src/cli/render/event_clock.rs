//! The times of a run, folded from its events: its start, and the work of the processes that drove it.

use kb_base::value::Timestamp;
use kb_core::wire::{Body, Event};
use std::time::Duration;

/// The times of the events that were seen so far.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::cli) struct EventClock {
    began: Option<Timestamp>,
    /// First event of the process that drives the run.
    driven: Option<Timestamp>,
    last: Option<Timestamp>,
    /// Work of the processes before it.
    earlier: Duration,
    /// First and last event of an earlier process, of those that are not displayed.
    replayed: Option<(Timestamp, Timestamp)>,
    has_ended: bool,
}

impl EventClock {
    /// Adds an event of an earlier process that is not displayed. Its time counts as work.
    pub(super) fn replay(&mut self, event: &Event) {
        if self.has_ended || matches!(event.body, Body::RunResume { .. }) {
            self.add_replayed();
        }
        self.has_ended = matches!(event.body, Body::RunEnd { .. });
        let (from, _) = *self.replayed.get_or_insert((event.at, event.at));
        self.replayed = Some((from, event.at));
    }

    fn add_replayed(&mut self) {
        let before = self.replayed.take();
        self.earlier += before.map(|(from, to)| to.since(from)).unwrap_or_default();
    }

    /// Adds the next event.
    pub(in crate::cli) fn see(&mut self, event: &Event) {
        self.add_replayed();
        if self.has_ended || matches!(event.body, Body::RunResume { .. }) {
            let before = self.driven.take().zip(self.last);
            self.earlier += before.map(|(from, to)| to.since(from)).unwrap_or_default();
        }
        self.has_ended = matches!(event.body, Body::RunEnd { .. });
        self.began.get_or_insert(event.at);
        self.driven.get_or_insert(event.at);
        self.last = Some(event.at);
    }

    /// Time from the first event to this moment.
    pub(in crate::cli) fn since_start(&self, at: Timestamp) -> Duration {
        self.began.map(|began| at.since(began)).unwrap_or_default()
    }

    /// Start of the process that drives the run; `None` before its first event.
    pub(super) fn driven_since(&self) -> Option<Timestamp> {
        self.driven
    }

    /// Work of the process that drives the run up to this moment, and of all of them.
    pub(super) fn work(&self, at: Timestamp) -> (Duration, Duration) {
        let own = self.driven.map(|driven| at.since(driven)).unwrap_or_default();
        (own, own + self.earlier)
    }
}
