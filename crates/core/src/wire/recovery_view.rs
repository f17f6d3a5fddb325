//! The public form of a recovery.

use kb_base::value::OutcomeKind;
use kb_language::definition::RecoveryKind;
use schemars::JsonSchema;
use serde::Serialize;

/// A row of the recovery table that was applied.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecoveryView {
    /// Outcome of the failed attempt.
    #[serde(serialize_with = "super::body_type::by_name")]
    #[schemars(with = "String")]
    pub outcome: OutcomeKind,
    /// Action of the row: `retry`, `rework`, …
    #[schemars(with = "String")]
    pub row: RecoveryKind,
    /// How often the row has been applied, including now.
    pub taken: u32,
    /// How often the row may be applied.
    pub max: u32,
    /// Human-readable reason.
    pub reason: String,
    /// Tier of the next attempt, if an escalation changed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tier: Option<&'static str>,
    /// Specialist of the next attempt, if a switch changed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub specialist: Option<String>,
}
