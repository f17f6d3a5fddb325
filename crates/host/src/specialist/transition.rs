//! The effects of responses and tool results on a [`Conversation`].

use super::agent_prompt;
use super::conversation::Conversation;
use super::cut_off::{take_incomplete, told};
use super::excerpt::excerpt;
use super::messages::{canonical_name, observation, plan_of, value_of};
use super::pending_call::PendingCall;
use super::prompt::{CONTINUE, REFLECT, not_submitted};
use super::submit::{SUBMIT, TextOutput, rejection};
use super::text_form;
use super::turn::{Mode, Next, Turn};
use crate::llm::Message;
use kb_base::value::Json;
use kb_core::evidence::{CallRequest, Invocation, InvocationStatus, Payload};
use kb_language::definition::Violation;

impl Conversation {
    fn mode(&self) -> Mode {
        match self.next() {
            Next::CallModel(Turn { mode, .. }) => mode,
            _ => Mode::Continue,
        }
    }

    pub(super) fn model_responded(&mut self, text: &str, calls: &[CallRequest], cut_short: bool) {
        let mode = self.mode();
        self.counts.turns += 1;
        self.declined_here = false;
        self.failed_here = false;
        // Calls of an earlier response that are still unanswered can no longer be answered.
        self.pending.clear();
        self.incomplete = None;
        self.transcript.add_text(text);
        if self.plan.is_none() && self.counts.compress_above.is_some() {
            self.plan = plan_of(text);
        }
        if mode == Mode::Reason {
            self.counts.calls_since_reasoning = 0;
            self.body.push(Message::User(REFLECT.to_owned()));
        }
        if let Mode::Answer(phase) = mode {
            return self.phase_answered(phase, text, calls);
        }
        if calls.is_empty() && mode == Mode::Reason {
            self.add_response(text);
            self.body.push(Message::User(CONTINUE.to_owned()));
            return;
        }
        let as_text = calls.is_empty();
        let (said, mut requested) = if !as_text {
            let calls = calls.iter().map(|call| (call.tool.clone(), call.args.clone()));
            (text.to_owned(), calls.collect())
        } else if mode == Mode::Structured || self.brief.submission.is_of_agent() {
            (String::new(), Vec::new())
        } else {
            let written = text_form::parse(text);
            (written.text, written.actions)
        };
        let incomplete = cut_short.then(|| take_incomplete(&mut requested)).flatten();
        self.counts.cut_off = if incomplete.is_some() { self.counts.cut_off + 1 } else { 0 };
        match (requested.is_empty(), incomplete) {
            (false, incomplete) => {
                self.incomplete = incomplete.map(|(tool, _)| tool);
                self.request_calls(said, requested, as_text);
            }
            (true, Some((tool, args))) => {
                self.add_response(text);
                if tool == SUBMIT {
                    self.transcript.add_submission(args, &[]);
                }
                self.body.push(Message::User(told(&tool)));
            }
            (true, None) => {
                self.add_response(text);
                self.submitted_as_text(text, cut_short);
            }
        }
    }

    pub(super) fn add_response(&mut self, text: &str) {
        let text = if text.trim().is_empty() { "(empty response)" } else { text };
        self.body.push(Message::Assistant {
            text: text.to_owned(),
            calls: Vec::new(),
            reasoning: None,
        });
    }

    fn request_calls(&mut self, text: String, calls: Vec<(String, Json)>, as_text: bool) {
        let turn = self.counts.turns;
        let pending: Vec<PendingCall> = calls
            .into_iter()
            .enumerate()
            .map(|(i, (tool, args))| PendingCall {
                request: CallRequest {
                    id: format!("call_{}_{turn}_{}", self.brief.attempt, i + 1),
                    tool: canonical_name(&self.brief.tools, tool),
                    args,
                },
                started: false,
                as_text,
            })
            .collect();
        if pending.iter().any(|call| call.tool != SUBMIT) {
            self.counts.silent = 0;
        }
        let native = pending.iter().filter(|call| !call.as_text).map(|call| call.request.clone());
        let reasoning = self.reasoning.take();
        self.body.push(Message::Assistant { text, calls: native.collect(), reasoning });
        self.pending = pending.into();
    }

