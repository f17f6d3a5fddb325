//! Steps that wait without a slot: for a time, an answer or an approval.

use super::Decider;
use crate::evidence::{CallRef, Payload, Record, TIMEOUT};
use crate::run::effect::Effect;
use crate::run::event::{Event, InstanceIx, StepStatus};
use crate::run::input::{Reply, Wait};
use crate::run::question::QuestionKind;
use crate::run::state::ModelDecision;
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, Json};
use kb_language::definition::OnTimeout;
use serde_json::json;

impl Decider<'_> {
    /// The question or the moment of a waiting step was evaluated: it leaves its slot.
    pub(super) fn wait_opened(&mut self, ix: InstanceIx, attempt: (u32, u32), wait: Wait) {
        let current = self.is_in(ix, attempt.0)
            && self.instance(ix).attempt == attempt.1
            && self.instance(ix).status == StepStatus::Running;
        if !current {
            return;
        }
        if self.stopping(ix) {
            return self.end(ix, StepStatus::Cancelled, None);
        }
        let due = match wait {
            Wait::Until(due) => {
                self.emit(Event::TimerSet { instance: ix, due });
                Some(due)
            }
            Wait::Person(question) => {
                let (due, call) = (question.due, question.call.clone());
                self.emit(Event::Asked { instance: ix, question });
                if let Some(call) = call {
                    self.decided_before(ix, *call);
                }
                due
            }
        };
        match due {
            Some(due) if due <= self.at => self.wait_is_over(ix),
            Some(due) => self.effect(Effect::Timer { instance: ix, due }),
            None => {}
        }
    }

    /// The moment of a waiting step has come, or its question was not answered in time.
    pub(super) fn wait_is_over(&mut self, ix: InstanceIx) {
        enum Expiry {
            Done,
            Reply(Reply),
            Failed,
        }
        let reply = |approved, answer: Option<Json>| {
            let answer = answer.map(Payload::inline);
            let by = TIMEOUT.to_owned();
            Expiry::Reply(Reply { approved, by, answer, comment: None, call: None, seen: None })
        };
        let call = self.instance(ix).question().and_then(|asked| asked.call.clone());
        if let Some(call) = call {
            // The attempt continues, and its server learns that no person answered.
            return self.decide_call(ix, *call, (false, TIMEOUT, &None), None);
        }
        let expiry = match self.step(ix).kind.question() {
            None => Expiry::Done,
            Some(question) => match question.on_timeout {
                OnTimeout::Approve => {
                    reply(true, question.answer.and_then(|answer| answer.default.clone()))
                }
                OnTimeout::Reject => reply(false, None),
                OnTimeout::Fail => Expiry::Failed,
            },
        };
        match expiry {
            Expiry::Done => self.finish_wait(ix, Payload::inline(Json::Null)),
            Expiry::Reply(reply) => self.replied(ix, reply, false),
            Expiry::Failed => {
                let message = "no answer before the timeout";
                let failure = Failure::new(Code::TIMED_OUT, message)
                    .help("raise the timeout of the step, or set `onTimeout`");
                self.end(ix, StepStatus::Failed, Some(failure));
            }
        }
    }

    /// A person replied to an instance that waits for one; any other reply is dropped.
    pub(super) fn answered(&mut self, ix: InstanceIx, reply: Reply) {
        self.replied(ix, reply, true);
    }

    fn replied(&mut self, ix: InstanceIx, reply: Reply, by_person: bool) {
        if !self.exists(ix) || !self.state.waits_for_person(self.plan, ix) {
            return;
        }
        let question = self.step(ix).kind.question();
        let of_call = self.instance(ix).question().filter(|asked| asked.call.is_some());
        let needs_answer = question.is_some_and(|question| question.answer.is_some())
            || of_call.is_some_and(|asked| asked.kind == QuestionKind::Ask);
        if needs_answer && reply.approved && reply.answer.is_none() {
            return;
        }
        let call = self.instance(ix).question().and_then(|asked| asked.call.clone());
        if let Some(call) = call {
            return self.decided_about(ix, *call, reply);
        }
        let asked = question.is_some();
        let back = question.and_then(|question| question.on_reject.cloned());
        let recovers = !asked && self.instance(ix).question().is_some();
        let Reply { approved, by, answer, comment, call: _, seen } = reply;
        self.emit(Event::Answered {
            instance: ix,
            approved,
            by: by.clone(),
            answer: answer.clone(),
            comment: comment.clone(),
            seen,
        });
        if let Some(back) = back.filter(|_| by_person && !approved && !self.stopping(ix))
            && self.send_back(ix, &back, (&by, &comment))
        {
            return;
        }
        if !approved {
            let why = comment.map(|comment| format!(": {comment}")).unwrap_or_default();
            let message = format!("rejected by {by}{why}");
            // A rejected attempt fails the step for the reason that the question was asked for.
            let failure = if recovers {
                let last = self.last_failure(ix);
                let message = format!("{}; another attempt was {message}", last.message);
                Failure { message, ..last }
            } else {
                Failure::new(Code::APPROVAL_REJECTED, message)
            };
            return self.end(ix, StepStatus::Failed, Some(failure));
        }
        if asked {
            let decision =
                || Payload::inline(json!({"approved": true, "by": by, "comment": comment}));
            self.finish_wait(ix, answer.unwrap_or_else(decision));
        }
    }

    /// A person decided about a tool call: its attempt continues with the decision. A decision about
    /// an earlier call of the attempt is dropped. A decision about a model holds for all steps that wait for it.
    fn decided_about(&mut self, ix: InstanceIx, call: CallRef, reply: Reply) {
        if reply.call.is_some_and(|id| id != call.id) {
            return;
        }
        let Reply { approved, by, comment, answer, .. } = reply;
        let model = call.is_about_model().then_some(call.args_hash);
        self.decide_call(ix, call, (approved, &by, &comment), answer);
        if model.is_none() {
            return;
        }
        for (other, call) in self.asked_about_models() {
            if Some(call.args_hash) == model {
                self.decide_call(other, call, (approved, &by, &comment), None);
            }
        }
    }

    /// Decides for the steps that still ask about a model that a person has decided about.
    pub(super) fn decide_known_models(&mut self) {
        for (ix, call) in self.asked_about_models() {
            self.decided_before(ix, call);
        }
    }

    /// The instances that wait for a decision about a model, with what they ask about.
    fn asked_about_models(&self) -> Vec<(InstanceIx, CallRef)> {
        let waiting = self.state.instances().filter_map(|(ix, instance)| {
            let call = instance.question()?.call.as_deref()?;
            let waits = call.is_about_model() && self.state.waits_for_person(self.plan, ix);
            waits.then(|| (ix, call.clone()))
        });
        waiting.collect()
    }

    /// Decides about a model as a person has decided about it earlier in the run.
    fn decided_before(&mut self, ix: InstanceIx, call: CallRef) {
        let known = self.state.models.get(&call.args_hash).filter(|_| call.is_about_model());
        if let Some(ModelDecision { permitted, by }) = known.cloned() {
            self.decide_call(ix, call, (permitted, &by, &None), None);
        }
    }

    fn decide_call(
        &mut self,
        ix: InstanceIx,
        call: CallRef,
        (approved, by, comment): (bool, &str, &Option<String>),
        answer: Option<Payload>,
    ) {
        let (by, comment) = (by.to_owned(), comment.clone());
        let attempt = self.instance(ix).attempt;
        let record = Record::Approval {
            call,
            approved,
            by: by.clone(),
            comment: comment.clone(),
            answer: answer.clone(),
        };
        let seen = None;
        self.emit(Event::Answered { instance: ix, approved, by, answer, comment, seen });
        self.emit(Event::Recorded { instance: ix, attempt, record: Box::new(record) });
    }

    fn finish_wait(&mut self, ix: InstanceIx, output: Payload) {
        let (status, output) = (StepStatus::Succeeded, Some(output));
        self.emit(Event::Ended { instance: ix, status, tolerated: false, output, failure: None });
        self.after_end(ix);
    }
}
