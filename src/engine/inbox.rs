//! What other processes leave for a run's holder: cancellations and answers.

use super::dispatcher::Dispatcher;
use super::setup::Setup;
use crate::definition::StepKind;
use crate::evidence::Payload;
use crate::journal::JournalError;
use crate::run::{Input, InstanceIx, Reply};
use crate::value::Json;

impl Dispatcher {
    pub(super) async fn read_inbox(&mut self) -> Result<(), JournalError> {
        for item in self.parts.journal.pending(&self.setup.run).await? {
            if self.taken.contains(&item.id) || self.inputs.iter().any(|w| w.inbox == Some(item.id))
            {
                continue;
            }
            let text = |key: &str| item.body.get(key).and_then(Json::as_str).map(str::to_owned);
            let by = text("by").unwrap_or_else(|| "another process".to_owned());
            let before = self.inputs.len();
            match item.kind.as_str() {
                "cancel" => self.tell(Input::CancelRequested { by }),
                "approve" => {
                    let approved = item.body.get("approved").and_then(Json::as_bool);
                    let reply = Reply {
                        approved: approved.unwrap_or(true),
                        by,
                        answer: item.body.get("answer").cloned().map(Payload::inline),
                        comment: text("comment"),
                    };
                    self.answer(text("step").as_deref(), &reply);
                }
                _ => {}
            }
            // The item is taken with the last of what came of it; with nothing, now.
            match self.inputs.iter_mut().skip(before).next_back() {
                Some(waiting) => waiting.inbox = Some(item.id),
                None => {
                    let Setup { run, epoch, .. } = &self.setup;
                    self.parts.journal.acknowledge(run, *epoch, &[item.id]).await?;
                }
            }
        }
        Ok(())
    }

    /// Passes a reply on to the instances of that name that wait for a person, or to all of them.
    /// A question drops an answer that does not fit it.
    pub(super) fn answer(&mut self, step: Option<&str>, reply: &Reply) {
        for instance in self.named(step) {
            let kind = &self.setup.plan.step(self.folded.state.instance(instance).step).step.kind;
            let answer = reply.answer.as_ref().and_then(Payload::as_inline);
            let accepted = match kind {
                StepKind::Ask(ask) => {
                    !reply.approved || answer.is_some_and(|answer| ask.check(answer).is_ok())
                }
                _ => reply.answer.is_none(),
            };
            if accepted {
                let reply = self.masked_reply(reply);
                self.tell(Input::Answered { instance, reply });
            }
        }
    }

    fn masked_reply(&self, reply: &Reply) -> Reply {
        let mask = |text: &String| self.parts.redactor.mask_text(text).into_owned();
        let answer = reply.answer.as_ref().and_then(Payload::as_inline);
        Reply {
            approved: reply.approved,
            by: mask(&reply.by),
            answer: answer.map(|value| self.store_payload(self.parts.redactor.mask_json(value))),
            comment: reply.comment.as_ref().map(mask),
        }
    }

    /// The instances that wait for a person under that name; all of them without one.
    fn named(&self, name: Option<&str>) -> Vec<InstanceIx> {
        let (state, plan) = (&self.folded.state, &self.setup.plan);
        let waiting = state.instances().map(|(ix, _)| ix);
        waiting
            .filter(|ix| state.waits_for_person(plan, *ix))
            .filter(|ix| name.is_none_or(|name| state.key(plan, *ix).to_string() == name))
            .collect()
    }
}
