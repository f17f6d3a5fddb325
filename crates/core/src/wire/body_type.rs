//! The names of the public events, and how some of their values are written.

use super::Body;
use serde::Serializer;
use std::fmt::Display;

impl Body {
    /// The value of `type`.
    pub fn kind(&self) -> &'static str {
        match self {
            Body::RunStart { .. } => "run:start",
            Body::RunResume { .. } => "run:resume",
            Body::RunWaiting { .. } => "run:waiting",
            Body::PlanRevised(_) => "plan:revised",
            Body::StepReady {} => "step:ready",
            Body::StepStart { .. } => "step:start",
            Body::StepExpanded { .. } => "step:expanded",
            Body::StepReset { .. } => "step:reset",
            Body::StepWaiting { .. } => "step:waiting",
            Body::StepToken { .. } => "step:token",
            Body::StepOutput(_) => "step:output",
            Body::StepNote { .. } => "step:note",
            Body::BudgetWarning { .. } => "budget:warning",
            Body::AgentPhase { .. } => "agent:phase",
            Body::ModelCall { .. } => "model:call",
            Body::ToolCall { .. } => "tool:call",
            Body::ToolResult { .. } => "tool:result",
            Body::AttemptEnd { .. } => "attempt:end",
            Body::VerificationComplete { .. } => "verification:complete",
            Body::RecoveryApplied(_) => "recovery:applied",
            Body::ChannelPublish(_) => "channel_publish",
            Body::ChannelSubscribe(_) => "channel_subscribe",
            Body::ChannelAck(_) => "channel_ack",
            Body::ChannelUnsubscribe(_) => "channel_unsubscribe",
            Body::BlackboardWrite(_) => "blackboard_write",
            Body::BlackboardRead(_) => "blackboard_read",
            Body::Delegate(_) => "delegate",
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

/// Serialises a value by its name.
pub(super) fn by_name<S: Serializer>(
    value: &impl Display,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// Whether a number is left out.
pub(super) fn is_zero(number: &u32) -> bool {
    *number == 0
}
