//! A question to a person, as it is recorded and shown.

use crate::evidence::CallRef;
use kb_base::value::{Json, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a person is asked, with every text rendered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// Whether an answer or a decision is needed.
    pub kind: QuestionKind,
    /// The question or the message, masked.
    pub text: String,
    /// The accepted answers; empty accepts any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// The JSON Schema of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Box<Json>>,
    /// The answer that an empty reply stands for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Box<Json>>,
    /// When it is decided without a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<i64>")]
    pub due: Option<Timestamp>,
    /// The tool call that the decision is about; its attempt continues with the decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Json>")]
    pub call: Option<Box<CallRef>>,
}

// Each step that waits for a person has one.
const _: () = assert!(size_of::<Question>() <= 96);

impl Question {
    /// A request for a decision, without a timeout.
    pub fn approval(text: String) -> Question {
        let (kind, options) = (QuestionKind::Approve, Vec::new());
        Question { kind, text, options, schema: None, default: None, due: None, call: None }
    }

    /// A request for a decision about a tool call, without a timeout.
    pub fn about_call(text: String, call: CallRef) -> Question {
        Question { call: Some(Box::new(call)), ..Question::approval(text) }
    }
}

/// What kind of reply a question needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum QuestionKind {
    /// An answer: `kb run answer`.
    Ask,
    /// A decision: `kb run approve` or `kb run reject`.
    Approve,
}
