//! `loop:`: a step that runs again until a condition holds.

use super::Backoff;
use crate::expression::Expression;
use std::time::Duration;

/// `loop:` of a step.
#[derive(Debug, Clone)]
pub struct Loop {
    /// Decides after each successful pass whether the loop ends.
    pub until: Until,
    /// Maximum number of passes.
    pub max: u32,
    /// How the delay between passes grows.
    pub backoff: Backoff,
    /// Delay before the second pass; zero for none.
    pub initial: Duration,
    /// Upper limit of the growing delay between two passes.
    pub max_delay: Duration,
}

/// `until:` of a loop.
#[derive(Debug, Clone)]
pub enum Until {
    /// The loop ends when this is true. It may read the step itself.
    Expression(Expression),
    /// The loop ends when the gate of a pass has passed; the checks of `until` are that gate.
    Checks,
}
