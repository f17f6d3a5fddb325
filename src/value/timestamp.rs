use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A moment, in milliseconds since 1970-01-01 UTC. Only `clock` makes the present one.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// This much later.
    #[must_use]
    pub fn after(self, d: Duration) -> Timestamp {
        Timestamp(self.0.saturating_add(d.as_millis() as i64))
    }

    /// How long after `earlier` this is; zero if it is before.
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0).max(0) as u64)
    }

    /// RFC 3339 in UTC with milliseconds, as in events: `2026-11-21T10:00:00.123Z`.
    pub fn rfc3339(self) -> String {
        jiff::Timestamp::from_millisecond(self.0)
            .map(|t| format!("{t:.3}"))
            .unwrap_or_else(|_| self.0.to_string())
    }
}
