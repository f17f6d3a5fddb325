//! Ids of the steps of a plan that are no subtasks.

/// The step that runs the checks of the goal before the work.
pub(crate) const BEFORE: &str = "goal-before";
/// The step that runs them after it.
pub const AFTER: &str = "goal-check";
/// The step that says what the subtasks found, by how far it was verified.
pub(crate) const ANSWER: &str = "goal-answer";
