//! The system clock. No other module reads the time; `tests/it/architecture.rs` enforces that.

use crate::value::Timestamp;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The current wall-clock time, for events and people.
pub fn now() -> Timestamp {
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
