//! A conversation: what the records of an attempt add up to.
//!
//! [`Conversation::apply`] is the only way to change one, live and on resume alike, so any prefix of
//! the records leads to the state that the attempt was in when it had recorded them.

use super::compression::{estimated_tokens, foldable, summarize};
use super::excerpt::excerpt;
use super::messages::{as_text, merged, observation};
use super::prompt::{GO_ON, REFLECT, not_submitted};
use super::repetition::Repetition;
use super::submit::{SUBMIT, Submission, TextOutput, complaint};
use super::text_form;
use super::transcript::Transcript;
use super::turn::{LoopState, Mode, Next, Pending, Turn, next};
use crate::definition::{LoopLimits, Violation};
use crate::evidence::{Invocation, InvocationStatus, Payload, Record, RecordedCall};
use crate::llm::{CallRequest, Message};
use crate::value::{Json, Usage, json_text};
use std::collections::VecDeque;

/// What an attempt starts from.
#[derive(Debug, Clone)]
pub struct Brief {
    /// From 1; part of the calls' ids.
    pub attempt: u32,
    /// The system prompt.
    pub system: String,
    /// The task, its input, and what failed before.
    pub task: String,
    /// Its tools by name, for models that spell them otherwise.
    pub tools: Vec<String>,
    /// What it may take.
    pub limits: LoopLimits,
    /// What it is to hand in.
    pub submission: Submission,
}

/// A call that a model asked for and that has no answer yet.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingCall {
    /// Unique within the step's attempts.
    pub id: String,
    /// Which tool.
    pub tool: String,
    /// Its arguments.
    pub args: Json,
    /// Whether it was begun.
    pub started: bool,
    /// Whether it was written as text, and is answered as text.
    pub as_text: bool,
}

/// The state of an attempt.
#[derive(Debug, Clone)]
pub struct Conversation {
    brief: Brief,
    summary: Option<String>,
    body: Vec<Message>,
    pending: VecDeque<PendingCall>,
    counts: LoopState,
    repetition: Repetition,
    declined_here: bool,
    failed_here: bool,
    output: Option<Json>,
    transcript: Transcript,
    usage: Usage,
}

impl Conversation {
    /// Before the first turn.
    pub fn begin(brief: Brief) -> Self {
        let counts = LoopState {
            max_steps: brief.limits.max_steps,
            max_tool_calls: brief.limits.max_tool_calls,
            reasoning_every: brief.limits.forced_reasoning_interval,
            ..LoopState::default()
        };
        Conversation {
            brief,
            summary: None,
            body: Vec::new(),
            pending: VecDeque::new(),
            counts,
            repetition: Repetition::default(),
            declined_here: false,
            failed_here: false,
            output: None,
            transcript: Transcript::default(),
            usage: Usage::NONE,
        }
    }

    /// What happens next.
    pub fn next(&self) -> Next {
        next(&self.standing())
    }

