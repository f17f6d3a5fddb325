//! `diff:`: limits which files may change. Not supported yet; a gate with it is inconclusive.

use super::spec::CheckKind;
use crate::definition::keys::{KeySpec, KeyType, key};
use crate::definition::syntax::{Decoder, Fields, Node};
use crate::expression::Reference;

/// A `diff` check.
#[derive(Debug, Clone)]
pub struct DiffCheck;

impl CheckKind for DiffCheck {
    const NAME: &'static str = "diff";
    const KEYS: &'static [KeySpec] = &[key(
        "diff",
        KeyType::Any,
        "Limits which files may change. A gate with this check is inconclusive.",
    )
    .example("{only: [\"src/**\"], maxFiles: 10}")
    .gate_inconclusive()];

    fn decode(_: &Node, _: &Fields<'_>, _: &mut Decoder) -> Option<DiffCheck> {
        Some(DiffCheck)
    }

    fn references(&self) -> Vec<Vec<&Reference>> {
        Vec::new()
    }

    fn reads_changes(&self) -> bool {
        false
    }
}
