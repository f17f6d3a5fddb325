//! The public form of a question to a person.

use crate::run::{Question, QuestionKind};
use kb_base::value::{Json, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

/// A question to a person.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct QuestionView {
    /// The question or the message.
    pub question: String,
    /// `ask` needs an answer, `approve` a decision.
    #[schemars(with = "String", extend("enum" = ["ask", "approve"]))]
    pub kind: QuestionKind,
    /// The accepted answers; empty accepts any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// The JSON Schema of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Json>,
    /// The answer that an empty reply stands for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Json>,
    /// When it is decided without a person, in RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

impl From<&Question> for QuestionView {
    fn from(question: &Question) -> Self {
        QuestionView {
            question: question.text.clone(),
            kind: question.kind,
            options: question.options.clone(),
            schema: question.schema.as_deref().cloned(),
            default: question.default.as_deref().cloned(),
            until: question.due.map(Timestamp::rfc3339),
        }
    }
}
