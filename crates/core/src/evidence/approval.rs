//! The approval of one tool call by a person: the human in the loop.

use kb_base::value::{Digest, Json};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Duration;

/// Who decides when the time is up, as recorded in `by`.
pub const TIMEOUT: &str = "timeout";

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
    /// Whether the server of the tool asks for input during the call; otherwise the call waits for an approval.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asks_input: bool,
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
            asks_input: false,
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

/// A tool call that waits for a person: for an approval, or for what its server asks.
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovalRequest {
    /// The call that waits for a decision.
    pub call: CallRef,
    /// What is asked: the tool, its arguments and the rule that requires an approval.
    pub text: String,
    /// The form for an answer; `None` for a decision.
    pub form: Option<Box<AnswerForm>>,
}

/// The form for the answer of a person to a question of a server.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerForm {
    /// The JSON Schema of the answer; `None` if a decision is the answer.
    pub schema: Option<Json>,
    /// How long the question waits; `None` without a limit.
    pub within: Option<Duration>,
}
