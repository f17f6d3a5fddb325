//! What an attempt stores in the journal while it runs: model calls, tool calls, notes.
//! The serialised names are part of the journal's format. Start at [`Record`].

use super::process_evidence::is_zero;
use super::{CacheHit, CallRef, Invocation, Phase, VerdictCounts, Verification};
use kb_base::diagnostic::Severity;
use kb_base::value::{DefinitionId, Digest, Failure, Json, RunId, RunStatus, Tier, Usage};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A value of any size. Small values are stored in the event, large ones in a blob named by its
/// digest. Modules below the engine create `Inline` only; the engine moves large values to blobs
/// before it stores the event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Payload {
    /// The value itself.
    Inline(Arc<Json>),
    /// A blob that contains the value as canonical JSON text.
    Blob {
        /// SHA-256 of the text, which names the blob.
        digest: Digest,
        /// Length of the text in bytes.
        bytes: u64,
    },
}

impl Payload {
    /// Creates an inline payload.
    pub fn inline(value: Json) -> Self {
        Payload::Inline(Arc::new(value))
    }

    /// The value, if it is stored inline.
    pub fn as_inline(&self) -> Option<&Arc<Json>> {
        match self {
            Payload::Inline(value) => Some(value),
            Payload::Blob { .. } => None,
        }
    }
}

impl From<Json> for Payload {
    fn from(value: Json) -> Self {
        Payload::inline(value)
    }
}

