//! `judge:`: a larger model reviews the answer of a specialist.

use super::spec::CheckKind;
use crate::definition::keys::KeyType::{self, Integer, Map, Number};
use crate::definition::keys::{KeySpec, key, keys};
use crate::definition::syntax::{Decoder, Fields, Node};
use crate::expression::Reference;
use kb_base::value::Tier;

keys! {
    /// The review of an answer by a larger model. It can lower a verdict, never raise one.
    pub struct JudgeCheck(Debug, Clone, PartialEq, Default): JUDGE = ("judge", "`judge`") {
        /// Tier of the judge.
        tier: Option<Tier> = "tier", default("one above that of the specialist");
        /// Model of the judge; takes precedence over `tier`.
        model: Option<String> = "model", example("gpt-4o");
        /// Maximum tokens of the response of the judge, with its reasoning.
        max_tokens: Option<u32> = "maxTokens" as Integer(1, u32::MAX), default("2048");
        /// More names than this that no tool result confirms refute the answer.
        max_unverified: Option<u32> = "maxUnverified", default("3");
        /// A lower confidence refutes the answer.
        min_confidence: Option<f64> = "minConfidence" as SHARE, default("0.4");
        /// A lower confidence makes the check inconclusive.
        uncertain_below: Option<f64> = "uncertainBelow" as SHARE, default("0.6");
        /// A lower completeness makes the check inconclusive, after one rework for the gaps.
        min_completeness: Option<f64> = "minCompleteness" as SHARE, default("0.6");
        /// Number of gaps that a rework is asked to close.
        max_gaps: Option<u32> = "maxGaps" as Integer(0, 100), default("2");
    }
}

const SHARE: KeyType = Number(0.0, 1.0);

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

impl CheckKind for JudgeCheck {
    const NAME: &'static str = "judge";
    const KEYS: &'static [KeySpec] =
        &[key("judge", Map(&JUDGE), "A larger model reviews the answer of the specialist.")
            .example("{minConfidence: 0.6}")];

    fn decode(node: &Node, _: &Fields<'_>, decoder: &mut Decoder) -> Option<JudgeCheck> {
        JudgeCheck::from_node(node, decoder)
    }

    fn references(&self) -> Vec<Vec<&Reference>> {
        Vec::new()
    }

    fn reads_changes(&self) -> bool {
        false
    }

    fn needs_work(&self) -> Option<&'static str> {
        Some("judge")
    }
}
