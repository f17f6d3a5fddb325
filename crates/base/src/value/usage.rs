//! Usage of models and tools, and model tiers.

use super::Money;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::AddAssign;

/// A model tier. The settings map each tier to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// Cheap and fast models.
    Small,
    /// The tier of a specialist that names none.
    Medium,
    /// The most capable models.
    Large,
}

impl Tier {
    /// All tiers, cheapest first.
    pub const ALL: [Tier; 3] = [Tier::Small, Tier::Medium, Tier::Large];

    /// Parses `small`, `medium` or `large`.
    pub fn parse(text: &str) -> Option<Tier> {
        Tier::ALL.into_iter().find(|tier| tier.as_str() == text)
    }

    /// The name in definitions.
    pub fn as_str(self) -> &'static str {
        match self {
            Tier::Small => "small",
            Tier::Medium => "medium",
            Tier::Large => "large",
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Tokens, calls and cost.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    /// Prompt tokens, including cached ones.
    pub prompt_tokens: u64,
    /// Tokens of the responses.
    pub completion_tokens: u64,
    /// Prompt tokens that the provider served from its cache.
    pub cached_tokens: u64,
    /// Prompt tokens that the provider wrote to its cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_write_tokens: u64,
    /// Tokens of the responses that were reasoning; part of `completion_tokens`.
    #[serde(skip_serializing_if = "is_zero")]
    pub reasoning_tokens: u64,
    /// Cost in US dollars; `None` if the price of one of the models is unknown.
    pub cost_usd: Option<Money>,
    /// Number of model calls.
    pub model_calls: u32,
    /// Number of tool calls.
    pub tool_calls: u32,
}

impl Usage {
    /// No usage, at a cost of zero.
    pub const NONE: Usage = Usage {
        prompt_tokens: 0,
        completion_tokens: 0,
        cached_tokens: 0,
        cache_write_tokens: 0,
        reasoning_tokens: 0,
        cost_usd: Some(Money::ZERO),
        model_calls: 0,
        tool_calls: 0,
    };

    /// Prompt tokens plus completion tokens.
    pub fn total_tokens(&self) -> u64 {
        self.prompt_tokens + self.completion_tokens
    }

    /// Whether there were no calls and no tokens.
    pub fn is_none(&self) -> bool {
        self.model_calls == 0 && self.tool_calls == 0 && self.total_tokens() == 0
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Usage) {
        self.prompt_tokens += other.prompt_tokens;
        self.completion_tokens += other.completion_tokens;
        self.cached_tokens += other.cached_tokens;
        self.cache_write_tokens += other.cache_write_tokens;
        self.reasoning_tokens += other.reasoning_tokens;
        self.cost_usd = match (self.cost_usd, other.cost_usd) {
            (Some(a), Some(b)) => Some(a + b),
            _ => None,
        };
        self.model_calls += other.model_calls;
        self.tool_calls += other.tool_calls;
    }
}
