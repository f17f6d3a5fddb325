//! The only caller of the system clock.

use crate::value::Timestamp;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Now, in wall time; for events and people.
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(since.as_millis() as i64)
}

/// Now, in monotonic time; for measuring.
pub fn instant() -> Instant {
    Instant::now()
}

/// Now, on the clock that timers run by; for deadlines. Tests may pause it.
pub fn timer_instant() -> tokio::time::Instant {
    tokio::time::Instant::now()
}
