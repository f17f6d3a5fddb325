//! Results of gates: check details and confidence, with the verdict of [`Verdict`].

use super::judgement::FOLLOW_UP;
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
#[serde(rename_all = "camelCase")]
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
    /// Tokens and cost of the judge, if the gate has one.
    #[serde(default = "no_usage", skip_serializing_if = "Usage::is_none")]
    pub usage: Usage,
    /// The data that the verdict was computed from. The journal stores it as a separate record.
    #[serde(skip)]
    pub basis: Option<Arc<Json>>,
}

/// The check whether a step that is there to change files changed some.
pub const CHANGES: &str = "changes";
/// The field of the evidence of that check which says that a specialist took refuted claims back.
pub const WORK_NOT_DONE: &str = "workNotDone";

/// The reason of a gate without any check.
const NOTHING_TO_CHECK: &str = "the output claims nothing, and the step has no checks";

fn no_usage() -> Usage {
    Usage::NONE
}

impl Verification {
    /// The assessment of the judge, if it judged the answer.
    pub fn assessment(&self) -> Option<&Json> {
        let judge = self.checks.iter().find(|check| check.check == "judge")?;
        judge.evidence.as_ref().filter(|seen| seen["judged"] == true)
    }

    /// Whether all that was checked holds, also if something of the output was left unchecked.
    pub fn holds(&self) -> bool {
        let mut checked = self.checks.iter().map(|check| check.verdict);
        self.checks.iter().all(|check| check.verdict <= Verdict::Passed)
            && checked.any(|verdict| verdict == Verdict::Passed)
    }

    /// Whether a judge found gaps in an incomplete answer that a rework is asked to close.
    pub(crate) fn asks_for_follow_up(&self) -> bool {
        let gaps = self.assessment().and_then(|found| found[FOLLOW_UP].as_array());
        gaps.is_some_and(|gaps| !gaps.is_empty())
    }

    /// Why the work is not done although nothing refutes the output: after a refuted attempt the specialist takes its claims
    /// back.
    pub(crate) fn work_not_done(&self) -> Option<&str> {
        let found = self.checks.iter().find(|check| check.check == CHANGES)?;
        let is_not_done = found.evidence.as_ref().is_some_and(|seen| seen[WORK_NOT_DONE] == true);
        found.reason.as_deref().filter(|_| is_not_done && self.verdict == Verdict::Inconclusive)
    }

    /// The verdict if something of the output was not checked: then a gate does not pass.
    pub(crate) fn lowered_by(mut self, unread: CheckDetail) -> Self {
        if self.verdict == Verdict::Passed || self.checks.is_empty() {
            self.verdict = Verdict::Unchecked;
            self.reason.clone_from(&unread.reason);
        }
        self.checks.push(unread);
        self
    }

    /// Combines checks: `failed` wins before `inconclusive` before `passed`. A gate in which nothing passed
    /// and nothing was refuted or doubted is `unchecked`.
    pub fn of(confidence: Confidence, checks: Vec<CheckDetail>) -> Self {
        let verdict = checks.iter().map(|c| c.verdict).max().unwrap_or(Verdict::Unchecked);
        let decides =
            |c: &&CheckDetail| c.verdict == verdict && (verdict != Verdict::Passed || c.warning);
        let first = checks.iter().find(decides);
        let reason = first.map(|c| c.reason.clone().unwrap_or_else(|| c.check.clone()));
        let nothing = || (verdict == Verdict::Unchecked).then(|| NOTHING_TO_CHECK.to_owned());
        let reason = reason.or_else(nothing);
        Verification { verdict, confidence, reason, checks, usage: Usage::NONE, basis: None }
    }
}
