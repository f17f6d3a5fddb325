//! `budget:` of a run or a step.

use kb_base::value::Money;

/// Limits of what the specialists of a run or a step spend; `None`: unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Budget {
    /// `maxCostUsd`: maximum cost of model calls.
    pub max_cost: Option<Money>,
    /// `warnCostUsd`: cost from which the run warns, once.
    pub warn_cost: Option<Money>,
    /// `maxTokens`: maximum prompt and completion tokens of model calls.
    pub max_tokens: Option<u64>,
    /// `maxToolCalls`: maximum number of tool calls of specialists.
    pub max_tool_calls: Option<u64>,
}

/// `globalLimits`: limits of the settings for all specialists, or of one specialist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GlobalLimits {
    /// `maxToolCallsPerTask`: maximum tool calls of one attempt.
    pub tool_calls: Option<u32>,
    /// `maxApiCallsPerMinute`: maximum model calls in any minute.
    pub calls_per_minute: Option<u32>,
}

impl GlobalLimits {
    /// The lower of both limits.
    #[must_use]
    pub fn lower(self, other: GlobalLimits) -> GlobalLimits {
        let lower = |a: Option<u32>, b: Option<u32>| a.into_iter().chain(b).min();
        GlobalLimits {
            tool_calls: lower(self.tool_calls, other.tool_calls),
            calls_per_minute: lower(self.calls_per_minute, other.calls_per_minute),
        }
    }
}

impl Budget {
    /// Whether nothing is limited.
    pub fn is_unlimited(&self) -> bool {
        *self == Budget::default()
    }
}
