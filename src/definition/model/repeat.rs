//! `loop:`: a step that runs again until a condition holds.

use super::Backoff;
use crate::expression::Expression;
use std::time::Duration;

/// `loop:` of a step.
#[derive(Debug, Clone)]
pub struct Loop {
    /// Evaluated after each successful pass; the loop ends when it is true. It may read the step itself.
    pub until: Expression,
    /// Maximum number of passes.
    pub max: u32,
    /// How the delay between passes grows.
    pub backoff: Backoff,
    /// Delay before the second pass; zero for none.
    pub initial: Duration,
    /// Upper limit of the growing delay between two passes.
    pub max_delay: Duration,
}
