//! The worktree or copy that an attempt runs in, and their merge.

use kb_base::value::{InstanceKey, RunId};
use kb_language::definition::Isolation;

/// Names the worktree or copy of one step or item in one iteration. All attempts of the iteration
/// and their gates share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeRequest {
    /// Run id.
    pub run: RunId,
    /// Key of the step or item.
    pub instance: InstanceKey,
    /// Iteration of the instance, from 1.
    pub iteration: u32,
    /// What it is, and how its changes reach the project.
    pub isolation: Isolation,
}
