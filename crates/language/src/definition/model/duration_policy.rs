//! Timeouts, retries and backoff of a step.

use crate::definition::keys::KeyType::{self, Integer, ListOrOne, Pattern};
use crate::definition::keys::{choices, keys};
use crate::definition::syntax::{Decoder, Node};
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

/// Outcomes in `on`.
pub(crate) const OUTCOMES: KeyType = ListOrOne(&Pattern(
    r"^(\*|transient|timeout|exit|exit:[0-9]+|tool_error|validation_failed|gate_failed|gate_inconclusive|gate_unchecked|stuck|policy_denied|unknown)$",
));

keys! {
    /// The retry policy of a step.
    pub struct RetryPolicy(Debug, Clone, PartialEq, Eq): RETRY = ("retry", "`retry`") {
        /// Maximum number of retries.
        max: u32 = "max" as Integer(0, 1000), required, example("2");
        /// Outcomes that are retried.
        on: Vec<OutcomeSelector> = "on" as OUTCOMES => on,
            default("`[transient, timeout]`, for `run` also `exit`"), example("[transient, \"exit:75\"]");
    } with {
        /// How long it waits before each retry.
        delays: Delays,
    }

    /// The delays between attempts.
    pub struct Delays(Debug, Clone, Copy, PartialEq, Eq) {
        /// How the delay grows from one retry to the next.
        backoff: Backoff = "backoff", default("exponential");
        /// Delay before the first retry.
        initial: Duration = "initial", default("1s");
        /// Maximum delay.
        max_delay: Duration = "maxDelay", default("60s");
    }
}

fn on(node: &Node, _: &str, decoder: &mut Decoder) -> Vec<OutcomeSelector> {
    decoder.outcomes(node)
}
