//! [`InputRequest`]: what the server of a tool asks a person during a call.

use kb_base::value::Digest;
use kb_mcpclient::{Elicitation, ElicitationReply};
use std::collections::BTreeMap;

/// What people answered to questions of servers, by the keys of the questions.
pub type InputAnswers = BTreeMap<Digest, ElicitationReply>;

/// A question of a server that no person has answered yet.
#[derive(Debug, Clone, PartialEq)]
pub struct InputRequest {
    /// Stands for the tool, the arguments, the question, and how often the call asked it.
    pub key: Digest,
    /// The text and the form, as the server sent them: not masked.
    pub question: Elicitation,
}