/// One entry of an attempt, in the order of storage. A resumed specialist continues from these
/// entries; each is stored before the attempt acts on it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "record")]
pub enum Record {
    /// A model returned a response.
    #[serde(rename_all = "camelCase")]
    ModelCall {
        /// Turn of the attempt, from 1.
        turn: u32,
        /// Name of the model that answered.
        model: String,
        /// Tier that selected the model; `None` if the model was named directly.
        tier: Option<Tier>,
        /// Digest of the request: messages, tools, schema, options.
        request: Digest,
        /// Digests of the parts of the request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        digests: Option<Box<RequestDigests>>,
        /// The request itself; `None` with `journal.prompts: digest`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<Box<Prompt>>,
        /// Tokens and cost of the call.
        usage: Usage,
        /// Text of the response.
        text: Payload,
        /// Reasoning that is sent back to the provider with the response.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reasoning: Option<Payload>,
        /// Tool calls that the response requests; `submit_output` submits the output.
        calls: Vec<CallRequest>,
        /// Whether the response ended at the model's length limit.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        cut_short: bool,
    },
    /// A tool call is about to start.
    #[serde(rename_all = "camelCase")]
    ToolCall {
        /// Turn of the attempt; 0 for the call of a `tool` step.
        turn: u32,
        /// Call id, unique within the attempt.
        id: String,
        /// Name of the tool.
        tool: String,
        /// Arguments, masked.
        args: Payload,
        /// An estimate of how much of the work is done before the call, in percent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        percent_done: Option<u8>,
    },
    /// A tool call ended.
    #[serde(rename_all = "camelCase")]
    ToolResult {
        /// Turn of the matching `ToolCall`.
        turn: u32,
        /// Evidence of the call.
        invocation: Invocation,
        /// The full result; the model may have received a shorter one.
        result: Payload,
    },
    /// A person decided about a tool call, or answered what its server asks.
    #[serde(rename_all = "camelCase")]
    Approval {
        /// The call that the decision is about.
        call: CallRef,
        /// Whether the call may be executed, or the question was answered.
        approved: bool,
        /// Name of the person.
        by: String,
        /// Comment of the person.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        comment: Option<String>,
        /// The answer to the question of a server.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<Payload>,
    },
    /// The context was compressed; later turns contain this summary instead of the older messages.
    #[serde(rename_all = "camelCase")]
    Compression {
        /// Last turn before the compression.
        turn: u32,
        /// Number of messages at the start that the summary replaces, except those in `keeps`.
        covers: u32,
        /// Positions of the covered messages that stay unchanged.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        keeps: Vec<u32>,
        /// Text of the summary.
        summary: String,
        /// Tokens and cost of the summary; none if the runtime wrote it without a model.
        #[serde(default, skip_serializing_if = "Usage::is_none")]
        usage: Usage,
    },
    /// The observations of a gate, stored with its verdict so that the verdict can be verified.
    #[serde(rename_all = "camelCase")]
    Observed {
        /// The observations in the form that `verify` writes.
        basis: Payload,
    },
    /// What the process of a step wrote since the last such record of the attempt, in whole lines.
    #[serde(rename_all = "camelCase")]
    Output {
        /// A list of parts in order: [`OutputPart`].
        parts: Payload,
        /// Bytes before these that are not kept.
        #[serde(default, skip_serializing_if = "is_zero")]
        omitted: u64,
    },
    /// A child run is about to start or to continue.
    #[serde(rename_all = "camelCase")]
    ChildRun {
        /// Id of the child run.
        run: RunId,
        /// Id of its playbook or workflow.
        definition: DefinitionId,
    },
    /// A child run ended, or was left while it waits.
    #[serde(rename_all = "camelCase")]
    ChildRunEnded {
        /// Id of the child run.
        run: RunId,
        /// Status of the child run.
        status: RunStatus,
        /// The verdicts of its gates; `None` without gates.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        verdicts: Option<VerdictCounts>,
    },
    /// A model call is about to be sent: what it may use at most, so that it counts if it is never answered.
    /// Without a usage, the provider refused it, and the reservation is given back. Recorded only if the run
    /// has a budget.
    #[serde(rename_all = "camelCase")]
    Reservation {
        /// The reserved usage.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
    },
    /// The cost reached the warning threshold of a budget.
    #[serde(rename_all = "camelCase")]
    BudgetWarning {
        /// The warning, a lower-case fragment.
        text: String,
    },
    /// A phase of a specialist with `agentLoop` began.
    #[serde(rename_all = "camelCase")]
    Phase {
        /// The phase that began.
        phase: Phase,
        /// Number of the round of execution and critique, from 1.
        round: u32,
        /// What the phase before gave: the understanding, the plan, the critique; for `finish`, the reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        previous: Option<String>,
    },
    /// What the specialist was shown of the memory before its first turn, as data in its first message.
    #[serde(rename_all = "camelCase")]
    Recall {
        /// Ids of the entries.
        entries: Vec<String>,
        /// One line for each entry, with its age and evidence.
        text: String,
    },
    /// A specialist is about to give a task to another one, which works in a child run.
    #[serde(rename_all = "camelCase")]
    Delegate {
        /// Id of the tool call.
        call: String,
        /// Id of the specialist that gets the task.
        agent: String,
        /// The start of the task.
        task: String,
        /// Id of the child run.
        run: RunId,
        /// Level of the child run below the first run, from 1.
        depth: u32,
        /// Lower is more urgent.
        priority: u32,
    },
    /// The child run of a delegated task ended, or was stopped.
    #[serde(rename_all = "camelCase")]
    DelegateEnded {
        /// Id of the tool call.
        call: String,
        /// What the child run used that was not reported before.
        usage: Usage,
    },
    /// The attempt took a stored result in place of its work.
    CacheHit(Box<CacheHit>),
    /// A message for the log, such as a repair turn, a fallback model or a warning.
    Note(Note),
}

impl Record {
    /// The tool calls that it records; those of a stored result, for a hit of the cache.
    pub fn calls(&self) -> &[Invocation] {
        match self {
            Record::ToolResult { invocation, .. } => std::slice::from_ref(invocation),
            Record::CacheHit(hit) => &hit.trace,
            _ => &[],
        }
    }
}

/// A part of the output of a process, in the form in which `Record::Output` lists them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum OutputPart {
    /// Text of stdout.
    #[serde(rename = "out")]
    Stdout(String),
    /// Text of stderr.
    #[serde(rename = "err")]
    Stderr(String),
}

