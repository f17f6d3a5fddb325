//! What earlier attempts left in the files that an attempt works on.

use kb_base::value::{RunId, Timestamp};
use kb_core::evidence::Change;

/// What an attempt has to record before its work, so that its gate compares with the state before the step.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LeftChanges {
    /// Recorded changes of earlier iterations of the step, or of the run that this one continues.
    pub recorded: Vec<Change>,
    /// Processes that were killed in the work of the step, of this run and of those that it continues.
    pub killed: Vec<KilledWork>,
}

/// A process that was killed in the work of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KilledWork {
    /// The run that it drove.
    pub run: RunId,
    /// Its last sign of life.
    pub at: Timestamp,
}
