//! Results of gates: check details and confidence, with the verdict of [`Verdict`].

use super::judgement::FOLLOW_UP;
use super::old_warning::old_warning;
use kb_base::value::{Json, Usage};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

pub use kb_base::value::Verdict;

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

impl Confidence {
    /// The confidence as shown and serialised.
    pub fn as_str(self) -> &'static str {
        match self {
            Confidence::Low => "low",
            Confidence::Medium => "medium",
            Confidence::High => "high",
        }
    }
}

/// The result of one check or claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", from = "StoredDetail")]
pub struct CheckDetail {
    /// Name of the check, such as `file src/**/*.rs` or `claim created src/a.rs`.
    pub check: String,
    /// Result of this check.
    pub verdict: Verdict,
    /// Whether it passed with a warning, like a refuted claim under `claims: warn`.
    pub warning: bool,
    /// Reason of the verdict, a fragment for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Observations, for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Json>,
}

/// The result of a gate with its checks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", from = "StoredVerification")]
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
    /// Tokens and cost of the judge, if the gate has one.
    #[serde(skip_serializing_if = "Usage::is_none")]
    pub usage: Usage,
    /// The data that the verdict was computed from. The journal stores it as a separate record.
    #[serde(skip)]
    pub basis: Option<Arc<Json>>,
}

/// A [`CheckDetail`] in the stored form of this and older versions.
#[derive(Deserialize)]
struct StoredDetail {
    check: String,
    verdict: Verdict,
    warning: Option<bool>,
    reason: Option<String>,
    evidence: Option<Json>,
}

/// A [`Verification`] in the stored form of this and older versions.
#[derive(Deserialize)]
struct StoredVerification {
    verdict: Verdict,
    confidence: Confidence,
    reason: Option<String>,
    checks: Vec<CheckDetail>,
    #[serde(default = "no_usage")]
    usage: Usage,
}

impl From<StoredVerification> for Verification {
    fn from(stored: StoredVerification) -> Verification {
        let StoredVerification { verdict, confidence, mut reason, checks, usage } = stored;
        if verdict == Verdict::Passed {
            strip_warning(&mut reason);
        }
        Verification { verdict, confidence, reason, checks, usage, basis: None }
    }
}

impl From<StoredDetail> for CheckDetail {
    fn from(stored: StoredDetail) -> CheckDetail {
        let StoredDetail { check, verdict, warning, mut reason, evidence } = stored;
        let is_old = warning.is_none() && verdict == Verdict::Passed;
        let warning = warning.unwrap_or(false) || (is_old && strip_warning(&mut reason));
        CheckDetail { check, verdict, warning, reason, evidence }
    }
}

/// Removes the prefix of a warning in a journal of an older version; returns whether there was one.
fn strip_warning(reason: &mut Option<String>) -> bool {
    let stripped = reason.as_deref().and_then(old_warning).map(str::to_owned);
    let was_there = stripped.is_some();
    *reason = stripped.or(reason.take());
    was_there
}

fn no_usage() -> Usage {
    Usage::NONE
}

impl Verification {
    /// The assessment of the judge, if it judged the answer.
    pub fn assessment(&self) -> Option<&Json> {
        let judge = self.checks.iter().find(|check| check.check == "judge")?;
        judge.evidence.as_ref().filter(|seen| seen["judged"] == true)
    }

    /// Whether a judge found gaps in an incomplete answer that a rework is asked to close.
    pub(crate) fn asks_for_follow_up(&self) -> bool {
        let gaps = self.assessment().and_then(|found| found[FOLLOW_UP].as_array());
        gaps.is_some_and(|gaps| !gaps.is_empty())
    }

    /// Combines checks: the worst verdict wins, `failed` before `inconclusive` before `passed`.
    pub fn of(confidence: Confidence, checks: Vec<CheckDetail>) -> Self {
        let verdict = checks.iter().map(|c| c.verdict).max().unwrap_or(Verdict::Passed);
        let decides =
            |c: &&CheckDetail| c.verdict == verdict && (verdict != Verdict::Passed || c.warning);
        let first = checks.iter().find(decides);
        let reason = first.map(|c| c.reason.clone().unwrap_or_else(|| c.check.clone()));
        Verification { verdict, confidence, reason, checks, usage: Usage::NONE, basis: None }
    }
}
