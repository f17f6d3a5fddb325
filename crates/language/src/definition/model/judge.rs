//! The thresholds of a judge.

use kb_base::value::Tier;

/// A `judge` check, and `verifier.judge` of the settings, which has the defaults.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JudgeCheck {
    /// Tier of the judge. `None`: one above that of the specialist.
    pub tier: Option<Tier>,
    /// Name of its model; takes precedence over the tier.
    pub model: Option<String>,
    /// Maximum tokens of its response.
    pub max_tokens: Option<u32>,
    /// More unverified mentions than this refute the answer.
    pub max_unverified: Option<u32>,
    /// A lower confidence refutes the answer.
    pub min_confidence: Option<f64>,
    /// A lower confidence makes the check inconclusive.
    pub uncertain_below: Option<f64>,
    /// A lower completeness makes the check inconclusive.
    pub min_completeness: Option<f64>,
    /// Number of gaps that a rework is asked to close.
    pub max_gaps: Option<u32>,
}

impl JudgeCheck {
    /// Maximum tokens of a response, if none are set.
    pub const RESPONSE_TOKENS: u32 = 2_048;

    /// The tier of the judge of a specialist with this tier, if none is set.
    pub fn tier_above(specialist: Tier) -> Tier {
        match specialist {
            Tier::Small => Tier::Medium,
            Tier::Medium | Tier::Large => Tier::Large,
        }
    }

    /// The same with the values of `defaults` in place of missing ones.
    #[must_use]
    pub fn or(&self, defaults: &JudgeCheck) -> JudgeCheck {
        JudgeCheck {
            tier: self.tier.or(defaults.tier),
            model: self.model.clone().or_else(|| defaults.model.clone()),
            max_tokens: self.max_tokens.or(defaults.max_tokens),
            max_unverified: self.max_unverified.or(defaults.max_unverified),
            min_confidence: self.min_confidence.or(defaults.min_confidence),
            uncertain_below: self.uncertain_below.or(defaults.uncertain_below),
            min_completeness: self.min_completeness.or(defaults.min_completeness),
            max_gaps: self.max_gaps.or(defaults.max_gaps),
        }
    }
}
