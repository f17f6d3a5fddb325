//! Timeouts, retries and backoff of a step.

use crate::definition::keys::{choices, keys};
use kb_base::value::OutcomeSelector;
use std::time::Duration;

keys! {
    /// Time limits of one attempt.
    pub struct Timeout(Debug, Clone, Copy, PartialEq, Eq, Default): TIMEOUT = ("timeout", "`timeout`") {
        /// Limit of the whole attempt.
        attempt: Option<Duration> = "attempt", example("10m");
        /// Limit without any output, tool call or token.
        idle: Option<Duration> = "idle", example("60s");
    }
}

choices! {
    /// `backoff:`: how the delay grows from one retry to the next.
    #[derive(Default)]
    pub enum Backoff {
        /// The same delay each time.
        Fixed = "fixed",
        /// `initial`, then 2 × `initial`, 3 × `initial`, …
        Linear = "linear",
        /// Doubled each time.
        #[default]
        Exponential = "exponential",
    }
}

/// `retry:`: another attempt with the same work after a delay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Maximum number of retries after the first attempt.
    pub max: u32,
    /// Outcomes that are retried. Default: `transient` and `timeout`; for `run` steps also any
    /// non-zero exit.
    pub on: Vec<OutcomeSelector>,
    /// How the delay grows. Default: exponential.
    pub backoff: Backoff,
    /// Delay before the first retry. Default: 1 s.
    pub initial: Duration,
    /// Maximum delay. Default: 60 s.
    pub max_delay: Duration,
}
