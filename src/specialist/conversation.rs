//! A conversation: the state of an attempt as a fold over its records.
//!
//! [`Conversation::apply`] is the only way to change one, live and on resume alike. Any prefix of the
//! records therefore leads to the state that the attempt had when it had stored them.

use super::approval::Decisions;
use super::brief::Brief;
use super::compression::{coverable, estimated_tokens, summarize};
use super::excerpt::excerpt;
use super::handover::{HISTORY_TURN, Handover};
use super::messages::{as_text, canonical_name, merged, observation, plan_of, text_of, value_of};
use super::pending_call::PendingCall;
use super::prompt::{CONTINUE, REFLECT, not_submitted};
use super::repetition::Repetition;
use super::retention::kept;
use super::submit::{SUBMIT, TextOutput, rejection};
use super::text_form;
use super::transcript::Transcript;
use super::turn::{LoopState, Mode, Next, Pending, Turn, next};
use crate::definition::Violation;
use crate::evidence::{Handoff, Invocation, InvocationStatus, Payload, Record, RecordedCall};
use crate::llm::{CallRequest, Message};
use crate::value::{Json, Usage};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// The state of an attempt.
#[derive(Debug, Clone)]
pub struct Conversation {
    brief: Brief,
    summary: Option<String>,
    plan: Option<String>,
    /// Reasoning of the latest response, to be sent back with its calls.
    reasoning: Option<Arc<Json>>,
    /// Decisions of people about calls.
    decisions: Decisions,
    /// Ids of the calls that did not succeed.
    failed: BTreeSet<String>,
    body: Vec<Message>,
    pending: VecDeque<PendingCall>,
    counts: LoopState,
    repetition: Repetition,
    declined_here: bool,
    failed_here: bool,
    output: Option<Json>,
    handover: Handover,
    transcript: Transcript,
    usage: Usage,
    /// What a call that was sent and not answered has reserved.
    reserved: Option<Usage>,
}

impl Conversation {
    /// The conversation before the first turn.
    pub fn begin(brief: Brief) -> Self {
        let counts = LoopState {
            max_steps: brief.limits.max_steps,
            max_tool_calls: brief.limits.max_tool_calls,
            reasoning_every: brief.limits.forced_reasoning_interval,
            compress_above: brief.context.compress_above(),
            ..LoopState::default()
        };
        Conversation {
            brief,
            summary: None,
            plan: None,
            reasoning: None,
            decisions: Decisions::default(),
            failed: BTreeSet::new(),
            body: Vec::new(),
            pending: VecDeque::new(),
            counts,
            repetition: Repetition::default(),
            declined_here: false,
            failed_here: false,
            output: None,
            handover: Handover::default(),
            transcript: Transcript::default(),
            usage: Usage::NONE,
            reserved: None,
        }
    }

    /// The next action.
    pub fn next(&self) -> Next {
        next(&self.state())
    }

    /// The counters that decide the next action.
    pub fn state(&self) -> LoopState {
        let pending = match self.pending.front() {
            None => Pending::None,
            Some(call) if call.tool == SUBMIT => Pending::Submit,
            Some(call) if call.started => Pending::Started,
            Some(_) => Pending::Fresh,
        };
        LoopState {
            pending,
            reply_submits: self.pending.iter().any(|call| call.tool == SUBMIT),
            repeats: self.repetition.count(),
            submitted: self.output.is_some(),
            messages: self.body.len() as u32 + 2 + u32::from(self.summary.is_some()),
            foldable: self.foldable(),
            tokens: estimated_tokens(&self.messages()),
            ..self.counts
        }
    }

