//! The time that processes drove a run, without the time between them.

use kb_base::value::Timestamp;
use std::time::Duration;

/// The sum of the times from the start of each process that drove a run to its last event.
#[derive(Debug, Clone, Copy, Default)]
pub struct WorkTime {
    /// Epoch of the lease of the last process.
    epoch: u64,
    /// Time of earlier processes.
    earlier: Duration,
    /// First and last event of the last process.
    current: Option<(Timestamp, Timestamp)>,
}

impl WorkTime {
    /// Adds the next event. Each process has its own epoch.
    pub fn add(&mut self, at: Timestamp, epoch: u64) {
        if epoch != self.epoch {
            self.earlier += self.last();
            (self.epoch, self.current) = (epoch, None);
        }
        self.until(at);
    }

    /// Extends the time of the last process up to `at`.
    pub fn until(&mut self, at: Timestamp) {
        let (start, _) = *self.current.get_or_insert((at, at));
        self.current = Some((start, self.current.map_or(at, |(_, last)| last.max(at))));
    }

    /// Last event, or last sign of life, of the last process.
    pub fn last_at(&self) -> Option<Timestamp> {
        self.current.map(|(_, last)| last)
    }

    fn last(&self) -> Duration {
        self.current.map_or(Duration::ZERO, |(from, to)| to.since(from))
    }

    /// Milliseconds of the last process; `None` without events.
    pub fn last_ms(&self) -> Option<u64> {
        self.current.map(|_| self.last().as_millis() as u64)
    }

    /// Milliseconds of all processes; `None` without events.
    pub fn total_ms(&self) -> Option<u64> {
        self.current.map(|_| (self.earlier + self.last()).as_millis() as u64)
    }
}
