//! The verdict of a gate.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The result of a gate. A gate that cannot decide is `inconclusive`, and one that left something of the output
/// unchecked, or found nothing to check, is `unchecked`; neither is `passed`.
///
/// The order is that of the combination of checks: the last one wins, so a check that checked nothing
/// changes nothing.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Nothing was checked, or something of the output was not.
    Unchecked,
    /// Every check and every statement of the output is proven.
    Passed,
    /// Evidence is missing or cannot be obtained.
    Inconclusive,
    /// A check or claim is refuted.
    Failed,
}

impl Verdict {
    /// All verdicts, in the order of their declaration.
    pub const ALL: [Verdict; 4] =
        [Verdict::Unchecked, Verdict::Passed, Verdict::Inconclusive, Verdict::Failed];

    /// The verdict as shown and serialised.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Unchecked => "unchecked",
            Verdict::Passed => "passed",
            Verdict::Inconclusive => "inconclusive",
            Verdict::Failed => "failed",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
