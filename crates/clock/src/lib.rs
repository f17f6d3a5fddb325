//! The clock of the system, as a value. No other module reads the time; `tests/it/architecture.rs`
//! enforces that.
//!
//! The command line makes one [`Clock`] for its process and passes it on in the environment of the use
//! cases. A run has a [`RunClock`] on top of it. Monotonic instants ([`instant`], [`timer_instant`])
//! measure this process and say nothing about the time of day, so they are functions.

mod run_clock;

pub use run_clock::{BusyGuard, Limit, RunClock, WokenGuard};

use kb_base::value::Timestamp;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The wall clock. Its clones are the same clock. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Clock(Arc<Source>);

#[derive(Debug, Default)]
struct Source {
    /// How far it is ahead of the clock of the system, in milliseconds.
    ahead: i64,
    /// Its latest reading.
    latest: Mutex<Option<Reading>>,
}

/// A wall-clock time and the monotonic time at which it was read.
#[derive(Debug, Clone, Copy)]
struct Reading {
    wall: i64,
    at: Instant,
}

impl Reading {
    /// The next reading. If the wall clock was set back, it continues with the monotonic clock.
    fn after(latest: Option<Reading>, wall: i64, at: Instant) -> Reading {
        let expected = latest.map(|latest| {
            latest.wall.saturating_add(at.saturating_duration_since(latest.at).as_millis() as i64)
        });
        match expected {
            Some(expected) if expected > wall => Reading { wall: expected, at },
            _ => Reading { wall, at },
        }
    }
}

impl Clock {
    /// The clock of the system.
    pub fn system() -> Clock {
        Clock(Arc::default())
    }

    /// A clock that shows this time now and runs at the speed of the system clock.
    pub fn starting_at(time: Timestamp) -> Clock {
        let ahead = time.0.saturating_sub(system_time());
        Clock(Arc::new(Source { ahead, latest: Mutex::default() }))
    }

    /// The current time, for events, waits and people. It never goes back: a clock that is set back does
    /// not extend a wait. A resumed run reads the clock again.
    pub fn now(&self) -> Timestamp {
        let (wall, at) = (self.wall().0, instant());
        let mut latest = self.0.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let reading = Reading::after(*latest, wall, at);
        // A reading of the monotonic clock keeps its start, so that rounding does not add up.
        if latest.is_none_or(|latest| reading.wall == wall || latest.wall > reading.wall) {
            *latest = Some(reading);
        }
        Timestamp(reading.wall)
    }

    /// The wall clock as it is: it can be set back. For schedules, which follow it.
    pub fn wall(&self) -> Timestamp {
        Timestamp(system_time().saturating_add(self.0.ahead))
    }

    /// The time that the kernel gives to files now, for comparison with their modification times. It is
    /// that of the system even if this clock shows another time.
    pub fn of_files(&self) -> Timestamp {
        file_time()
    }
}

/// The time that the kernel gives to files now; see [`Clock::of_files`].
pub fn file_time() -> Timestamp {
    Timestamp(system_time())
}

/// The clock of the system in milliseconds since 1970.
fn system_time() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_millis() as i64
}

/// The current monotonic time, for measuring durations.
pub fn instant() -> Instant {
    Instant::now()
}

/// The current time of the tokio clock, for deadlines of timers. Tests can pause it.
pub fn timer_instant() -> tokio::time::Instant {
    tokio::time::Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_clock_that_is_set_back_continues() {
        const DAY: i64 = 86_400_000;
        let start = Instant::now();
        let first = Reading::after(None, 10 * DAY, start);
        let later = Reading::after(Some(first), 9 * DAY, start + Duration::from_secs(5));
        assert_eq!(later.wall, 10 * DAY + 5_000);
        let ahead = Reading::after(Some(first), 11 * DAY, start + Duration::from_secs(6));
        assert_eq!(ahead.wall, 11 * DAY);
        let back = Reading::after(Some(ahead), 10 * DAY, start + Duration::from_secs(7));
        assert_eq!(back.wall, 11 * DAY + 1_000);
    }

    #[test]
    fn a_clock_that_starts_elsewhere_leaves_the_times_of_files_alone() {
        let start = Timestamp(86_400_000);
        let clock = Clock::starting_at(start);
        for shown in [clock.now(), clock.wall(), clock.clone().now()] {
            assert!(shown >= start && shown < start.after(Duration::from_secs(3600)), "{shown:?}");
        }
        assert!(clock.of_files() > start.after(Duration::from_secs(3600)));
    }
}
