//! The effects that the engine performs for a decision.

use super::event::InstanceIx;
use crate::evidence::Feedback;
use kb_base::value::Timestamp;
use std::sync::Arc;

/// Work that the engine performs once the events of the same decision are stored.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Evaluate the condition and, if it is true, the `forEach` list. Answer:
    /// [`Input::Evaluated`](super::Input::Evaluated).
    Evaluate {
        /// Number of the instance.
        instance: InstanceIx,
        /// Iteration of the instance.
        iteration: u32,
    },
    /// Execute an attempt. Answers: any number of `Recorded`, then `AttemptEnded`; a waiting step
    /// answers with `WaitOpened`.
    Execute {
        /// Number of the instance.
        instance: InstanceIx,
        /// Number of the attempt, from 1 in each iteration.
        attempt: u32,
        /// Iteration of the instance, from 1.
        iteration: u32,
        /// Whether the attempt was executing when the previous lease owner ended.
        resumed: bool,
        /// Why the previous attempt failed, for a rework.
        feedback: Option<Arc<Feedback>>,
    },
    /// Evaluate the loop condition after a successful pass. Answer: `UntilEvaluated`.
    EvaluateUntil {
        /// The instance that the timer wakes.
        instance: InstanceIx,
        /// The iteration that the timer belongs to; a later one ignores it.
        iteration: u32,
        /// The attempt that succeeded.
        attempt: u32,
    },
    /// Execute the gate. Answer: `Judged`.
    Verify {
        /// Number of the instance.
        instance: InstanceIx,
        /// Number of the attempt.
        attempt: u32,
        /// Iteration of the instance.
        iteration: u32,
    },
    /// Set a timer. Answer: `TimerDue`.
    Timer {
        /// Number of the instance.
        instance: InstanceIx,
        /// Time of the timer.
        due: Timestamp,
    },
    /// Merge the changes of a step in a worktree or copy, of a `forEach` those of its items in item
    /// order. May be repeated after a crash. Answer: `Merged`.
    Merge {
        /// The step.
        instance: InstanceIx,
        /// Iteration of the instance.
        iteration: u32,
    },
    /// Collect the outputs of the items. Answer: `Gathered`.
    Gather {
        /// Instance of the `forEach` step.
        instance: InstanceIx,
        /// Iteration of the instance.
        iteration: u32,
    },
    /// Stop the attempt or gate of an instance. Its `AttemptEnded` or `Judged` still follows.
    Cancel {
        /// Number of the instance.
        instance: InstanceIx,
    },
    /// Evaluate the run's outputs. Answer: `Concluded`.
    Conclude {
        /// Iteration of the run, from 1; each reset starts the next.
        iteration: u32,
    },
    /// Leave the run: it ended, waits for people only, or has drained.
    Leave,
}
