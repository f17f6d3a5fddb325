//! The public form of counted verdicts.

use crate::evidence::VerdictCounts;
use schemars::JsonSchema;
use serde::Serialize;

/// The verdicts of the gates of a child run and of the runs below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerdictsView {
    /// Number of gates that passed.
    pub passed: u32,
    /// Number of gates that failed.
    pub failed: u32,
    /// Number of gates that could not decide.
    pub inconclusive: u32,
    /// Number of gates that left something of the output unchecked.
    pub unchecked: u32,
    /// Number of steps and items that succeeded although their gate did not pass.
    pub unproven: u32,
}

impl From<VerdictCounts> for VerdictsView {
    fn from(counts: VerdictCounts) -> Self {
        let VerdictCounts { passed, failed, inconclusive, unchecked, unproven } = counts;
        VerdictsView { passed, failed, inconclusive, unchecked, unproven }
    }
}
