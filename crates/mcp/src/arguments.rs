//! The arguments of each tool, from which its JSON Schema is derived.

use kb_base::diagnostic::Code;
use kb_base::value::{Failure, JsonMap};
use kb_service::service::ServiceError;
use schemars::JsonSchema;
use serde::Deserialize;

/// No arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

/// Names a playbook.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Id {
    /// Id of a playbook or workflow of the project.
    pub(crate) id: String,
}

/// What to start, with which parameters.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StartRun {
    /// Id of a playbook or workflow of the project.
    pub(crate) id: String,
    /// Values of its parameters, as `paramsSchema` of `playbook_show` describes them. No secrets.
    #[serde(default)]
    #[schemars(with = "std::collections::BTreeMap<String, serde_json::Value>")]
    pub(crate) params: JsonMap,
    /// A name for this start: a second call with the same key starts nothing and answers with the first run.
    pub(crate) key: Option<String>,
}

/// The filter of `run_list`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListRuns {
    /// Only runs of this playbook or workflow.
    pub(crate) playbook: Option<String>,
    /// Maximum number of runs, at most 50; by default 20.
    pub(crate) limit: Option<usize>,
}

/// Which run to show.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Show {
    /// Id of the run, or `@last`.
    pub(crate) run: String,
    /// Milliseconds to wait for the end of the run, at most 25,000.
    #[schemars(range(max = 25000))]
    pub(crate) wait_ms: Option<u64>,
}

/// Which events to read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Events {
    /// Id of the run, or `@last`.
    pub(crate) run: String,
    /// Only events with a greater number; `next` of the answer before.
    pub(crate) after: Option<u64>,
    /// Maximum number of events, at most 500.
    pub(crate) limit: Option<usize>,
}

/// Which output to read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Output {
    /// Id of the run, or `@last`.
    pub(crate) run: String,
    /// A step or item, such as `review[src/a.rs]`; without it, the outputs of the run.
    pub(crate) step: Option<String>,
}

/// Which run to check.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Verify {
    /// Id of the run, or `@last`.
    pub(crate) run: String,
}

/// Which run to cancel.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cancel {
    /// Id of the run. `@last` is not taken: it may be a run of others.
    pub(crate) run: String,
}

/// An error of a call that the client can correct.
pub(crate) fn refused(message: impl Into<String>, help: &str) -> ServiceError {
    ServiceError::refused(Failure::new(Code::BAD_REQUEST, message.into()).help(help))
}
