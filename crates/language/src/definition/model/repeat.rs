//! `loop:`: a step that runs again until a condition holds.

use super::Delays;
use crate::expression::Expression;

/// `loop:` of a step.
#[derive(Debug, Clone)]
pub struct Loop {
    /// Decides after each successful pass whether the loop ends.
    pub until: Until,
    /// Maximum number of passes.
    pub max: u32,
    /// How long it waits between two passes; zero for not at all.
    pub delays: Delays,
}

/// `until:` of a loop.
#[derive(Debug, Clone)]
pub enum Until {
    /// The loop ends when this is true. It may read the step itself.
    Expression(Expression),
    /// The loop ends when the gate of a pass has passed; the checks of `until` are that gate.
    Checks,
}
