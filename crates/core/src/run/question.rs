//! A question to a person, as it is recorded and shown.

use crate::evidence::{AnswerForm, ApprovalRequest, CallRef};
use kb_base::value::{Json, Timestamp};
use kb_language::definition::{AnswerRule, Schema};
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

    /// The answers that a question of a server during a tool call accepts; `None` for any other question.
    pub fn input_rule(&self) -> Option<AnswerRule> {
        let is_input = self.call.is_some() && self.kind == QuestionKind::Ask;
        let schema = self.schema.as_deref().filter(|_| is_input)?;
        Some(AnswerRule { schema: Schema::new(schema.clone()).ok(), ..AnswerRule::default() })
    }

    /// What a person is asked because of a tool call, asked at this moment.
    pub fn of_call(request: ApprovalRequest, now: Timestamp) -> Question {
        let ApprovalRequest { call, text, form } = request;
        let question = Question::about_call(text, call);
        let Some(form) = form else { return question };
        let AnswerForm { schema, within } = *form;
        Question {
            kind: if schema.is_some() { QuestionKind::Ask } else { QuestionKind::Approve },
            schema: schema.map(Box::new),
            due: within.map(|within| now.after(within)),
            ..question
        }
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
