//! The outcome and failure of an attempt whose model call failed: a rate limit (429) or an overload is
//! transient, a wrong key or request is not.

use super::ModelError;
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, OutcomeKind};

impl ModelError {
    /// The outcome of the attempt.
    pub fn outcome(&self) -> OutcomeKind {
        match self {
            ModelError::Unreachable { .. } | ModelError::Transient { .. } => OutcomeKind::Transient,
            ModelError::Timeout { .. } => OutcomeKind::Timeout,
            ModelError::Cancelled => OutcomeKind::Cancelled,
            ModelError::Refused { .. }
            | ModelError::NoModel { .. }
            | ModelError::ScriptEnded { .. } => OutcomeKind::Unknown,
        }
    }

    /// Whether the model has not worked: it was not reached, or its provider refused the call.
    pub fn is_free(&self) -> bool {
        match self {
            ModelError::Unreachable { .. }
            | ModelError::Refused { .. }
            | ModelError::NoModel { .. }
            | ModelError::ScriptEnded { .. }
            | ModelError::Transient { status: Some(_), .. } => true,
            ModelError::Transient { status: None, .. }
            | ModelError::Timeout { .. }
            | ModelError::Cancelled => false,
        }
    }

    /// The failure with its code and, if one is known, the fix.
    pub fn failure(&self) -> Failure {
        let failure = |code: Code| Failure::new(code, self.to_string());
        match self {
            ModelError::NoModel { help, .. } => failure(Code::NO_MODEL).help(help),
            ModelError::Unreachable { .. } | ModelError::Transient { .. } => {
                failure(Code::MODEL_BUSY).help(
                    "`kb doctor --call` tests each tier with one small call; the endpoint comes from \
                     `llm.tiers` in the settings or from the environment",
                )
            }
            ModelError::Timeout { .. } => failure(Code::MODEL_TIMEOUT)
                .help(
                "raise `limits.timeout` of the specialist (5 minutes without it) and `timeout` of the \
                 step, if it has one; or lower `llm.maxTokens` of the specialist, or use a faster model",
            ),
            ModelError::Refused { .. } => failure(Code::MODEL_REFUSED)
                .help("`kb doctor --call` tests each tier with one small call"),
            ModelError::ScriptEnded { .. } => {
                failure(Code::SCRIPT_ENDED).help("add the turn to the script")
            }
            ModelError::Cancelled => failure(Code::ATTEMPT_FAILED),
        }
    }
}
