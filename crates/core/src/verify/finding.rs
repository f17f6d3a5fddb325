//! The verdict over one check or claim, before it has a name.

use crate::evidence::{CheckDetail, Verdict};
use kb_base::value::Json;
use kb_language::definition::ClaimPolicy;

/// A verdict with its reason; a pass has one only if it is a warning.
#[derive(Clone)]
pub(super) struct Finding {
    pub(super) verdict: Verdict,
    pub(super) reason: Option<String>,
    /// Whether it is a refuted claim that passes with a warning.
    pub(super) warning: bool,
}

impl Finding {
    pub(super) fn passed() -> Finding {
        Finding { verdict: Verdict::Passed, reason: None, warning: false }
    }

    pub(super) fn failed(reason: impl Into<String>) -> Finding {
        Finding { verdict: Verdict::Failed, reason: Some(reason.into()), warning: false }
    }

    pub(super) fn unchecked(reason: impl Into<String>) -> Finding {
        Finding { verdict: Verdict::Unchecked, reason: Some(reason.into()), warning: false }
    }

    pub(super) fn inconclusive(reason: impl Into<String>) -> Finding {
        Finding { verdict: Verdict::Inconclusive, reason: Some(reason.into()), warning: false }
    }

    /// Under `claims: warn` a refuted claim passes with a warning.
    pub(super) fn under(self, policy: ClaimPolicy) -> Finding {
        if policy != ClaimPolicy::Warn || self.verdict != Verdict::Failed {
            return self;
        }
        Finding { verdict: Verdict::Passed, warning: true, ..self }
    }

    /// The same verdict with another reason.
    pub(super) fn with_reason(self, reason: String) -> Finding {
        Finding { reason: Some(reason), ..self }
    }

    /// The same finding as the result of the check with this name.
    pub(super) fn into_detail(self, check: String, evidence: Option<Json>) -> CheckDetail {
        let Finding { verdict, reason, warning } = self;
        CheckDetail { check, verdict, warning, reason, evidence }
    }

    /// A failure or a pass is only doubt, because what stands beside the claim can mean that it `was not done`, or the like.
    pub(super) fn doubted_as(self, denial: &str) -> Finding {
        let known = match self.verdict {
            Verdict::Passed => "the record has it, and",
            Verdict::Failed => match &self.reason {
                Some(reason) => &format!("{reason};"),
                None => return self,
            },
            Verdict::Unchecked | Verdict::Inconclusive => return self,
        };
        Finding::inconclusive(format!("{known} what stands beside it can mean that it {denial}"))
    }
}
