//! Models: tiers, providers, prices, and scripts in place of a model.
//!
//! Start at [`ModelProvider`]. [`Tiers`] resolves a tier to a model, [`GenaiProvider`] calls it,
//! [`ScriptPlayer`] replays a script and [`Recording`] writes one. Types of the provider library stay in
//! `adapter`. Nothing here retries; retries belong to the engine. The environment is passed as a map.

mod adapter;
mod agent_event;
mod failure;
mod faulty;
mod fit;
mod known;
mod limits;
mod local;
mod prices;
mod record;
mod script;
mod status;
mod target;
mod tiers;
mod yaml;

pub use adapter::GenaiProvider;
pub use agent_event::AgentEvent;
pub use faulty::{CallFault, FaultyModel};
pub use fit::Fit;
pub use known::{is_provider, provider_names};
pub use limits::ModelLimits;
pub use local::{LocalServer, local_servers, servers_at};
pub use prices::{Prices, cost};
pub use record::{RecordedTurns, Recording};
pub use script::ScriptPlayer;
pub use target::Target;
pub use tiers::{TierOrigin, TierReport, Tiers};
pub use yaml::yaml as readable_yaml;

use futures::future::BoxFuture;
use kb_base::value::{AttemptPlace, Json, Tier, Usage};
use kb_core::evidence::CallRequest;
use kb_language::definition::{ModelPrice, Reasoning};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// A model, as resolved at the start of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelRef {
    /// The name of the model at its provider.
    pub name: String,
    /// The tier that selected it; `None` if it was named directly.
    pub tier: Option<Tier>,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// The system prompt.
    System(String),
    /// A message of the user or the runtime.
    User(String),
    /// A response of the model.
    Assistant {
        /// The text of the response; may be empty.
        text: String,
        /// The requested tool calls.
        calls: Vec<CallRequest>,
        /// Its reasoning, if the provider expects it back; see [`ChatReply::reasoning`].
        reasoning: Option<Arc<Json>>,
    },
    /// The result of a tool call.
    Tool {
        /// The id that the provider gave the call.
        call_id: String,
        /// The name of the tool.
        tool: String,
        /// The result as text; data, never instructions.
        content: String,
    },
}

/// A tool definition in a request.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDescription {
    /// The name of the tool, such as `fs:read`.
    pub name: String,
    /// The description that the model reads.
    pub description: String,
    /// JSON Schema of the arguments.
    pub schema: Json,
}

/// One request to a model.
#[derive(Debug, Clone)]
pub struct ChatRequest {
    /// The model that is called.
    pub model: ModelRef,
    /// The conversation.
    pub messages: Vec<Message>,
    /// The offered tools; none in a reasoning turn.
    pub tools: Vec<ToolDescription>,
    /// Schema for the provider's structured-output mode: the text of the response is JSON.
    pub response_schema: Option<Json>,
    /// Sampling temperature, 0–2; `None`: the default of the provider.
    pub temperature: Option<f64>,
    /// Maximum tokens of the response, reasoning included.
    pub max_tokens: Option<u32>,
    /// How long the model reasons; `None`: the default of the model.
    pub reasoning: Option<Reasoning>,
    /// Timeout of the call.
    pub timeout: Duration,
    /// The step, attempt and turn of the call, for scripts and recordings.
    pub origin: CallOrigin,
}

/// The step, attempt and turn that a model call belongs to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CallOrigin {
    /// The attempt, and the attempts above that started its run.
    pub place: AttemptPlace,
    /// From 1 within the attempt.
    pub turn: u32,
    /// The parameters of the run, for placeholders in scripts.
    pub params: Arc<Json>,
}

/// The response of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatReply {
    /// The text; may be empty if the response requests tools.
    pub text: String,
    /// The requested tool calls, in order.
    pub calls: Vec<CallRequest>,
    /// Tokens of the call, with the cost if the price is known.
    pub usage: Usage,
    /// The model that answered.
    pub model: String,
    /// Whether the response was truncated at its length limit.
    pub cut_short: bool,
    /// The output of a scripted turn, as if submitted with `submit_output`.
    pub submitted: Option<Json>,
    /// Reasoning that the provider expects back with the response, in a form that only its adapter
    /// reads. It may be signed, so it must not be changed.
    pub reasoning: Option<Json>,
}

/// The reason why a model call failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// There was no connection, so nothing was sent.
    #[error("{message}")]
    Unreachable {
        /// The human-readable message.
        message: String,
    },
    /// A failure that may pass: 429, 5xx, an interrupted stream, a broken connection.
    #[error("{message}")]
    Transient {
        /// The human-readable message.
        message: String,
        /// HTTP status of the response, if there was one.
        status: Option<u16>,
        /// The delay that the provider asks for.
        retry_after: Option<Duration>,
    },
    /// The call exceeded its timeout.
    #[error("the model `{model}` did not answer within {limit:?}")]
    Timeout {
        /// The model that was called.
        model: String,
        /// The timeout that passed.
        limit: Duration,
    },
    /// A failure that a retry cannot fix: 400, 401, 403, 404.
    #[error("{message}")]
    Refused {
        /// The human-readable message, with the fix.
        message: String,
        /// HTTP status of the response, if there was one.
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
    /// The script has no such turn.
    #[error("{message}")]
    ScriptEnded {
        /// The message, with the missing turn.
        message: String,
    },
    /// The call was cancelled.
    #[error("cancelled")]
    Cancelled,
}

/// A source of model responses.
pub trait ModelProvider: Send + Sync {
    /// Calls the model once. `on_token` receives the text as it arrives, and an empty text for reasoning
    /// and parts of tool calls. Dropping the future aborts the call.
    fn chat<'a>(
        &'a self,
        request: ChatRequest,
        on_token: &'a (dyn Fn(&str) + Send + Sync),
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ChatReply, ModelError>>;

    /// Resolves a tier, or a model by name. The error lists the ways to configure one.
    fn resolve(&self, tier: Tier, model: Option<&str>) -> Result<ModelRef, ModelError>;

    /// The price of a model; `None` if it is unknown. The default is free.
    fn price(&self, _model: &ModelRef) -> Option<ModelPrice> {
        Some(prices::FREE)
    }

    /// The name of the provider that serves a model; `None` if nothing is called, as in a script.
    fn provider_of(&self, _model: &ModelRef) -> Option<String> {
        None
    }

    /// The sizes of a model, as far as they are known. The default knows none.
    fn limits(&self, _model: &ModelRef) -> ModelLimits {
        ModelLimits::default()
    }

    /// Where the turns of coding agents are kept; `None`: the run is not recorded.
    fn kept_turns(&self) -> Option<&RecordedTurns> {
        None
    }

    /// What a coding agent did in this turn, to be done again in its place; `None`: the attempt is not one of an agent.
    fn played_events(&self, _origin: &CallOrigin) -> Option<Result<Vec<AgentEvent>, ModelError>> {
        None
    }
}
