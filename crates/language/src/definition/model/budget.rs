//! `budget:` of a run or a step.

use crate::definition::keys::keys;
use kb_base::value::Money;

keys! {
    /// Limits of cost, tokens and tool calls.
    pub struct Budget(Debug, Clone, Copy, PartialEq, Eq, Default): BUDGET = ("budget", "`budget`") {
        /// Maximum cost in US dollars.
        max_cost: Option<Money> = "maxCostUsd", example("1.5");
        /// Cost in US dollars from which a run warns.
        warn_cost: Option<Money> = "warnCostUsd";
        /// Maximum number of tokens.
        max_tokens: Option<u64> = "maxTokens";
        /// Maximum number of tool calls.
        max_tool_calls: Option<u64> = "maxToolCalls";
    }
}

impl Budget {
    /// Whether nothing is limited.
    pub fn is_unlimited(&self) -> bool {
        *self == Budget::default()
    }
}
