//! Models: tiers, providers, prices, scripts that stand in for a model.
//!
//! Everything of the provider library stays in `adapter`. No retries inside: the engine owns them.
//! The environment is handed in as a map; nothing here reads it.

mod adapter;
mod failure;
mod known;
mod local;
mod prices;
mod record;
mod script;
mod status;
mod target;
mod tiers;
mod yaml;

pub use adapter::GenaiProvider;
pub use local::{LocalServer, local_servers, servers_at};
pub use prices::{Prices, cost};
pub use record::Recording;
pub use script::ScriptPlayer;
pub use target::Target;
pub use tiers::{TierOrigin, TierReport, Tiers};

use crate::value::{Json, Tier, Usage};
use futures::future::BoxFuture;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Who is asked, as frozen at run start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelRef {
    /// The model's name at its provider.
    pub name: String,
    /// The tier it stands for, where it was chosen by one.
    pub tier: Option<Tier>,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// What the model is.
    System(String),
    /// What it is told.
    User(String),
    /// What it said, and what it asked for.
    Assistant {
        /// Its text; may be empty.
        text: String,
        /// The tools it asked for.
        calls: Vec<CallRequest>,
    },
    /// What a tool answered.
    Tool {
        /// The call's id.
        call_id: String,
        /// The tool.
        tool: String,
        /// Its answer as text; data, never instructions.
        content: String,
    },
}

/// A tool call that a model asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct CallRequest {
    /// The provider's id; made up where it gave none.
    pub id: String,
    /// The tool, by our name (`fs:read`); adapters translate it to what a provider accepts.
    pub tool: String,
    /// Its arguments as parsed; a string where they were no JSON.
    pub args: Json,
}

/// A tool as a model sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDescription {
    /// Our name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON Schema of its arguments.
    pub schema: Json,
}

/// One question to a model.
#[derive(Debug, Clone)]
pub struct ChatRequest {
    /// Who.
    pub model: ModelRef,
    /// The conversation.
    pub messages: Vec<Message>,
    /// The tools it may ask for; none in a reasoning or repair turn.
    pub tools: Vec<ToolDescription>,
    /// The provider's structured-output mode: the answer's text is JSON of this schema.
    pub response_schema: Option<Json>,
    /// 0–2.
    pub temperature: Option<f64>,
    /// The longest answer.
    pub max_tokens: Option<u32>,
    /// The most that the call may take.
    pub timeout: Duration,
    /// For scripts: which step, instance text and attempt asks, and which turn this is (from 1).
    pub origin: CallOrigin,
}

impl ChatRequest {
    /// The smallest question that shows whether a model answers, as `kb doctor --call` asks it.
    pub fn greeting(model: ModelRef) -> ChatRequest {
        ChatRequest {
            model,
            messages: vec![Message::User("Answer with the one word: ready".into())],
            tools: Vec::new(),
            response_schema: None,
            temperature: None,
            max_tokens: Some(256),
            timeout: Duration::from_secs(60),
            origin: CallOrigin {
                step: "doctor".into(),
                attempt: 1,
                turn: 1,
                ..CallOrigin::default()
            },
        }
    }
}

/// Who asks, for scripts and records.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CallOrigin {
    /// The step's id.
    pub step: String,
    /// The instance as text, `review[src/a.rs]`.
    pub instance: String,
    /// From 1.
    pub attempt: u32,
    /// From 1 within the attempt.
    pub turn: u32,
    /// The run's parameters, for a script's placeholders.
    pub params: std::sync::Arc<Json>,
}

/// A model's answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatReply {
    /// Its text; may be empty where it asks for tools.
    pub text: String,
    /// The tools it asks for, in order.
    pub calls: Vec<CallRequest>,
    /// What it took, with its cost where a price is known.
    pub usage: Usage,
    /// The model that answered.
    pub model: String,
    /// Where the answer was cut by its own length limit.
    pub cut_short: bool,
    /// A scripted final output: handed in as if by `submit_output`.
    pub submitted: Option<Json>,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// 429, 5xx, a cut stream, a refused or broken connection.
    #[error("{message}")]
    Transient {
        /// What happened, for people.
        message: String,
        /// HTTP status where there was one.
        status: Option<u16>,
        /// What the provider asks for.
        retry_after: Option<Duration>,
    },
    /// The call took longer than it may.
    #[error("the model `{model}` did not answer within {limit:?}")]
    Timeout {
        /// Who was asked.
        model: String,
        /// The bound.
        limit: Duration,
    },
    /// 400, 401, 403, 404: asking again would not help.
    #[error("{message}")]
    Refused {
        /// What happened and the mend, for people.
        message: String,
        /// HTTP status where there was one.
        status: Option<u16>,
    },
    /// No model for that tier or name.
    #[error("{message}")]
    NoModel {
        /// What is missing.
        message: String,
        /// How to provide a model.
        help: String,
    },
    /// A script has no such turn.
    #[error("{message}")]
    ScriptEnded {
        /// Which turn is missing.
        message: String,
    },
    /// `cancel` was called.
    #[error("cancelled")]
    Cancelled,
}

/// Something that answers.
pub trait ModelProvider: Send + Sync {
    /// Asks once. Text is handed to `on_token` as it comes. Dropping the future stops the call.
    fn chat<'a>(
        &'a self,
        request: ChatRequest,
        on_token: &'a (dyn Fn(&str) + Send + Sync),
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ChatReply, ModelError>>;

    /// Whether there is a model for that choice; the error names what would give one.
    fn resolve(&self, tier: Tier, model: Option<&str>) -> Result<ModelRef, ModelError>;
}
