//! The outcome and failure of an attempt whose model call failed.

use super::ModelError;
use crate::value::{Failure, OutcomeKind};

impl ModelError {
    /// The outcome of the attempt.
    pub fn outcome(&self) -> OutcomeKind {
        match self {
            ModelError::Transient { .. } => OutcomeKind::Transient,
            ModelError::Timeout { .. } => OutcomeKind::Timeout,
            ModelError::Cancelled => OutcomeKind::Cancelled,
            ModelError::Refused { .. }
            | ModelError::NoModel { .. }
            | ModelError::ScriptEnded { .. } => OutcomeKind::Unknown,
        }
    }

    /// The failure with its code and, if one is known, the fix.
    pub fn failure(&self) -> Failure {
        let failure = |code: &str| Failure::new(code, self.to_string());
        match self {
            ModelError::NoModel { help, .. } => failure("KB0701").help(help),
            ModelError::Transient { .. } => failure("KB0702").help(
                "`kb doctor --call` tests each tier with one small call; the endpoint comes from \
                 `llm.tiers` in the settings or from the environment",
            ),
            ModelError::Timeout { .. } => {
                failure("KB0703").help("raise `timeout` of the step or lower `llm.maxTokens`")
            }
            ModelError::Refused { .. } => {
                failure("KB0704").help("`kb doctor --call` tests each tier with one small call")
            }
            ModelError::ScriptEnded { .. } => failure("KB0705").help("add the turn to the script"),
            ModelError::Cancelled => failure("KB0501"),
        }
    }
}
