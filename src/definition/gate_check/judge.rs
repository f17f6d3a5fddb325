//! `judge:`: a model reviews the output. Not supported yet; a gate with it is inconclusive.

use super::spec::CheckKind;
use crate::definition::keys::{KeySpec, KeyType, key};
use crate::definition::syntax::{Decoder, Fields, Node};
use crate::expression::Reference;

/// A `judge` check.
#[derive(Debug, Clone)]
pub struct JudgeCheck;

impl CheckKind for JudgeCheck {
    const NAME: &'static str = "judge";
    const KEYS: &'static [KeySpec] = &[key(
        "judge",
        KeyType::Any,
        "A model reviews the output. A gate with this check is inconclusive.",
    )
    .example("{minConfidence: 0.6}")
    .gate_inconclusive()];

    fn decode(_: &Node, _: &Fields<'_>, _: &mut Decoder) -> Option<JudgeCheck> {
        Some(JudgeCheck)
    }

    fn references(&self) -> Vec<Vec<&Reference>> {
        Vec::new()
    }

    fn reads_changes(&self) -> bool {
        false
    }
}