    /// Applies a record, and every transition that needs no further record.
    pub fn apply(&mut self, record: &Record) {
        if let Record::ModelCall { .. } = record {
            self.reserved = None;
        }
        match record {
            Record::Reservation { usage } => {
                // The call before it was never answered: it was stopped, or its process was killed.
                let lost = std::mem::replace(&mut self.reserved, *usage);
                self.usage += lost.filter(|_| usage.is_some()).unwrap_or(Usage::NONE);
            }
            Record::ModelCall { turn: HISTORY_TURN, text, usage, .. } => {
                self.usage += *usage;
                self.handover.history = Some(text_of(text));
            }
            Record::ModelCall { model, text, calls, usage, cut_short, reasoning, .. } => {
                self.usage += *usage;
                self.transcript.note_response(model, usage.completion_tokens, *cut_short);
                self.reasoning = reasoning.as_ref().and_then(Payload::as_inline).cloned();
                self.model_responded(&text_of(text), calls, *cut_short);
            }
            Record::ToolCall { id, .. } => self.call_started(id),
            Record::ToolResult { invocation, result, .. } => self.call_ended(invocation, result),
            Record::Compression { covers, keeps, summary, usage, .. } => {
                self.usage += *usage;
                let mut at = 0;
                self.body.retain(|_| {
                    at += 1;
                    at > *covers || keeps.contains(&(at - 1))
                });
                self.summary = Some(summary.clone());
            }
            Record::Approval { call, approved, by, comment } => {
                self.decisions.note(call, *approved, by, comment.as_deref());
            }
            Record::BudgetWarning { .. }
            | Record::Observed { .. }
            | Record::ChildRun { .. }
            | Record::ChildRunEnded { .. }
            | Record::CacheHit(_)
            | Record::Note(_) => {}
        }
        self.settle();
    }

    /// What people decided about calls that require an approval.
    pub(super) fn decisions(&self) -> &Decisions {
        &self.decisions
    }

    /// The calls in the queue, in order.
    pub(super) fn queue(&self) -> impl Iterator<Item = &PendingCall> {
        self.pending.iter()
    }

    /// The first call in the queue.
    pub fn pending(&self) -> Option<&PendingCall> {
        self.pending.front()
    }

    /// Number of model calls so far.
    pub fn turns(&self) -> u32 {
        self.counts.turns
    }

    /// The submitted output, if it was valid.
    pub fn output(&self) -> Option<&Json> {
        self.output.as_ref()
    }

    /// Tokens, cost and calls so far; a call that was sent and not answered counts with its reservation.
    pub fn usage(&self) -> Usage {
        let mut usage = self.usage;
        usage += self.reserved.unwrap_or(Usage::NONE);
        usage
    }

    /// What a call that was sent and not answered has reserved.
    pub(super) fn reserved(&self) -> Option<Usage> {
        self.reserved
    }

    /// The fixed inputs of the attempt.
    pub fn brief(&self) -> &Brief {
        &self.brief
    }

    /// What the output passes on: the model's part, the summary, and the changed files.
    pub(super) fn handoff(&self) -> Handoff {
        self.handover.of(self.output.as_ref())
    }

    /// The last events, for the failure report.
    pub(super) fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// The messages as the model sees them; consecutive user messages are joined.
    pub fn messages(&self) -> Vec<Message> {
        let task = self.handover.task(&self.brief);
        let head = [Message::System(self.brief.system.clone()), Message::User(task)];
        let plan = self.plan.as_ref().map(|text| format!("# Your plan\n\n{text}\n\n"));
        let summary = self.summary.as_ref().map(|text| {
            Message::User(format!(
                "{}# Summary of your earlier turns (written by the runtime)\n\n{text}",
                plan.unwrap_or_default()
            ))
        });
        merged(head.into_iter().chain(summary).chain(self.body.iter().cloned()))
    }

    /// The messages without native tool calls, for a request without tools: some providers refuse
    /// conversations with calls of tools that the request does not define.
    pub fn messages_as_text(&self) -> Vec<Message> {
        merged(self.messages().into_iter().map(as_text))
    }

    /// The record of a compression of the context.
    pub(super) fn compression(&self) -> Record {
        let covers = coverable(&self.body);
        let keeps = self.keeps(covers);
        let summary = summarize(self.summary.as_deref(), &self.body[..covers], &keeps);
        let turn = self.counts.turns;
        Record::Compression { turn, covers: covers as u32, keeps, summary, usage: Usage::NONE }
    }

    fn keeps(&self, covers: usize) -> Vec<u32> {
        kept(&self.body, covers, &self.failed, self.brief.context.kept_tokens())
    }

    /// Number of messages that a summary would replace.
    fn foldable(&self) -> u32 {
        let covers = coverable(&self.body);
        match self.counts.compress_above {
            None => covers as u32,
            Some(_) => (covers - self.keeps(covers).len()) as u32,
        }
    }

    fn mode(&self) -> Mode {
        match self.next() {
            Next::CallModel(Turn { mode, .. }) => mode,
            _ => Mode::Continue,
        }
    }

