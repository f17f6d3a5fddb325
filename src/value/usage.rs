use super::Money;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::AddAssign;

/// A model tier (000 §3.4): cheap, usual, strong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// Cheap and fast.
    Small,
    /// The usual one.
    Medium,
    /// The strongest.
    Large,
}

impl Tier {
    /// All tiers, cheapest first.
    pub const ALL: [Tier; 3] = [Tier::Small, Tier::Medium, Tier::Large];

    /// Reads `small`, `medium` or `large`.
    pub fn parse(text: &str) -> Option<Tier> {
        Tier::ALL.into_iter().find(|tier| tier.as_str() == text)
    }

    /// The name as people write it.
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

/// What model calls took: tokens, and dollars where a price is known.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    /// Tokens read by the model, cached ones included.
    pub prompt_tokens: u64,
    /// Tokens written by the model.
    pub completion_tokens: u64,
    /// Of the prompt, those the provider had cached.
    pub cached_tokens: u64,
    /// Their cost in dollars; `None` where a model without a price took part.
    pub cost_usd: Option<Money>,
    /// How many model calls.
    pub model_calls: u32,
    /// How many tool calls.
    pub tool_calls: u32,
}

impl Usage {
    /// Nothing used, cost known to be zero.
    pub const NONE: Usage = Usage {
        prompt_tokens: 0,
        completion_tokens: 0,
        cached_tokens: 0,
        cost_usd: Some(Money::ZERO),
        model_calls: 0,
        tool_calls: 0,
    };

    /// Prompt and completion together.
    pub fn total_tokens(&self) -> u64 {
        self.prompt_tokens + self.completion_tokens
    }

    /// Whether nothing was used at all.
    pub fn is_none(&self) -> bool {
        self.model_calls == 0 && self.tool_calls == 0 && self.total_tokens() == 0
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Usage) {
        self.prompt_tokens += other.prompt_tokens;
        self.completion_tokens += other.completion_tokens;
        self.cached_tokens += other.cached_tokens;
        self.cost_usd = match (self.cost_usd, other.cost_usd) {
            (Some(a), Some(b)) => Some(a + b),
            _ => None,
        };
        self.model_calls += other.model_calls;
        self.tool_calls += other.tool_calls;
    }
}
