//! Limits of a run that the command line sets.

use super::Money;
use serde::{Deserialize, Serialize};

/// Limits of the command line (`--budget`, `--max-tokens`, `--max-tool-calls`) for what a run spends. They take the
/// place of those of its definition; `None` leaves one as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RunLimits {
    /// Maximum cost.
    #[serde(rename = "budget", skip_serializing_if = "Option::is_none")]
    pub cost: Option<Money>,
    /// Maximum prompt and completion tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Maximum tool calls of specialists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tool_calls: Option<u64>,
}

impl RunLimits {
    /// Whether it sets nothing.
    pub fn is_none(&self) -> bool {
        *self == RunLimits::default()
    }

    /// These limits, and `other` where they set none.
    #[must_use]
    pub fn or(self, other: RunLimits) -> RunLimits {
        RunLimits {
            cost: self.cost.or(other.cost),
            max_tokens: self.max_tokens.or(other.max_tokens),
            max_tool_calls: self.max_tool_calls.or(other.max_tool_calls),
        }
    }

    /// Those of these limits that differ from `other`.
    #[must_use]
    pub fn changed_from(self, other: RunLimits) -> RunLimits {
        RunLimits {
            cost: self.cost.filter(|_| self.cost != other.cost),
            max_tokens: self.max_tokens.filter(|_| self.max_tokens != other.max_tokens),
            max_tool_calls: self
                .max_tool_calls
                .filter(|_| self.max_tool_calls != other.max_tool_calls),
        }
    }
}
