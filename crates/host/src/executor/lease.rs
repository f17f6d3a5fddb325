//! The outcome of an attempt whose records are refused.

use kb_attempt::Outcome;
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, OutcomeKind};

/// Another process owns the lease of the run, so this outcome is not recorded.
pub(super) fn lease_lost() -> Outcome {
    let failure = Failure::new(Code::ATTEMPT_FAILED, "another process owns the lease of the run");
    Outcome::failed(OutcomeKind::Cancelled, failure)
}
