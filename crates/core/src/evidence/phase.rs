//! [`Phase`]: the phases of a specialist with `agentLoop`.

use serde::{Deserialize, Serialize};

/// A phase of an attempt of a specialist with `agentLoop`, in the order in which they follow each other.
/// `Execute` and `Critique` alternate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Phase {
    /// The model states the task and its requirements.
    Understand,
    /// The model lists the steps of a complex task.
    Plan,
    /// The model calls tools and submits an output.
    Execute,
    /// The model reviews its output.
    Critique,
    /// The output is the result.
    Finish,
}

impl Phase {
    /// The name of the phase.
    pub fn as_str(self) -> &'static str {
        match self {
            Phase::Understand => "understand",
            Phase::Plan => "plan",
            Phase::Execute => "execute",
            Phase::Critique => "critique",
            Phase::Finish => "finish",
        }
    }
}
