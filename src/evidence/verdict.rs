//! Results of gates: verdicts, check details and confidence.

use crate::value::{Json, WARNING};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// The result of a gate. A gate that cannot decide is `inconclusive`, never `passed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Every check and claim is proven.
    Passed,
    /// Evidence is missing or cannot be obtained.
    Inconclusive,
    /// A check or claim is refuted.
    Failed,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Verdict::Passed => "passed",
            Verdict::Inconclusive => "inconclusive",
            Verdict::Failed => "failed",
        })
    }
}

/// How strong the proof of a verdict is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// Only statements of the output.
    Low,
    /// A mix of statements and observations.
    Medium,
    /// Observed on disk or by running a command.
    High,
}

/// The result of one check or claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckDetail {
    /// Name of the check, such as `file src/**/*.rs` or `claim created src/a.rs`.
    pub check: String,
    /// Result of this check.
    pub verdict: Verdict,
    /// Reason of the verdict, a fragment for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Observations, for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Json>,
}

/// The result of a gate with its checks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Verification {
    /// The worst verdict of the checks.
    pub verdict: Verdict,
    /// The weakest confidence of the checks.
    pub confidence: Confidence,
    /// Reason of the first check with this verdict; for `passed`, the first warning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// All checks and claims, in order.
    pub checks: Vec<CheckDetail>,
    /// The data that the verdict was computed from. The journal stores it as a separate record.
    #[serde(skip)]
    pub basis: Option<Arc<Json>>,
}

impl CheckDetail {
    /// Whether the check passed with a warning, like a refuted claim under `claims: warn`.
    pub fn warns(&self) -> bool {
        let warned = self.reason.as_deref().is_some_and(|reason| reason.starts_with(WARNING));
        self.verdict == Verdict::Passed && warned
    }
}

impl Verification {
    /// Combines checks: the worst verdict wins, `failed` before `inconclusive` before `passed`.
    pub fn of(confidence: Confidence, checks: Vec<CheckDetail>) -> Self {
        let verdict = checks.iter().map(|c| c.verdict).max().unwrap_or(Verdict::Passed);
        let decides =
            |c: &&CheckDetail| c.verdict == verdict && (verdict != Verdict::Passed || c.warns());
        let first = checks.iter().find(decides);
        let reason = first.map(|c| c.reason.clone().unwrap_or_else(|| c.check.clone()));
        Verification { verdict, confidence, reason, checks, basis: None }
    }
}
