//! Suggestions of what can follow a failure.

use super::{Failure, Json};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One suggestion of what can follow a failure. Nothing acts on it: a recovery table decides by outcomes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecoveryHint {
    /// What to do.
    pub action: HintAction,
    /// How, as a lower-case fragment.
    pub note: String,
}

/// What a [`RecoveryHint`] suggests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HintAction {
    /// The same work again.
    Retry,
    /// The same work by a larger model.
    EscalateModel,
    /// Another way to do the work.
    ChangeStrategy,
    /// The work by another specialist.
    SwitchSpecialist,
    /// A person has to change or decide something.
    AskUser,
}

impl HintAction {
    /// The name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            HintAction::Retry => "retry",
            HintAction::EscalateModel => "escalate_model",
            HintAction::ChangeStrategy => "change_strategy",
            HintAction::SwitchSpecialist => "switch_specialist",
            HintAction::AskUser => "ask_user",
        }
    }
}

impl RecoveryHint {
    /// A suggestion.
    pub fn new(action: HintAction, note: impl Into<String>) -> RecoveryHint {
        RecoveryHint { action, note: note.into() }
    }
}

impl Failure {
    /// The suggestions in the report of a specialist; none in any other failure.
    pub fn reported_hints(&self) -> Vec<RecoveryHint> {
        let list = self.details.as_ref().and_then(|details| details.get("suggestedNext"));
        let list = list.and_then(Json::as_array).into_iter().flatten();
        list.filter_map(|hint| RecoveryHint::deserialize(hint).ok()).collect()
    }
}