impl OutputPart {
    /// The parts in the recorded form; empty if it is none.
    pub fn list(recorded: &Json) -> Vec<OutputPart> {
        Vec::deserialize(recorded).unwrap_or_default()
    }

    /// The name of the channel.
    pub fn channel(&self) -> &'static str {
        match self {
            OutputPart::Stdout(_) => "stdout",
            OutputPart::Stderr(_) => "stderr",
        }
    }

    /// The text of the part, masked once it is recorded.
    pub fn into_text(self) -> String {
        match self {
            OutputPart::Stdout(text) | OutputPart::Stderr(text) => text,
        }
    }
}

/// A message for the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Whether it is a warning.
    pub level: Severity,
    /// Message text, a lower-case fragment.
    pub text: String,
}

impl Note {
    /// A note for information.
    pub fn info(text: impl Into<String>) -> Note {
        Note { level: Severity::Info, text: text.into() }
    }

    /// A note that displays mark as a warning.
    pub fn warning(text: impl Into<String>) -> Note {
        Note { level: Severity::Warning, text: text.into() }
    }
}

/// Digests of the parts of a model request, for the comparison of two calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestDigests {
    /// Digest of the system prompt: role, rules, tool descriptions, requested output.
    pub prompt: Digest,
    /// Digest of the offered tools: names, descriptions, argument schemas.
    pub tools: Digest,
    /// Digest of the response schema, if the request had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Digest>,
    /// Digest of the model parameters: name, temperature, length limit.
    pub model: Digest,
}

/// The content of a model request. The attempt's first request that contains a part stores its content;
/// later requests refer to it by digest, so that a conversation is not stored again for every turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Prompt {
    /// The messages in order. The content of one is `{role, text}`, with `calls` or `tool` and
    /// `callId` as far as they apply.
    pub messages: Vec<PromptPart>,
    /// The offered tools: `[{name, description, schema}]`. `None` if no tools were offered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<PromptPart>,
    /// The response schema, if the request had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<PromptPart>,
}

impl Prompt {
    /// All parts of the prompt.
    pub fn parts(&self) -> impl Iterator<Item = &PromptPart> {
        self.messages.iter().chain(&self.tools).chain(&self.schema)
    }

    /// All parts of the prompt, mutably.
    pub fn parts_mut(&mut self) -> impl Iterator<Item = &mut PromptPart> {
        self.messages.iter_mut().chain(&mut self.tools).chain(&mut self.schema)
    }
}

/// A message or tool definition that was sent, stored once per attempt and referred to by its
/// digest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptPart {
    /// Digest of the masked content.
    pub digest: Digest,
    /// The masked content; `None` if an earlier request of the attempt stored it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Payload>,
}

impl PromptPart {
    /// A part with its content.
    pub fn of(content: Json) -> Self {
        PromptPart { digest: Digest::of_json(&content), content: Some(Payload::inline(content)) }
    }
}

/// A tool call as the model requested it: in a response, a message and the record of a model call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallRequest {
    /// The id that the provider assigned, or a generated one.
    pub id: String,
    /// The name of the tool, such as `fs:read`; adapters translate it into a form that the provider
    /// accepts.
    pub tool: String,
    /// The parsed arguments; a string if they were not JSON.
    pub args: Json,
}

/// What an attempt does with the work of the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approach {
    /// It corrects what was refused.
    Correct,
    /// It takes another approach.
    Another,
    /// It does the same work, which was interrupted.
    Same,
}

/// Why the previous attempt failed, as the next attempt receives it.
#[derive(Debug, Clone, PartialEq)]
pub struct Feedback {
    /// Failure that the executor reported.
    pub failure: Option<Failure>,
    /// Result of the gate.
    pub verification: Option<Verification>,
    /// What the next attempt does with the work of the previous one.
    pub approach: Approach,
    /// What the person wrote who permitted another attempt.
    pub advice: Option<String>,
}
