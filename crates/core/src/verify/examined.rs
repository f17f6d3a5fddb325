//! The checks of a gate over its observations, and the verdict that they give.

use super::check::JUDGE;
use crate::evidence::{CheckDetail, Confidence, Verdict, Verification};

/// The checks of a gate over its observations. A judge reads them before it replies; its reply changes only its own
/// checks ([`super::ParsedGate::with_reply`]).
pub struct Examined {
    pub(super) details: Vec<CheckDetail>,
    /// Where the details of the criteria begin.
    pub(super) criteria_at: usize,
    /// What statements of the output leave open or get wrong.
    pub(super) stated: Option<CheckDetail>,
    /// What of the output was not checked.
    pub(super) unread: Option<CheckDetail>,
    /// The confidence if no check warns.
    pub(super) confidence: Confidence,
}

impl Examined {
    /// The checks that count. Beside a check that refutes or doubts, further doubt about statements says nothing new.
    pub(super) fn checks(&self) -> impl Iterator<Item = &CheckDetail> {
        let accepted = |detail: &CheckDetail| detail.verdict <= Verdict::Passed && !detail.warning;
        let accepted = self.details.iter().all(accepted);
        let stated = self.stated.iter();
        let stated = stated.filter(move |detail| accepted || detail.verdict == Verdict::Failed);
        self.details.iter().chain(stated)
    }

    /// Whether no check refutes or doubts.
    pub(super) fn accepts(&self) -> bool {
        self.checks().all(|detail| detail.verdict <= Verdict::Passed)
    }

    /// Whether a judge accepts the answer.
    pub(super) fn is_judged(&self) -> bool {
        self.details.iter().any(|detail| detail.check == JUDGE && detail.verdict == Verdict::Passed)
    }

    /// The checks that count, combined; what was not checked lowers it.
    pub fn verdict(self) -> Verification {
        let checks: Vec<CheckDetail> = self.checks().cloned().collect();
        // A refuted claim that passes rests only on the statement of the output.
        let warned = checks.iter().any(|detail| detail.warning);
        let confidence = if warned { Confidence::Low } else { self.confidence };
        let verification = Verification::of(confidence, checks);
        match self.unread {
            Some(unread) => verification.lowered_by(unread),
            None => verification,
        }
    }
}
