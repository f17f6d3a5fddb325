//! Messages of other processes to the lease owner: cancellations and answers.

use super::context::RunContext;
use super::evaluate::store;
use super::queue::InputQueue;
use super::tick::PendingWrite;
use crate::definition::StepKind;
use crate::evidence::Payload;
use crate::journal::JournalError;
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
            "cancel" => vec![Input::CancelRequested { by }],
            "approve" => {
                let approved = item.body.get("approved").and_then(Json::as_bool);
                let reply = Reply {
                    approved: approved.unwrap_or(true),
                    by,
                    answer: item.body.get("answer").cloned().map(Payload::inline),
                    comment: text("comment"),
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

fn accepts(kind: &StepKind, reply: &Reply) -> bool {
    let answer = reply.answer.as_ref().and_then(Payload::as_inline);
    match kind {
        StepKind::Ask(ask) => {
            !reply.approved || answer.is_some_and(|answer| ask.check(answer).is_ok())
        }
        StepKind::Approve(_)
        | StepKind::Wait(_)
        | StepKind::Specialist { .. }
        | StepKind::Run { .. }
        | StepKind::Tool { .. }
        | StepKind::Http(_)
        | StepKind::Set(_)
        | StepKind::Gate(_)
        | StepKind::NotYet(_) => reply.answer.is_none(),
    }
}

fn masked(context: &RunContext, reply: &Reply) -> Reply {
    let redactor = &context.parts.redactor;
    let mask = |text: &String| redactor.mask_text(text).into_owned();
    let answer = reply.answer.as_ref().and_then(Payload::as_inline);
    Reply {
        approved: reply.approved,
        by: mask(&reply.by),
        answer: answer.map(|value| store(context, redactor.mask_json(value))),
        comment: reply.comment.as_ref().map(mask),
    }
}
