//! Messages of other processes to the lease owner: cancellations and answers.

use super::context::RunContext;
use super::fold::Folded;
use super::payloads::Payloads;
use super::pending_write::PendingWrite;
use super::queue::InputQueue;
use crate::journal::JournalError;
use kb_base::value::Json;
use kb_core::evidence::Payload;
use kb_core::redaction::{Masked, Redactor};
use kb_core::run::{Input, InstanceIx, Question, Reply};
use kb_language::definition::{AnswerRule, Step};
use std::borrow::Cow;
use std::sync::Arc;

/// A reply of a person that is to be checked, because it has an answer.
pub(super) struct Delivery {
    /// The message that it came with; `None` if this process was started with it.
    pub(super) message: Option<i64>,
    to: Vec<Target>,
    reply: Reply,
}

/// An instance that waits for the reply.
struct Target {
    instance: InstanceIx,
    step: Arc<Step>,
    /// What the person is asked about a tool call.
    about_call: Option<Question>,
}

impl Target {
    /// The answers that it accepts; `None` if it waits for a decision.
    fn rule(&self) -> Option<Cow<'_, AnswerRule>> {
        match &self.about_call {
            Some(question) => question.input_rule().map(Cow::Owned),
            None => self.step.kind.question().and_then(|asked| asked.answer).map(Cow::Borrowed),
        }
    }
}

/// Reads the inbox and queues the inputs that its messages lead to. Returns the first reply that is to be checked;
/// while one `is_checking`, later replies stay in the inbox, so that they take effect in their order.
pub(super) async fn read(
    context: &RunContext,
    folded: &Folded,
    write: &PendingWrite,
    inputs: &mut InputQueue,
    mut is_checking: bool,
) -> Result<Option<Delivery>, JournalError> {
    let mut found = None;
    for item in context.parts.journal.pending(&context.run).await? {
        if write.acknowledges(item.id) || inputs.has_message(item.id) {
            continue;
        }
        let text = |key: &str| item.body.get(key).and_then(Json::as_str).map(str::to_owned);
        let by = text("by").unwrap_or_else(|| "another process".to_owned());
        let led_to = match item.kind.as_str() {
            "cancel" => {
                vec![Input::CancelRequested { by: context.parts.redactor.mask(by) }]
            }
            "approve" if is_checking => continue,
            "approve" => {
                let approved = item.body.get("approved").and_then(Json::as_bool);
                let reply = Reply {
                    approved: approved.unwrap_or(true),
                    by,
                    answer: item.body.get("answer").cloned().map(Payload::inline),
                    comment: text("comment"),
                    call: text("call"),
                    seen: item.body.get("seen").and_then(Json::as_u64),
                };
                let step = text("step");
                let delivery = deliver(context, folded, Some(item.id), step.as_deref(), reply);
                if delivery.needs_check() {
                    is_checking = true;
                    found = Some(delivery);
                    continue;
                }
                delivery.without_check(context)
            }
            // A kind of a newer `kb`; it is acknowledged without effect.
            _ => Vec::new(),
        };
        // The batch of the last input acknowledges the message; without inputs, this does.
        if !inputs.push_message(item.id, led_to) {
            let journal = &context.parts.journal;
            journal.acknowledge(&context.run, context.epoch, &[item.id]).await?;
        }
    }
    Ok(found)
}

/// A person's reply to the instances that wait under this name; without a name, to all.
pub(super) fn deliver(
    context: &RunContext,
    folded: &Folded,
    message: Option<i64>,
    step: Option<&str>,
    mut reply: Reply,
) -> Delivery {
    let state = &folded.state;
    let is_named =
        |ix: InstanceIx| step.is_none_or(|name| state.key(&context.plan, ix).to_string() == name);
    let waiting = state.instances().map(|(ix, _)| ix);
    let to: Vec<_> = waiting
        .filter(|ix| state.waits_for_person(&context.plan, *ix) && is_named(*ix))
        .map(|ix| {
            let asked = state.instance(ix).question().filter(|asked| asked.call.is_some());
            let step = context.planned(state, ix).step.clone();
            Target { instance: ix, step, about_call: asked.cloned() }
        })
        .collect();
    // The person has not seen what a step of the parent changed meanwhile.
    let is_quiet = folded.known.is_quiet_above(to.iter().map(|target| target.instance));
    reply.seen = reply.seen.filter(|_| is_quiet);
    Delivery { message, to, reply }
}

impl Delivery {
    /// Whether a schema may have to be applied to the answer.
    pub(super) fn needs_check(&self) -> bool {
        self.reply.answer.is_some() && self.to.iter().any(|target| target.rule().is_some())
    }

    /// The inputs of a reply that needs no check.
    pub(super) fn without_check(self, context: &RunContext) -> Vec<Input> {
        self.check(&context.parts.redactor, &context.payloads)
    }

    /// The inputs of a reply that fits none of the questions.
    pub(super) fn refused(&self) -> Vec<Input> {
        let refused = |target: &Target| Input::ReplyRefused { instance: target.instance };
        self.to.iter().map(refused).collect()
    }

    /// The inputs of the reply. An answer that does not satisfy the options or the schema of a question is refused.
    pub(super) fn check(self, redactor: &Redactor, payloads: &Payloads) -> Vec<Input> {
        let Delivery { to, reply, .. } = self;
        let input = |target: Target| {
            let instance = target.instance;
            if accepts(target.rule().as_deref(), &reply) {
                Input::Answered { instance, reply: masked(redactor, payloads, &reply) }
            } else {
                Input::ReplyRefused { instance }
            }
        };
        to.into_iter().map(input).collect()
    }
}

/// Whether a reply fits: an answer to a question satisfies its rule, other replies have no answer.
fn accepts(rule: Option<&AnswerRule>, reply: &Reply) -> bool {
    let answer = reply.answer.as_ref().and_then(Payload::as_inline);
    match rule {
        Some(rule) => !reply.approved || answer.is_some_and(|answer| rule.check(answer).is_ok()),
        None => reply.answer.is_none(),
    }
}

/// The masked reply, with its answer as a blob if it is large. If a blob cannot be written,
/// `Payloads::check` refuses the whole batch.
fn masked(redactor: &Redactor, payloads: &Payloads, reply: &Reply) -> Masked<Reply> {
    let masked = redactor.mask(reply.clone());
    let stored = masked.clone().rearrange(|reply, parts| payloads.store_reply(reply, parts));
    stored.unwrap_or(masked)
}
