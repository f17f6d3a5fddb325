use super::event::InstanceIx;
use crate::evidence::Feedback;
use crate::value::Timestamp;
use std::sync::Arc;

/// What is to be done once the events of the same decision are stored.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Evaluate the condition and, where it holds, the `forEach` list. Answer:
    /// [`Input::Evaluated`](super::Input::Evaluated).
    Evaluate {
        /// Whose.
        instance: InstanceIx,
        /// In which iteration.
        iteration: u32,
    },
    /// Do the work. Answers: `Recorded`…, then `AttemptEnded`.
    Execute {
        /// Which.
        instance: InstanceIx,
        /// From 1 in each iteration.
        attempt: u32,
        /// From 1; `retry` of a run starts the next.
        iteration: u32,
        /// Whether the same attempt was under way when a holder died.
        resumed: bool,
        /// What failed before, for a rework.
        feedback: Option<Arc<Feedback>>,
    },
    /// Let the gate look. Answer: `Judged`.
    Verify {
        /// Which.
        instance: InstanceIx,
        /// Which attempt.
        attempt: u32,
        /// In which iteration.
        iteration: u32,
    },
    /// Tell the heart when this moment has come.
    Timer {
        /// Whose.
        instance: InstanceIx,
        /// When.
        due: Timestamp,
    },
    /// Gather the items' outputs into one. Answer: `Gathered`.
    Gather {
        /// The `forEach` step.
        instance: InstanceIx,
        /// In which iteration.
        iteration: u32,
    },
    /// Stop what this instance is doing; its `AttemptEnded` or `Judged` still comes.
    Cancel {
        /// Which.
        instance: InstanceIx,
    },
    /// Evaluate the run's outputs. Answer: `Concluded`.
    Conclude {
        /// From 1; each reset starts the next.
        iteration: u32,
    },
    /// The holder can leave: the run ended, waits for people alone, or has drained.
    Leave,
}
