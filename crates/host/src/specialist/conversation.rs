//! A conversation: the state of an attempt as a fold over its records.
//!
//! [`Conversation::apply`] is the only way to change one, live and on resume alike. Any prefix of the
//! records therefore leads to the state that the attempt had when it had stored them. `transition` has the
//! effects of responses and results, `phase_transition` those of phases.

use super::approval::Decisions;
use super::brief::Brief;
use super::compression::{coverable, estimated_tokens, summarize};
use super::handover::{HISTORY_TURN, Handover};
use super::messages::{as_text, merged, text_of};
use super::pending_call::PendingCall;
use super::phases::Phases;
use super::repetition::Repetition;
use super::retention::kept;
use super::submit::SUBMIT;
use super::transcript::Transcript;
use super::turn::{LoopState, Next, Pending, next};
use crate::llm::Message;
use kb_base::value::{Json, Usage};
use kb_core::evidence::{Handoff, Payload, Record};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// The state of an attempt.
#[derive(Debug, Clone)]
pub struct Conversation {
    pub(super) brief: Brief,
    pub(super) summary: Option<String>,
    pub(super) plan: Option<String>,
    /// Reasoning of the latest response, to be sent back with its calls.
    pub(super) reasoning: Option<Arc<Json>>,
    /// Decisions of people about calls.
    pub(super) decisions: Decisions,
    /// Ids of the calls that did not succeed.
    pub(super) failed: BTreeSet<String>,
    pub(super) body: Vec<Message>,
    pub(super) pending: VecDeque<PendingCall>,
    /// The tool of a call that was cut off at the end of the response with the pending calls.
    pub(super) incomplete: Option<String>,
    pub(super) counts: LoopState,
    pub(super) repetition: Repetition,
    pub(super) declined_here: bool,
    pub(super) failed_here: bool,
    pub(super) output: Option<Json>,
    pub(super) handover: Handover,
    pub(super) transcript: Transcript,
    pub(super) usage: Usage,
    /// The results of the phases.
    pub(super) phases: Phases,
    /// What a call that was sent and not answered has reserved.
    pub(super) reserved: Option<Usage>,
}

impl Conversation {
    /// The conversation before the first turn.
    pub fn begin(brief: Brief) -> Self {
        let counts = LoopState {
            max_steps: brief.limits.max_steps,
            max_tool_calls: brief.limits.max_tool_calls,
            reasoning_every: brief.limits.forced_reasoning_interval,
            compress_above: brief.context.compress_above(),
            small_limit: Some(brief.context.small_limit()),
            phases: brief.limits.phases,
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
            incomplete: None,
            counts,
            repetition: Repetition::default(),
            declined_here: false,
            failed_here: false,
            output: None,
            handover: Handover::default(),
            transcript: Transcript::default(),
            usage: Usage::NONE,
            phases: Phases::default(),
            reserved: None,
        }
    }

    /// Adds a section to the first user message.
    pub(super) fn add_to_task(&mut self, section: &str) {
        self.brief.task = format!("{}\n\n{section}", self.brief.task);
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
            has_draft: self.phases.draft.is_some(),
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
            Record::ModelCall { turn: HISTORY_TURN, text, usage, cut_short, .. } => {
                self.usage += *usage;
                self.handover.history = (!cut_short).then(|| text_of(text));
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
            Record::Phase { phase, round, .. } => self.entered(*phase, *round),
            Record::Recall { text, .. } => self.handover.memory = Some(text.clone()),
            Record::Approval { call, approved, by, comment, answer } => {
                let answer = answer.as_ref().and_then(Payload::as_inline).map(|own| &**own);
                self.decisions.note(call, *approved, (by, comment.as_deref()), answer);
                if call.asks_input {
                    self.call_repeats();
                }
            }
            Record::DelegateEnded { usage, .. } => self.usage += *usage,
            Record::BudgetWarning { .. }
            | Record::Output { .. }
            | Record::Observed { .. }
            | Record::ChildRun { .. }
            | Record::ChildRunEnded { .. }
            | Record::Delegate { .. }
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

    /// What the model passed on with an output that was refused.
    pub(super) fn refused_handoff(&self) -> Option<Handoff> {
        (self.handover.own != Handoff::default()).then(|| self.handoff())
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
        kept(
            &self.body,
            covers,
            &self.failed,
            self.brief.context.kept_tokens(),
            &self.brief.catalog,
        )
    }

    /// Number of messages that a summary would replace.
    fn foldable(&self) -> u32 {
        let covers = coverable(&self.body);
        match self.counts.compress_above {
            None => covers as u32,
            Some(_) => (covers - self.keeps(covers).len()) as u32,
        }
    }
}
