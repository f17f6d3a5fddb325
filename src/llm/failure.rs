use super::ModelError;
use crate::value::{Failure, OutcomeKind};

impl ModelError {
    /// How an attempt ends that gets no answer.
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

    /// The failure with its code and, where one is known, the mend.
    pub fn failure(&self) -> Failure {
        let failure = |code: &str| Failure::new(code, self.to_string());
        match self {
            ModelError::NoModel { help, .. } => failure("KB0701").help(help),
            ModelError::Transient { .. } => {
                failure("KB0702").help(
                "`kb doctor --call` tries each tier with one small call; the endpoint is the one of \
                 `llm.tiers` in the settings or of the environment",
            )
            }
            ModelError::Timeout { .. } => {
                failure("KB0703").help("raise the step's `timeout` or lower `llm.maxTokens`")
            }
            ModelError::Refused { .. } => {
                failure("KB0704").help("`kb doctor --call` tries each tier with one small call")
            }
            ModelError::ScriptEnded { .. } => failure("KB0705").help("add that turn to the script"),
            ModelError::Cancelled => failure("KB0501"),
        }
    }
}
