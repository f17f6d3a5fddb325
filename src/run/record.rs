use crate::evidence::Invocation;
use crate::value::{Digest, Json, Tier, Usage};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A value of any size: small ones stay in the event, large ones go to a blob named by its digest.
/// Rooms below the engine make `Inline` only; the engine moves what is large before it is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Payload {
    /// The value itself.
    Inline(Arc<Json>),
    /// Its canonical JSON text is the blob with this digest.
    Blob {
        /// Names the blob.
        digest: Digest,
        /// Its size.
        bytes: u64,
    },
}

impl Payload {
    /// An inline value.
    pub fn inline(value: Json) -> Self {
        Payload::Inline(Arc::new(value))
    }

    /// The value, where it is inline.
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

/// What an attempt leaves in the journal while it is under way, in order. A specialist that is
/// resumed goes on from these; each is stored before what follows from it is done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "record")]
pub enum Record {
    /// A model answered.
    #[serde(rename_all = "camelCase")]
    ModelCall {
        /// Turn of this attempt, from 1.
        turn: u32,
        /// The model that answered.
        model: String,
        /// The tier it was chosen by, where it was.
        tier: Option<Tier>,
        /// Digest of the request: messages, tools, schema, options.
        request: Digest,
        /// Digests of the request's parts; nothing in what was recorded before they were.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        digests: Option<Box<RequestDigests>>,
        /// What it took.
        usage: Usage,
        /// Its text.
        text: Payload,
        /// The tools it asks for; `submit_output` where it hands its output in.
        calls: Vec<RecordedCall>,
        /// Whether its answer was cut at the length limit.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        cut_short: bool,
    },
    /// A tool is about to be called.
    #[serde(rename_all = "camelCase")]
    ToolCall {
        /// Turn of this attempt; 0 for a step's own call.
        turn: u32,
        /// Unique within the attempt.
        id: String,
        /// Which tool.
        tool: String,
        /// Its arguments, masked.
        args: Payload,
    },
    /// It ended.
    #[serde(rename_all = "camelCase")]
    ToolResult {
        /// As in its call.
        turn: u32,
        /// The evidence.
        invocation: Invocation,
        /// The whole result; the model may have seen less.
        result: Payload,
    },
    /// The context was shortened; later turns see this summary instead of what it covers.
    #[serde(rename_all = "camelCase")]
    Compression {
        /// After which turn.
        turn: u32,
        /// How many messages it covers.
        covers: u32,
        /// The summary.
        summary: String,
        /// What a model took for it; nothing where the runtime wrote it.
        #[serde(default, skip_serializing_if = "Usage::is_none")]
        usage: Usage,
    },
    /// What a gate looked at, recorded with its verdict so that this can be found again.
    #[serde(rename_all = "camelCase")]
    Observed {
        /// As `verify` writes it.
        basis: Payload,
    },
    /// Something worth a line in the log: a repair turn, a fallback model, a warning.
    #[serde(rename_all = "camelCase")]
    Note {
        /// A fragment for people.
        text: String,
    },
}

/// Digests of what a model was asked, part by part, so that two calls can be compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestDigests {
    /// The system prompt: role, rules, tools in words, the output that is asked for.
    pub prompt: Digest,
    /// The tools that were offered: names, descriptions, schemas of their arguments.
    pub tools: Digest,
    /// The schema of the answer, where one was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Digest>,
    /// The model as it was asked for: name, temperature, length limit.
    pub model: Digest,
}

/// A tool call as a model asked for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedCall {
    /// The provider's id, or one made by us.
    pub id: String,
    /// Which tool.
    pub tool: String,
    /// Its arguments as parsed.
    pub args: Json,
}
