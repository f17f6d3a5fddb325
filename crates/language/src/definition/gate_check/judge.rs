//! `judge:`: a larger model reviews the answer of a specialist.

use super::spec::CheckKind;
use crate::definition::keys::KeyType::{Choice, Integer, Map, Number, Text};
use crate::definition::keys::choices::{TIER, TIER_NAMES};
use crate::definition::keys::{KeySpec, KeyTable, key, table};
use crate::definition::model::JudgeCheck;
use crate::definition::syntax::{Decoder, Fields, Node};
use crate::expression::Reference;

/// The keys of a `judge` check and of `verifier.judge`.
pub(crate) static JUDGE: KeyTable = table(
    "judge",
    "`judge`",
    "The review of an answer by a larger model. It can lower a verdict, never raise one.",
    &[JUDGE_KEYS],
);

const JUDGE_KEYS: &[KeySpec] = &[
    key("tier", Choice(TIER_NAMES), "Tier of the judge.")
        .default("one above that of the specialist"),
    key("model", Text, "Model of the judge; takes precedence over `tier`.").example("gpt-4o"),
    key(
        "maxTokens",
        Integer(1, u32::MAX),
        "Maximum tokens of the response of the judge, with its reasoning.",
    )
    .default("2048"),
    key(
        "maxUnverified",
        Integer(0, u32::MAX),
        "More names than this that no tool result confirms refute the answer.",
    )
    .default("3"),
    key("minConfidence", Number(0.0, 1.0), "A lower confidence refutes the answer.").default("0.4"),
    key("uncertainBelow", Number(0.0, 1.0), "A lower confidence makes the check inconclusive.")
        .default("0.6"),
    key(
        "minCompleteness",
        Number(0.0, 1.0),
        "A lower completeness makes the check inconclusive, after one rework for the gaps.",
    )
    .default("0.6"),
    key("maxGaps", Integer(0, 100), "Number of gaps that a rework is asked to close.").default("2"),
];

/// Decodes a `judge` check or `verifier.judge`.
pub(crate) fn judge(node: &Node, decoder: &mut Decoder) -> Option<JudgeCheck> {
    let fields = decoder.fields(node, &JUDGE)?;
    Some(JudgeCheck {
        tier: fields.choice("tier", TIER, decoder),
        model: fields.text("model", decoder),
        max_tokens: fields.integer("maxTokens", decoder),
        max_unverified: fields.integer("maxUnverified", decoder),
        min_confidence: fields.number("minConfidence", decoder),
        uncertain_below: fields.number("uncertainBelow", decoder),
        min_completeness: fields.number("minCompleteness", decoder),
        max_gaps: fields.integer("maxGaps", decoder),
    })
}

impl CheckKind for JudgeCheck {
    const NAME: &'static str = "judge";
    const KEYS: &'static [KeySpec] =
        &[key("judge", Map(&JUDGE), "A larger model reviews the answer of the specialist.")
            .example("{minConfidence: 0.6}")];

    fn decode(node: &Node, _: &Fields<'_>, decoder: &mut Decoder) -> Option<JudgeCheck> {
        judge(node, decoder)
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
