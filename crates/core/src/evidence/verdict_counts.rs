//! How often the gates of a run reached each verdict.

use super::Verdict;
use serde::{Deserialize, Serialize};

/// The last verdicts of the gates of a run and of its child runs, by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VerdictCounts {
    /// Number of gates that passed.
    pub passed: u32,
    /// Number of gates that failed.
    pub failed: u32,
    /// Number of gates that could not decide.
    pub inconclusive: u32,
    /// Number of gates that left something of the output unchecked.
    #[serde(skip_serializing_if = "is_zero")]
    pub unchecked: u32,
    /// Number of steps and items that succeeded although their gate did not pass.
    #[serde(skip_serializing_if = "is_zero")]
    pub unproven: u32,
}

impl VerdictCounts {
    /// Counts one verdict of a step or item.
    pub fn add(&mut self, verdict: Verdict, succeeded: bool) {
        let count = match verdict {
            Verdict::Passed => &mut self.passed,
            Verdict::Failed => &mut self.failed,
            Verdict::Inconclusive => &mut self.inconclusive,
            Verdict::Unchecked => &mut self.unchecked,
        };
        *count += 1;
        self.unproven += u32::from(succeeded && verdict != Verdict::Passed);
    }

    /// Adds the verdicts of a child run.
    pub fn merge(&mut self, other: VerdictCounts) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.inconclusive += other.inconclusive;
        self.unchecked += other.unchecked;
        self.unproven += other.unproven;
    }

    /// Whether there was no gate.
    pub fn is_empty(&self) -> bool {
        *self == VerdictCounts::default()
    }

    /// The counts, unless there was no gate.
    pub fn some(self) -> Option<VerdictCounts> {
        (!self.is_empty()).then_some(self)
    }
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}
