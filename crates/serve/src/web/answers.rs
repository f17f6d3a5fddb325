//! The forms of answers that are made of several values: what the OpenAPI document says about them, and what is sent.

use kb_base::value::Json;
use schemars::JsonSchema;
use serde::Serialize;

/// A value of a project.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct OfProject<T> {
    /// Id of the project.
    pub project: String,
    #[serde(flatten)]
    pub value: T,
}

/// The run that a request concerns.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RunRef {
    /// Id of the run.
    pub run: String,
}

/// A run that was queued.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct StartedRun {
    /// Id of the project.
    pub project: String,
    /// Id of the run; it exists once the daemon has started it.
    pub run: String,
    /// Id of the definition.
    pub definition: String,
    /// Whether an earlier request with the same key had queued it.
    pub repeated: bool,
}

/// A decision that counts.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct DecidedAsk {
    /// Id of the run.
    pub run: String,
    /// Id of the question.
    pub ask: String,
}

/// The answer to a delivery of a webhook.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum DeliveryAnswer {
    /// A run is queued, or the reason why not is listed.
    Recorded {
        /// Id of the trigger.
        trigger: String,
        /// Whether the same delivery was recorded before.
        repeated: bool,
    },
    /// It only asked whether the address answers.
    Asked {
        /// The text that Slack wants to read back.
        challenge: String,
    },
}

/// Lines of the log of a step.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct LogLines<L> {
    /// Id of the run.
    pub run: String,
    /// Name of the step or item.
    pub step: String,
    /// Number of the first line, from 1.
    pub from: u64,
    /// Number of all lines.
    pub total: usize,
    /// The lines, with number, channel and text.
    pub lines: Vec<L>,
}

/// A playbook with its parameters and its graph.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct PlaybookSheet<D> {
    /// Id of the project.
    pub project: String,
    #[serde(flatten)]
    pub definition: D,
    /// The JSON Schema of the parameters.
    pub params_schema: Json,
    /// `nodes` and `edges`; null if there is no plan.
    pub graph: Json,
}

/// Whether schedules are followed.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Health {
    /// `ok`, `problem` (a project cannot be served) or `stalled`.
    pub status: String,
    /// Version of `kb`.
    pub version: String,
    /// Number of projects that cannot be served; `GET /api/v1/projects` says why.
    pub problems: usize,
    /// Seconds since the last turn of the scheduler; null before the first one.
    pub scheduler_idle_seconds: Option<u64>,
}

/// What a new session may do.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SessionRole {
    /// `read`, `run`, `approve` or `admin`.
    pub role: String,
}

/// Any JSON object.
#[derive(Debug, JsonSchema)]
pub(super) struct JsonObject {
    #[schemars(flatten)]
    _entries: std::collections::BTreeMap<String, Json>,
}
