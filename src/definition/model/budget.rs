//! `budget:` of a run or a step.

use crate::value::Money;

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

impl Budget {
    /// Whether nothing is limited.
    pub fn is_unlimited(&self) -> bool {
        *self == Budget::default()
    }
}
