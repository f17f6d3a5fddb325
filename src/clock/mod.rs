//! The system clock. No other module reads the time; `tests/it/architecture.rs` enforces that.

mod run_clock;

pub use run_clock::{Busy, Limit, RunClock, Woken};

use crate::value::Timestamp;
use std::sync::{Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The latest reading of the wall clock of this process.
static LATEST: Mutex<Option<Reading>> = Mutex::new(None);

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

/// The current wall-clock time, for events, waits and people. It never goes back within a process: a
/// clock that is set back does not extend a wait. A resumed run reads the clock again.
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (wall, at) = (since.as_millis() as i64, instant());
    let mut latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
    let reading = Reading::after(*latest, wall, at);
    // A reading of the monotonic clock keeps its start, so that rounding does not add up.
    if latest.is_none_or(|latest| reading.wall == wall || latest.wall > reading.wall) {
        *latest = Some(reading);
    }
    Timestamp(reading.wall)
}

/// The wall clock as it is: it can be set back. For schedules, which follow it.
pub fn wall() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(since.as_millis() as i64)
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
}