    /// What it adds up to.
    pub fn standing(&self) -> LoopState {
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
            foldable: foldable(&self.body) as u32,
            tokens: estimated_tokens(&self.messages()),
            ..self.counts
        }
    }

    /// Takes a record in, and whatever follows from it without anything being done.
    pub fn apply(&mut self, record: &Record) {
        match record {
            Record::ModelCall { text, calls, usage, cut_short, .. } => {
                self.usage += *usage;
                self.replied(&text_of(text), calls, *cut_short);
            }
            Record::ToolCall { id, .. } => self.begun(id),
            Record::ToolResult { invocation, result, .. } => self.ended(invocation, result),
            Record::Compression { covers, summary, usage, .. } => {
                self.usage += *usage;
                self.body.drain(..(*covers as usize).min(self.body.len()));
                self.summary = Some(summary.clone());
            }
            Record::Observed { .. } | Record::Note { .. } => {}
        }
        self.settle();
    }

    /// The call that is next.
    pub fn pending(&self) -> Option<&PendingCall> {
        self.pending.front()
    }

    /// Model calls so far.
    pub fn turns(&self) -> u32 {
        self.counts.turns
    }

    /// The output, once it is there.
    pub fn output(&self) -> Option<&Json> {
        self.output.as_ref()
    }

    /// What it took so far.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// What it started from.
    pub fn brief(&self) -> &Brief {
        &self.brief
    }

    /// What is left of it for a report.
    pub(super) fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// The messages as a model sees them; neighbours from the user are one.
    pub fn messages(&self) -> Vec<Message> {
        let head =
            [Message::System(self.brief.system.clone()), Message::User(self.brief.task.clone())];
        let summary = self.summary.as_ref().map(|text| {
            Message::User(format!("# What you did so far (noted by the runtime)\n\n{text}"))
        });
        merged(head.into_iter().chain(summary).chain(self.body.iter().cloned()))
    }

    /// The messages without native calls, for a question without tools: some providers refuse
    /// conversations that mention tools which they are not offered.
    pub fn messages_as_text(&self) -> Vec<Message> {
        merged(self.messages().into_iter().map(as_text))
    }

    /// How many messages a summary would cover, and the summary.
    pub(super) fn compressed(&self) -> (u32, String) {
        let covers = foldable(&self.body);
        (covers as u32, summarize(self.summary.as_deref(), &self.body[..covers]))
    }

    fn mode(&self) -> Mode {
        match self.next() {
            Next::CallModel(Turn { mode, .. }) => mode,
            _ => Mode::Continue,
        }
    }

    fn replied(&mut self, text: &str, calls: &[RecordedCall], cut_short: bool) {
        let mode = self.mode();
        self.counts.turns += 1;
        self.declined_here = false;
        self.failed_here = false;
        // Calls of a reply before this one that nobody answered cannot be answered any more.
        self.pending.clear();
        self.transcript.said(text);
        if mode == Mode::Reason {
            self.counts.calls_since_reasoning = 0;
            self.body.push(Message::User(REFLECT.to_owned()));
        }
        let written = text_form::parse(text);
        if !calls.is_empty() {
            let calls = calls.iter().map(|call| (call.tool.clone(), call.args.clone()));
            self.asked(text.to_owned(), calls.collect(), false);
        } else if mode == Mode::Reason {
            self.spoke(text);
            self.body.push(Message::User(GO_ON.to_owned()));
        } else if !written.actions.is_empty() && mode != Mode::Structured {
            self.asked(written.text, written.actions, true);
        } else {
            self.spoke(text);
            self.handed_in_as_text(text, cut_short);
        }
    }

    fn spoke(&mut self, text: &str) {
        let text = if text.trim().is_empty() { "(an empty answer)" } else { text };
        self.body.push(Message::Assistant { text: text.to_owned(), calls: Vec::new() });
    }

    fn asked(&mut self, text: String, calls: Vec<(String, Json)>, as_text: bool) {
        let turn = self.counts.turns;
        let pending: Vec<PendingCall> = calls
            .into_iter()
            .enumerate()
            .map(|(i, (tool, args))| PendingCall {
                id: format!("call_{}_{turn}_{}", self.brief.attempt, i + 1),
                tool: self.our_name(tool),
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
        self.body.push(Message::Assistant { text, calls: native.collect() });
        self.pending = pending.into();
    }

    /// Models write `fs_read` or `fs.read` for `fs:read`.
    fn our_name(&self, name: String) -> String {
        let plain = |text: &str| text.replace([':', '.', '-', '/'], "_").to_ascii_lowercase();
        let known = self.brief.tools.iter().map(String::as_str).chain([SUBMIT]);
        let exact = known.clone().find(|tool| *tool == name);
        let alike = || known.clone().find(|tool| plain(tool) == plain(&name));
        exact.or_else(alike).map(str::to_owned).unwrap_or(name)
    }

    fn handed_in_as_text(&mut self, text: &str, cut_short: bool) {
        match self.brief.submission.judge_text(text) {
            TextOutput::Fits(output) => self.output = Some(output),
            TextOutput::Unfit(violations, candidate) => {
                let complaint = self.refused(&violations, candidate);
                self.body.push(Message::User(complaint));
            }
            TextOutput::Nothing => {
                self.counts.silent += 1;
                self.body.push(Message::User(not_submitted(cut_short)));
            }
        }
    }

    fn refused(&mut self, violations: &[Violation], candidate: Json) -> String {
        self.counts.invalid += 1;
        let complaint = complaint(violations);
        self.transcript.handed_in(candidate, violations);
        format!("{complaint}Hand it in again with all of this mended.")
    }

    fn begun(&mut self, id: &str) {
        self.counts.tool_calls += 1;
        self.counts.calls_since_reasoning += 1;
        self.usage.tool_calls += 1;
        if let Some(call) = self.pending.iter_mut().find(|call| call.id == id) {
            call.started = true;
        }
    }

    fn ended(&mut self, invocation: &Invocation, result: &Payload) {
        let Some(at) = self.pending.iter().position(|call| call.id == invocation.id) else {
            return;
        };
        let Some(call) = self.pending.remove(at) else { return };
        let result = value_of(result);
        let ok = invocation.status == InvocationStatus::Success;
        let denied = invocation.status == InvocationStatus::Denied;
        self.failed_here |= !ok;
        self.counts.denials = if denied { self.counts.denials + 1 } else { 0 };
        self.repetition.note(&call.tool, &call.args, &result, !invocation.changes.is_empty());
        self.transcript.called(&call, invocation, &result);
        let content = excerpt(&call.tool, &call.id, &result);
        self.answer(call, content);
    }

    fn answer(&mut self, call: PendingCall, content: String) {
        self.body.push(match call.as_text {
            true => Message::User(observation(&call.tool, &content)),
            false => Message::Tool { call_id: call.id, tool: call.tool, content },
        });
    }

    /// Does all that needs nobody: outputs are judged, calls over a limit answered.
    fn settle(&mut self) {
        loop {
            match self.next() {
                Next::Validate => self.judge(),
                Next::Decline => self.decline(),
                _ => return,
            }
        }
    }

    fn judge(&mut self) {
        let Some(call) = self.pending.pop_front() else { return };
        if self.failed_here {
            let content = "not taken: a call before it in the same reply did not succeed; look at \
                           its result, then hand in again";
            return self.answer(call, content.to_owned());
        }
        match self.brief.submission.judge(&call.args) {
            Ok(output) => {
                self.output = Some(output);
                self.pending.clear();
            }
            Err(violations) => {
                let complaint = self.refused(&violations, call.args.clone());
                self.answer(call, complaint);
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
            "not called: the limit of {} tool calls or {} turns is reached; hand in what you have \
             with `{SUBMIT}`",
            self.counts.max_tool_calls, self.counts.max_steps
        );
        self.answer(call, content);
    }
}

fn text_of(payload: &Payload) -> String {
    payload.as_inline().map(|json| json_text(json)).unwrap_or_default()
}

fn value_of(payload: &Payload) -> Json {
    match payload {
        Payload::Inline(value) => (**value).clone(),
        Payload::Blob { bytes, .. } => Json::String(format!("({bytes} bytes, kept elsewhere)")),
    }
}
