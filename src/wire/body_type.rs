//! The names of the public events.

use super::Body;

impl Body {
    /// The value of `type`.
    pub fn kind(&self) -> &'static str {
        match self {
            Body::RunStart { .. } => "run:start",
            Body::RunResume { .. } => "run:resume",
            Body::RunWaiting { .. } => "run:waiting",
            Body::StepReady {} => "step:ready",
            Body::StepStart { .. } => "step:start",
            Body::StepExpanded { .. } => "step:expanded",
            Body::StepReset { .. } => "step:reset",
            Body::StepWaiting { .. } => "step:waiting",
            Body::StepToken { .. } => "step:token",
            Body::StepNote { .. } => "step:note",
            Body::BudgetWarning { .. } => "budget:warning",
            Body::AgentPhase { .. } => "agent:phase",
            Body::ModelCall { .. } => "model:call",
            Body::ToolCall { .. } => "tool:call",
            Body::ToolResult { .. } => "tool:result",
            Body::AttemptEnd { .. } => "attempt:end",
            Body::VerificationComplete { .. } => "verification:complete",
            Body::RecoveryApplied { .. } => "recovery:applied",
            Body::LoopPass { .. } => "loop:pass",
            Body::StepMerged { .. } => "step:merged",
            Body::CacheHit(_) => "cache:hit",
            Body::ChildStart { .. } => "child:start",
            Body::ChildEnd { .. } => "child:end",
            Body::AskOpened { .. } => "ask:opened",
            Body::AskAnswered { .. } => "ask:answered",
            Body::StepEnd { .. } => "step:end",
            Body::RunEnd { .. } => "run:end",
        }
    }
}
