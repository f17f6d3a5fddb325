use crate::value::{Json, WARNING};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// What a gate says (000 §18.4). Better an honest `inconclusive` than a false `passed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Proof was found for everything that was asked.
    Passed,
    /// Evidence is missing or cannot be had.
    Inconclusive,
    /// Proof contradicts.
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

/// How good the proof is: `high` re-checked on disk, `medium` a receipt, `low` somebody's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// Somebody's word.
    Low,
    /// A receipt.
    Medium,
    /// Seen on disk.
    High,
}

/// One check of a gate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckDetail {
    /// What was checked, such as `file src/**/*.rs` or `claim created src/a.rs`.
    pub check: String,
    /// What came out.
    pub verdict: Verdict,
    /// Why; a fragment for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What was observed, for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Json>,
}

/// What a gate found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Verification {
    /// The worst of its checks.
    pub verdict: Verdict,
    /// The weakest of the proofs.
    pub confidence: Confidence,
    /// The first reason that is not `passed`; of a pass, the first warning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Each check, in order.
    pub checks: Vec<CheckDetail>,
    /// What it was found from, on its way to the journal, which keeps it as a record of its own.
    #[serde(skip)]
    pub basis: Option<Arc<Json>>,
}

impl CheckDetail {
    /// Whether it passed with a warning, as a refuted claim does under `claims: warn`.
    pub fn warns(&self) -> bool {
        let warned = self.reason.as_deref().is_some_and(|reason| reason.starts_with(WARNING));
        self.verdict == Verdict::Passed && warned
    }
}

impl Verification {
    /// The verdict over these checks: `failed` outweighs `inconclusive` outweighs `passed`.
    pub fn of(confidence: Confidence, checks: Vec<CheckDetail>) -> Self {
        let verdict = checks.iter().map(|c| c.verdict).max().unwrap_or(Verdict::Passed);
        let speaks =
            |c: &&CheckDetail| c.verdict == verdict && (verdict != Verdict::Passed || c.warns());
        let told = checks.iter().find(speaks);
        let reason = told.map(|c| c.reason.clone().unwrap_or_else(|| c.check.clone()));
        Verification { verdict, confidence, reason, checks, basis: None }
    }
}