    fn model_responded(&mut self, text: &str, calls: &[RecordedCall], cut_short: bool) {
        let mode = self.mode();
        self.counts.turns += 1;
        self.declined_here = false;
        self.failed_here = false;
        // Calls of an earlier response that are still unanswered can no longer be answered.
        self.pending.clear();
        self.transcript.add_text(text);
        if self.plan.is_none() && self.counts.compress_above.is_some() {
            self.plan = plan_of(text);
        }
        if mode == Mode::Reason {
            self.counts.calls_since_reasoning = 0;
            self.body.push(Message::User(REFLECT.to_owned()));
        }
        let written = text_form::parse(text);
        if !calls.is_empty() {
            let calls = calls.iter().map(|call| (call.tool.clone(), call.args.clone()));
            self.request_calls(text.to_owned(), calls.collect(), false);
        } else if mode == Mode::Reason {
            self.add_response(text);
            self.body.push(Message::User(CONTINUE.to_owned()));
        } else if !written.actions.is_empty() && mode != Mode::Structured {
            self.request_calls(written.text, written.actions, true);
        } else {
            self.add_response(text);
            self.submitted_as_text(text, cut_short);
        }
    }

    fn add_response(&mut self, text: &str) {
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
                id: format!("call_{}_{turn}_{}", self.brief.attempt, i + 1),
                tool: canonical_name(&self.brief.tools, tool),
                args,
                started: false,
                as_text,
            })
            .collect();
        if pending.iter().any(|call| call.tool != SUBMIT) {
            self.counts.silent = 0;
        }
        let native = pending.iter().filter(|call| !call.as_text).map(|call| CallRequest {
            id: call.id.clone(),
            tool: call.tool.clone(),
            args: call.args.clone(),
        });
        let reasoning = self.reasoning.take();
        self.body.push(Message::Assistant { text, calls: native.collect(), reasoning });
        self.pending = pending.into();
    }

    fn submitted_as_text(&mut self, text: &str, cut_short: bool) {
        match self.brief.submission.validate_text(text) {
            TextOutput::Valid(output, handoff) => {
                (self.output, self.handover.own) = (Some(output), *handoff);
            }
            TextOutput::Invalid(violations, candidate) => {
                let rejection = self.reject(&violations, candidate);
                self.body.push(Message::User(rejection));
            }
            TextOutput::None => {
                self.counts.silent += 1;
                self.body.push(Message::User(not_submitted(cut_short)));
            }
        }
    }

    fn reject(&mut self, violations: &[Violation], candidate: Json) -> String {
        self.counts.invalid += 1;
        let rejection = rejection(violations);
        self.transcript.add_submission(candidate, violations);
        format!("{rejection}Fix every point and submit again.")
    }

    fn call_started(&mut self, id: &str) {
        self.counts.tool_calls += 1;
        self.counts.calls_since_reasoning += 1;
        self.usage.tool_calls += 1;
        if let Some(call) = self.pending.iter_mut().find(|call| call.id == id) {
            call.started = true;
        }
    }

    fn call_ended(&mut self, invocation: &Invocation, result: &Payload) {
        let Some(at) = self.pending.iter().position(|call| call.id == invocation.id) else {
            return;
        };
        let Some(call) = self.pending.remove(at) else { return };
        let result = value_of(result);
        let ok = invocation.status == InvocationStatus::Success;
        let denied = invocation.status == InvocationStatus::Denied;
        self.failed_here |= !ok;
        self.handover.note_changes(&invocation.changes);
        self.decisions.ended(call.id.as_str(), !invocation.changes.is_empty());
        if !ok {
            self.failed.insert(call.id.clone());
        }
        self.counts.denials = if denied { self.counts.denials + 1 } else { 0 };
        self.repetition.note(&call.tool, &call.args, &result, !invocation.changes.is_empty());
        self.transcript.add_call(&call, invocation, &result);
        let content = excerpt(&call.tool, &call.id, &result, &self.brief.context);
        self.answer(call, content);
    }

    fn answer(&mut self, call: PendingCall, content: String) {
        self.body.push(match call.as_text {
            true => Message::User(observation(&call.tool, &content)),
            false => Message::Tool { call_id: call.id, tool: call.tool, content },
        });
    }

    /// Performs the actions without effects: validates outputs, answers calls over a limit.
    fn settle(&mut self) {
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
        match self.brief.submission.validate(&call.args) {
            Ok(output) => {
                self.handover.own = self.brief.submission.handoff(&call.args);
                self.output = Some(output);
                self.pending.clear();
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
