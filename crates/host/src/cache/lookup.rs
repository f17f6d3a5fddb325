//! The last lookup of each step, so that a miss can be explained later.

use super::KeyPart;
use kb_base::value::{Digest, RunId, Timestamp};
use kb_core::redaction::{Mask, Redactor};
use serde::{Deserialize, Serialize};

/// What the last execution of a step asked for, and what it found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Lookup {
    /// Id of the playbook or workflow.
    pub definition: String,
    /// Name of the step instance.
    pub instance: String,
    /// Id of the run that asked.
    pub run: RunId,
    /// Time of the lookup.
    pub at: Timestamp,
    /// Digest of the key that the step asked for.
    pub key: Digest,
    /// What was found.
    pub result: LookupResult,
    /// The parts of the key.
    pub parts: Vec<KeyPart>,
    /// The key of the result that the step had stored before the lookup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Digest>,
    /// The key of the result that the step stored last; nothing if it never did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stored: Option<Digest>,
}

/// Whether a stored result was used instead of the work of the step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LookupResult {
    /// A stored result was used.
    Hit,
    /// The step was executed.
    Miss {
        /// Why, as human-readable text.
        reason: String,
    },
}

impl LookupResult {
    /// Why the step was executed; `None` for a hit.
    pub fn reason(self) -> Option<String> {
        match self {
            LookupResult::Hit => None,
            LookupResult::Miss { reason } => Some(reason),
        }
    }
}

impl Mask for Lookup {
    /// The shown texts of the parts were masked when the key was made.
    fn masked_by(self, redactor: &Redactor) -> Lookup {
        let result = match self.result {
            LookupResult::Miss { reason } => {
                LookupResult::Miss { reason: reason.masked_by(redactor) }
            }
            LookupResult::Hit => LookupResult::Hit,
        };
        Lookup { result, ..self }
    }
}
