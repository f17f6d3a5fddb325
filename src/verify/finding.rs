//! The verdict over one check or claim, before it has a name.

use crate::evidence::Verdict;

/// A verdict with its reason; a pass has none.
pub(super) struct Finding {
    pub(super) verdict: Verdict,
    pub(super) reason: Option<String>,
}

impl Finding {
    pub(super) fn passed() -> Finding {
        Finding { verdict: Verdict::Passed, reason: None }
    }

    pub(super) fn failed(reason: impl Into<String>) -> Finding {
        Finding { verdict: Verdict::Failed, reason: Some(reason.into()) }
    }

    pub(super) fn inconclusive(reason: impl Into<String>) -> Finding {
        Finding { verdict: Verdict::Inconclusive, reason: Some(reason.into()) }
    }
}
