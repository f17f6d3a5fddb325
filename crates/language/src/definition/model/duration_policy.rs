//! Timeouts, retries and backoff of a step.

use kb_base::value::OutcomeSelector;
use std::time::Duration;

/// `timeout:`: the time limits of one attempt. Execution and verification count; time in a queue
/// does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timeout {
    /// Limit of the whole attempt; `None`: unlimited.
    pub attempt: Option<Duration>,
    /// Limit without any output, tool call or token; `None`: unlimited.
    pub idle: Option<Duration>,
}

/// `backoff:`: how the delay grows from one retry to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Backoff {
    /// The same delay each time.
    Fixed,
    /// `initial`, then 2 × `initial`, 3 × `initial`, …
    Linear,
    /// Doubled each time.
    #[default]
    Exponential,
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
