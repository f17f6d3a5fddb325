//! Points in time.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A point in time, in milliseconds since 1970-01-01 UTC. Only `clock` reads the current time.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// The time `d` later.
    #[must_use]
    pub fn after(self, d: Duration) -> Timestamp {
        Timestamp(self.0.saturating_add(d.as_millis() as i64))
    }

    /// The time elapsed since `earlier`; zero if `earlier` is later.
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0).max(0) as u64)
    }

    /// Reads RFC 3339 with a zone: `2026-11-23T09:00:00Z`, `2026-11-23T09:00:00+03:00`.
    pub fn parse(text: &str) -> Option<Timestamp> {
        let moment: jiff::Timestamp = text.trim().parse().ok()?;
        Some(Timestamp(moment.as_millisecond()))
    }

    /// RFC 3339 in UTC with milliseconds, as in events: `2026-11-21T10:00:00.123Z`.
    pub fn rfc3339(self) -> String {
        jiff::Timestamp::from_millisecond(self.0)
            .map(|t| format!("{t:.3}"))
            .unwrap_or_else(|_| self.0.to_string())
    }
}
