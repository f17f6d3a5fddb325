//! `orchestrator`: planning, and the limits of model escalation.

use crate::definition::keys::KeyType::{Integer, ListOrOne, Map, MapOf, Number};
use crate::definition::keys::{choice, settings};
use crate::definition::model::DelegationLimits;
use crate::definition::syntax::{Decoder, Key, Node};
use kb_base::diagnostic::Span;
use kb_base::value::Tier;
use std::collections::BTreeMap;

settings! {
    /// Planning and escalation.
    pub struct OrchestratorSettings(Debug, Clone, PartialEq): ORCHESTRATOR_KEYS = ("orchestrator", "`orchestrator`") {
        /// Limits of model escalation.
        [inner] escalation: EscalationLimits = "escalation" as Map(&ESCALATION) => escalation,
            example("{maxEscalationsPerSpecialist: 2}");
        /// A plan of `kb do` with a lower confidence is not run before a person has approved it, not even with `--yes`.
        [higher] min_confidence: Option<f64> = "minConfidence" as Number(0.0, 1.0), default("0.5");
        /// How often the planner of `kb do` may replace steps of a plan whose run failed; 0: never.
        [lower] max_revisions: Option<u32> = "maxRevisions" as Integer(0, 5), default("1");
        /// Levels of runs below a run in which specialists can delegate tasks; 0: none.
        [lower] max_depth: Option<u32> = "maxDepth" as Integer(0, 16), default("5");
        /// Tasks that one attempt of a specialist can delegate.
        [lower] max_fanout: Option<u32> = "maxFanout" as Integer(0, 100), default("5");
    }

    /// Limits of model escalation.
    pub struct EscalationLimits(Debug, Clone, PartialEq): ESCALATION = ("escalation", "`escalation`") {
        /// Maximum escalations of one specialist in a run.
        [own] per_specialist: Option<u32> = "maxEscalationsPerSpecialist";
        /// A run does not escalate to the large tier after so many attempts with it.
        [own] large_uses: Option<u32> = "maxLargeTierUsesPerRun";
        /// Maximum cost of a run in US dollars.
        [own] max_cost_usd: Option<f64> = "maxCostUsdPerRun" as Number(0.0, f64::INFINITY);
        /// Cost in US dollars from which a run warns.
        [own] warn_cost_usd: Option<f64> = "warnCostUsdThreshold" as Number(0.0, f64::INFINITY);
        /// Shares of the budget of a run in percent, by specialist id; `orchestrator` is the share of judges and summaries.
        [own] shares: BTreeMap<String, u32> = "budgetAllocation" as MapOf(&Integer(0, 100)) => shares,
            example("{implementer: 60, orchestrator: 10}");
        /// Tiers to escalate through, by specialist id.
        [own] ladders: BTreeMap<String, Vec<Tier>> = "defaultLadder" as MapOf(const { &ListOrOne(const { &choice::<Tier>() }) }) => ladders,
            example("{implementer: [medium, large]}");
    } plus {
        /// Where `budgetAllocation` and `defaultLadder` name specialists.
        named: Vec<(String, Span)>,
    }
}

impl OrchestratorSettings {
    /// How often a plan whose run failed is revised.
    pub fn revisions(&self) -> u32 {
        self.max_revisions.unwrap_or(1)
    }

    /// How far specialists can delegate.
    pub fn delegation(&self) -> DelegationLimits {
        let limit = |own: Option<u32>| own.unwrap_or(5);
        DelegationLimits { depth: limit(self.max_depth), fanout: limit(self.max_fanout) }
    }
}

/// The share of calls that no specialist makes.
pub(crate) const ORCHESTRATOR: &str = "orchestrator";

fn escalation(node: &Node, _: &str, decoder: &mut Decoder) -> EscalationLimits {
    let Some(fields) = decoder.fields(node, &ESCALATION) else { return Default::default() };
    let Some(mut found) = EscalationLimits::of(&fields, decoder) else { return Default::default() };
    let names = |key| fields.get(key).and_then(Node::as_map).into_iter().flatten();
    let shares = names("budgetAllocation").filter(|(key, _)| key.text != ORCHESTRATOR);
    let named = shares.chain(names("defaultLadder"));
    found.named = named.map(|(key, _)| (key.text.to_string(), key.span)).collect();
    found
}

fn ladders(node: &Node, _: &str, decoder: &mut Decoder) -> BTreeMap<String, Vec<Tier>> {
    let Some(entries) = node.as_map() else {
        decoder.wrong_type(node, "defaultLadder", "a map from specialists to tiers");
        return BTreeMap::new();
    };
    let ladder =
        |(key, node): &(Key, Node)| (key.text.to_string(), decoder.ladder(node, &key.text));
    entries.iter().map(ladder).collect()
}

/// Decodes `budgetAllocation`: percentages that are at most 100 together.
fn shares(node: &Node, _: &str, decoder: &mut Decoder) -> BTreeMap<String, u32> {
    let Some(entries) = node.as_map() else {
        decoder.wrong_type(node, "budgetAllocation", "a map from specialists to percentages");
        return BTreeMap::new();
    };
    let percent = |(key, node): &(Key, Node)| {
        Some((key.text.to_string(), decoder.integer(node, &key.text, 0, 100)?))
    };
    let shares: BTreeMap<String, u32> = entries.iter().filter_map(percent).collect();
    let sum: u32 = shares.values().sum();
    if sum > 100 {
        let message = format!("the shares of `budgetAllocation` add up to {sum} %");
        decoder.bad_value(node.span, message, "lower them to at most 100 % together".to_owned());
    }
    shares
}
