//! The approval of one tool call by a person: the human in the loop.

use kb_base::value::Digest;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;

/// The tool call that an approval is bound to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallRef {
    /// Id of the call, unique within the attempts of the step.
    pub id: String,
    /// Name of the tool.
    pub tool: String,
    /// Digest of the tool, its code, the exact arguments and the working directory.
    pub args_hash: Digest,
    /// The files whose content the digest includes, for a plugin: its definition, and those of the project that its
    /// command names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub code: BTreeMap<String, Digest>,
}

/// In place of the name of a tool: the calls of a model whose price is unknown.
const MODEL_CALL: &str = "model";

impl CallRef {
    /// The calls of a model whose price is unknown, asked for by this attempt.
    pub fn of_model(attempt: u32, model: &str) -> CallRef {
        CallRef {
            id: format!("model_{attempt}"),
            tool: MODEL_CALL.to_owned(),
            args_hash: Digest::of_json(&json!([MODEL_CALL, model])),
            code: BTreeMap::new(),
        }
    }

    /// As [`CallRef::of_model`], for the model of the judge of the attempt.
    pub fn of_judge(attempt: u32, model: &str) -> CallRef {
        CallRef { id: format!("judge_{attempt}"), ..CallRef::of_model(attempt, model) }
    }

    /// Whether the approval is about a model, not about a tool call.
    pub fn is_about_model(&self) -> bool {
        self.tool == MODEL_CALL
    }
}

/// A tool call that waits for the approval of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalRequest {
    /// The call that waits for a decision.
    pub call: CallRef,
    /// What is asked: the tool, its arguments and the rule that requires an approval.
    pub text: String,
}