    /// A text without tool calls. Of one that was cut off, an object inside could look like the output.
    fn submitted_as_text(&mut self, text: &str, cut_short: bool) {
        let found =
            if cut_short { TextOutput::None } else { self.brief.submission.validate_text(text) };
        match found {
            TextOutput::Valid(output, handoff) => {
                (self.output, self.handover.own) = (Some(output), *handoff);
            }
            TextOutput::Invalid(violations, candidate) => {
                self.handover.own = self.brief.submission.handoff(&candidate);
                let rejection = self.reject(&violations, candidate);
                self.body.push(Message::User(rejection));
            }
            TextOutput::None => {
                self.counts.silent += 1;
                let submission = &self.brief.submission;
                let missing = if submission.is_of_agent() {
                    agent_prompt::missing(submission, cut_short)
                } else {
                    not_submitted(cut_short)
                };
                self.body.push(Message::User(missing));
            }
        }
    }

    fn reject(&mut self, violations: &[Violation], candidate: Json) -> String {
        self.counts.invalid += 1;
        let rejection = rejection(violations);
        self.transcript.add_submission(candidate, violations);
        format!("{rejection}Fix every point and submit again.")
    }

    pub(super) fn call_started(&mut self, id: &str) {
        self.counts.tool_calls += 1;
        self.counts.calls_since_reasoning += 1;
        self.usage.tool_calls += 1;
        if let Some(call) = self.pending.iter_mut().find(|call| call.id == id) {
            call.started = true;
        }
    }

    /// The first call waits again: its server asked a person, who has decided.
    pub(super) fn call_repeats(&mut self) {
        if let Some(call) = self.pending.front_mut() {
            call.started = false;
        }
    }

    pub(super) fn call_ended(&mut self, invocation: &Invocation, result: &Payload) {
        let Some(at) = self.pending.iter().position(|call| call.id == invocation.id) else {
            // Of a coding agent, whose calls wait in no queue.
            self.handover.note_changes(&invocation.changes);
            self.decisions.ended(invocation);
            return;
        };
        let Some(call) = self.pending.remove(at) else { return };
        let result = value_of(result);
        let ok = invocation.status == InvocationStatus::Success;
        let denied = invocation.status == InvocationStatus::Denied;
        self.failed_here |= !ok;
        self.handover.note_changes(&invocation.changes);
        self.decisions.ended(invocation);
        if !ok {
            self.failed.insert(call.id.clone());
        }
        self.counts.denials = if denied { self.counts.denials + 1 } else { 0 };
        self.repetition.note(&call.tool, &call.args, &result, !invocation.changes.is_empty());
        self.transcript.add_call(&call, invocation, &result);
        let part = self.brief.catalog.entry(&call.tool).result_part;
        let content = excerpt(part, &call.id, &result, &self.brief.context);
        self.answer(call, content);
    }

    pub(super) fn answer(&mut self, call: PendingCall, content: String) {
        self.body.push(if call.as_text {
            Message::User(observation(&call.tool, &content))
        } else {
            Message::Tool { call_id: call.request.id, tool: call.request.tool, content }
        });
        if self.pending.is_empty()
            && let Some(tool) = self.incomplete.take()
        {
            self.body.push(Message::User(told(&tool)));
        }
    }

    /// Performs the actions without effects: validates outputs, answers calls over a limit.
    pub(super) fn settle(&mut self) {
        loop {
            match self.next() {
                Next::Validate => self.validate(),
                Next::Decline => self.decline(),
                _ => return,
            }
        }
    }

    fn validate(&mut self) {
        let Some(call) = self.pending.pop_front() else { return };
        if self.failed_here {
            let content = "rejected: an earlier tool call in the same response failed; read its result, \
                           then submit again";
            return self.answer(call, content.to_owned());
        }
        // Also what was passed on with an output that is refused is of use.
        self.handover.own = self.brief.submission.handoff(&call.args);
        match self.brief.submission.validate(&call.args) {
            Ok(output) => {
                self.output = Some(output);
                self.accepted(call);
            }
            Err(violations) => {
                let rejection = self.reject(&violations, call.args.clone());
                self.answer(call, rejection);
            }
        }
    }

    fn decline(&mut self) {
        let Some(call) = self.pending.pop_front() else { return };
        if !self.declined_here {
            self.counts.declined += 1;
        }
        self.declined_here = true;
        self.failed_here = true;
        let content = format!(
            "not executed: the limit of {} tool calls or {} turns is reached; submit what you have \
             with `{SUBMIT}`",
            self.counts.max_tool_calls, self.counts.max_steps
        );
        self.answer(call, content);
    }
}
