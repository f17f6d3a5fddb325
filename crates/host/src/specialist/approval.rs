//! Decisions of people about tool calls that require an approval, and about models without a price.
//!
//! An approval is bound to the digest of the tool, the exact arguments and the working directory, that of a plugin
//! also to its definition and its program. It
//! holds for equal calls of the attempt until a call has changed a file; then a person is asked again.

use super::pending_call::PendingCall;
use crate::tool::{InputAnswers, InputReply, InputRequest};
use kb_base::value::{Digest, Json};
use kb_core::evidence::{
    AnswerForm, ApprovalRequest, CallRef, Invocation, InvocationStatus, TIMEOUT,
};
use kb_language::toolspec::DELEGATE;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The decisions about the calls of an attempt.
#[derive(Debug, Clone, Default)]
pub(super) struct Decisions {
    /// Digests of calls that may be executed.
    approved: BTreeSet<Digest>,
    /// The code that was approved last for a call, by its id.
    code: BTreeMap<String, BTreeMap<String, Digest>>,
    /// Whether models may be called although their price is unknown, by their digest.
    models: BTreeMap<Digest, bool>,
    /// Rejected calls by id, with the message for the model.
    rejected: BTreeMap<String, String>,
    /// What people answered to questions of servers, by the digests of the questions.
    inputs: Arc<InputAnswers>,
}

impl Decisions {
    /// Notes a decision.
    pub(super) fn note(
        &mut self,
        call: &CallRef,
        approved: bool,
        (by, comment): (&str, Option<&str>),
        answer: Option<&Json>,
    ) {
        if call.asks_input {
            let reply = match (approved, answer) {
                (true, Some(answer)) => InputReply::Accept(answer.clone()),
                (true, None) => InputReply::Accept(json!({})),
                (false, _) if by == TIMEOUT => InputReply::Cancel,
                (false, _) => InputReply::Decline,
            };
            Arc::make_mut(&mut self.inputs).insert(call.args_hash, reply);
            return;
        }
        if call.is_about_model() {
            self.models.insert(call.args_hash, approved);
            return;
        }
        if approved {
            self.approved.insert(call.args_hash);
            self.code.insert(call.id.clone(), call.code.clone());
            return;
        }
        let why = comment.map(|comment| format!(": {comment}")).unwrap_or_default();
        self.rejected.insert(call.id.clone(), format!("rejected by {by}{why}"));
    }

    /// Notes the end of a call. After a file change, earlier approvals do not hold. What a delegated task changed is in the
    /// journal of its own run.
    pub(super) fn ended(&mut self, call: &Invocation) {
        if call.status == InvocationStatus::Success {
            self.inputs = Arc::default();
        }
        self.rejected.remove(&call.id);
        if !call.changes.is_empty() || call.tool == DELEGATE {
            self.approved.clear();
        }
    }

    /// The code that was approved for a call, if that is not the code that it has now.
    pub(super) fn approved_code(
        &self,
        id: &str,
        now: &BTreeMap<String, Digest>,
    ) -> Option<&BTreeMap<String, Digest>> {
        self.code.get(id).filter(|before| *before != now)
    }

    /// Whether a call with this digest is approved.
    pub(super) fn approves(&self, hash: &Digest) -> bool {
        self.approved.contains(hash)
    }

    /// Whether a model with this digest may be called although its price is unknown; `None` if the attempt has
    /// not asked.
    pub(super) fn about_model(&self, hash: &Digest) -> Option<bool> {
        self.models.get(hash).copied()
    }

    /// What people answered to questions of servers.
    pub(super) fn inputs(&self) -> Arc<InputAnswers> {
        self.inputs.clone()
    }

    /// Why the call with this id was rejected.
    pub(super) fn rejection(&self, id: &str) -> Option<&str> {
        self.rejected.get(id).map(String::as_str)
    }
}

/// The question whether a model may be called whose price is unknown.
pub(super) fn unpriced(call: CallRef, model: &str, user: &str) -> ApprovalRequest {
    ApprovalRequest {
        text: format!(
            "the cost is limited, and the price of the model `{model}` of {user} is unknown, so \
             its calls would not count; call it in this run? Its price in `llm.prices` of the settings \
             avoids the question [{}]",
            kb_base::diagnostic::Code::MODEL_WITHOUT_PRICE.as_str()
        ),
        call,
        form: None,
    }
}

/// The question of a server during a call of this specialist.
pub(super) fn input(call: &PendingCall, specialist: &str, asked: &InputRequest) -> ApprovalRequest {
    let (server, message) = (&asked.question.server, &asked.question.message);
    let schema = &asked.question.schema;
    let has_fields = schema["properties"].as_object().is_some_and(|fields| !fields.is_empty());
    ApprovalRequest {
        text: format!(
            "the MCP server `{server}` asks, in a call of `{}` by `{specialist}`: {message}",
            call.tool
        ),
        call: CallRef {
            id: format!("input_{}", &asked.key.to_string()[..16]),
            tool: call.tool.clone(),
            args_hash: asked.key,
            code: BTreeMap::new(),
            asks_input: true,
        },
        form: Some(Box::new(AnswerForm {
            schema: has_fields.then(|| schema.clone()),
            within: asked.question.within,
        })),
    }
}

/// The digest that an approval of a call is bound to. `code` is the code of a plugin.
pub(super) fn call_hash(call: &PendingCall, cwd: &str, code: &BTreeMap<String, Digest>) -> Digest {
    if code.is_empty() {
        Digest::of_json(&json!([call.tool, call.args, cwd]))
    } else {
        Digest::of_json(&json!([call.tool, call.args, cwd, code]))
    }
}

/// The question to a person. `before` is other code of the plugin that a person has approved for this call.
pub(super) fn request(
    call: &PendingCall,
    cwd: &str,
    specialist: &str,
    why: &str,
    code: BTreeMap<String, Digest>,
    before: Option<&BTreeMap<String, Digest>>,
) -> ApprovalRequest {
    let args_hash = call_hash(call, cwd, &code);
    let is =
        if code.is_empty() { String::new() } else { format!("; its code is {}", listed(&code)) };
    let was = before.map(|before| format!("; approved before was {}", listed(before)));
    let was = was.unwrap_or_default();
    // Whole: a person approves what the end of a long command does, too.
    let shown = call.args.to_string();
    let folder = if cwd.is_empty() { String::new() } else { format!(" in `{cwd}`") };
    ApprovalRequest {
        text: format!(
            "`{specialist}` requests `{}` with {shown}{folder} [{}]; {why}{is}{was}; execute it?",
            call.tool,
            &args_hash.to_string()[..12]
        ),
        call: CallRef {
            id: call.id.clone(),
            tool: call.tool.clone(),
            args_hash,
            code,
            asks_input: false,
        },
        form: None,
    }
}

/// Files with the beginnings of their digests.
fn listed(code: &BTreeMap<String, Digest>) -> String {
    let file =
        |(path, digest): (&String, &Digest)| format!("`{path}` {}", &digest.to_string()[..12]);
    code.iter().map(file).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use kb_core::evidence::CallRequest;

    /// What the end of a long command does, a person approves too.
    #[test]
    fn a_question_shows_the_whole_call() {
        let command = format!("{}; evil", "true; ".repeat(20_000));
        let (id, tool) = ("c1".to_owned(), "shell:exec".to_owned());
        let request = CallRequest { id, tool, args: json!({"command": command}) };
        let call = PendingCall { request, started: false, as_text: false };
        let asked = super::request(&call, "", "worker", "why", BTreeMap::new(), None);
        assert!(asked.text.contains("true; ; evil\"}"));
    }
}
