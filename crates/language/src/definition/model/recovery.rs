//! What follows a failure: the rows of `recovery:`, and `onError:`.

use super::Delays;
use crate::definition::keys::choices;
use kb_base::diagnostic::Span;
use kb_base::value::{OutcomeSelector, SpecialistId};
use serde::{Deserialize, Serialize};

/// Maximum of an `askUser` row without `max`: a person is asked after each failure.
pub const UNLIMITED_QUESTIONS: u32 = 1000;

choices! {
    /// `onError:`: what the failure of a step means for the run.
    #[derive(Default)]
    pub enum OnError {
        /// The run fails, and steps that need this one are blocked.
        #[default]
        Fail = "fail",
        /// The failure is tolerated: the status stays `failed`, joins count it as succeeded.
        Continue = "continue",
    }
}

/// `do:` of a row of `recovery`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecoveryAction {
    /// Another attempt with the same work, after a delay.
    Retry,
    /// Another attempt of the same specialist, with the evidence of what failed.
    Rework,
    /// A rework with the next tier of the specialist's ladder.
    EscalateModel,
    /// A rework that tells the model to change its approach.
    ChangeStrategy,
    /// A rework by another specialist.
    SwitchSpecialist(SpecialistId),
    /// A person decides whether another attempt follows.
    AskUser,
    /// The step fails; no later row applies.
    Fail,
}

choices! {
    /// A [`RecoveryAction`] without its values, as definitions write it and events record it.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "camelCase")]
    pub enum RecoveryKind {
        /// [`RecoveryAction::Retry`].
        Retry = "retry",
        /// [`RecoveryAction::Rework`].
        Rework = "rework",
        /// [`RecoveryAction::EscalateModel`].
        EscalateModel = "escalateModel",
        /// [`RecoveryAction::ChangeStrategy`].
        ChangeStrategy = "changeStrategy",
        /// [`RecoveryAction::SwitchSpecialist`].
        SwitchSpecialist = "switchSpecialist",
        /// [`RecoveryAction::AskUser`].
        AskUser = "askUser",
        /// [`RecoveryAction::Fail`].
        Fail = "fail",
    }
}

impl RecoveryKind {
    /// Whether it is about the work of a specialist.
    pub(in crate::definition) fn needs_specialist(self) -> bool {
        match self {
            RecoveryKind::Rework
            | RecoveryKind::EscalateModel
            | RecoveryKind::ChangeStrategy
            | RecoveryKind::SwitchSpecialist => true,
            RecoveryKind::Retry | RecoveryKind::AskUser | RecoveryKind::Fail => false,
        }
    }
}

impl RecoveryAction {
    /// The action without its values.
    pub fn kind(&self) -> RecoveryKind {
        match self {
            RecoveryAction::Retry => RecoveryKind::Retry,
            RecoveryAction::Rework => RecoveryKind::Rework,
            RecoveryAction::EscalateModel => RecoveryKind::EscalateModel,
            RecoveryAction::ChangeStrategy => RecoveryKind::ChangeStrategy,
            RecoveryAction::SwitchSpecialist(_) => RecoveryKind::SwitchSpecialist,
            RecoveryAction::AskUser => RecoveryKind::AskUser,
            RecoveryAction::Fail => RecoveryKind::Fail,
        }
    }

    /// Whether the action is pointless after it led to the same failure once. A repeated 429 response
    /// is normal for a retry, an escalation uses another model each time, and a person decides alone.
    pub fn ends_early(&self) -> bool {
        match self {
            RecoveryAction::Rework
            | RecoveryAction::ChangeStrategy
            | RecoveryAction::SwitchSpecialist(_) => true,
            RecoveryAction::Retry
            | RecoveryAction::EscalateModel
            | RecoveryAction::AskUser
            | RecoveryAction::Fail => false,
        }
    }
}

/// A row of `recovery:`.
#[derive(Debug, Clone, PartialEq)]
pub struct RecoveryRule {
    /// Outcomes that the row matches.
    pub on: Vec<OutcomeSelector>,
    /// Action of the row.
    pub action: RecoveryAction,
    /// How often the row applies. Default: 1, for `askUser` 1000.
    pub max: u32,
    /// Delay before the attempt: always for `retry`, for other actions if a key of it is set.
    pub delay: Option<Delays>,
    /// Position of `to`, or of the row.
    pub span: Span,
}
