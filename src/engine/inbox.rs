//! Messages of other processes to the lease owner: cancellations and answers.

use super::context::RunContext;
use super::pending_write::PendingWrite;
use super::queue::InputQueue;
use crate::definition::StepKind;
use crate::evidence::Payload;
use crate::journal::JournalError;
use crate::redaction::Masked;
use crate::run::{Input, InstanceIx, Reply, State};
use crate::value::Json;

/// Reads the inbox and queues the inputs that its messages lead to.
pub(super) async fn read(
    context: &RunContext,
    state: &State,
    write: &PendingWrite,
    inputs: &mut InputQueue,
) -> Result<(), JournalError> {
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
            "approve" => {
                let approved = item.body.get("approved").and_then(Json::as_bool);
                let reply = Reply {
                    approved: approved.unwrap_or(true),
                    by,
                    answer: item.body.get("answer").cloned().map(Payload::inline),
                    comment: text("comment"),
                    call: text("call"),
                };
                answers(context, state, text("step").as_deref(), &reply)
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
    Ok(())
}

/// The inputs of a person's reply to the instances that wait under this name; without a name, to
/// all. A question drops an answer that does not satisfy its options or schema.
pub(super) fn answers(
    context: &RunContext,
    state: &State,
    step: Option<&str>,
    reply: &Reply,
) -> Vec<Input> {
    let is_named =
        |ix: InstanceIx| step.is_none_or(|name| state.key(&context.plan, ix).to_string() == name);
    state
        .instances()
        .map(|(ix, _)| ix)
        .filter(|ix| state.waits_for_person(&context.plan, *ix))
        .filter(|ix| is_named(*ix) && accepts(&context.planned(state, *ix).step.kind, reply))
        .map(|instance| Input::Answered { instance, reply: masked(context, reply) })
        .collect()
}

/// Whether a reply fits: an answer to a question satisfies its rule, other replies have no answer.
fn accepts(kind: &StepKind, reply: &Reply) -> bool {
    let answer = reply.answer.as_ref().and_then(Payload::as_inline);
    match kind.question().and_then(|question| question.answer) {
        Some(rule) => !reply.approved || answer.is_some_and(|answer| rule.check(answer).is_ok()),
        None => reply.answer.is_none(),
    }
}

/// The masked reply, with its answer as a blob if it is large. If a blob cannot be written,
/// `Payloads::check` refuses the whole batch.
fn masked(context: &RunContext, reply: &Reply) -> Masked<Reply> {
    let masked = context.parts.redactor.mask(reply.clone());
    let stored =
        masked.clone().rearrange(|reply, parts| context.payloads.store_reply(reply, parts));
    stored.unwrap_or(masked)
}
