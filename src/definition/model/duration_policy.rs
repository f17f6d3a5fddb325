use crate::value::OutcomeSelector;
use std::time::Duration;

/// How long one attempt may take, running and verifying, without queueing and waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timeout {
    /// The whole attempt.
    pub attempt: Option<Duration>,
    /// Without any output, tool call or token.
    pub idle: Option<Duration>,
}

/// How delays grow from one retry to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Backoff {
    /// The same delay each time.
    Fixed,
    /// `initial`, twice, three times …
    Linear,
    /// Doubled each time.
    #[default]
    Exponential,
}

/// `retry:` — the same work again after a delay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryPolicy {
    /// How many further attempts.
    pub max: u32,
    /// After which outcomes; `transient` and `timeout` unless the definition says otherwise, and
    /// any non-zero exit for `run` steps.
    pub on: Vec<OutcomeSelector>,
    /// How the delay grows.
    pub backoff: Backoff,
    /// The first delay; 1 s unless said.
    pub initial: Duration,
    /// The longest delay; 60 s unless said.
    pub max_delay: Duration,
}
