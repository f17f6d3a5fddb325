//! The table of tools.

use crate::answer::Answer;
use crate::arguments::{
    Cancel, Events, Id, ListRuns, Nothing, Output, Show, StartRun, Verify, refused,
};
use crate::session::Session;
use crate::{playbooks, runs};
use futures::future::{BoxFuture, FutureExt};
use kb_base::value::Json;
use kb_service::service::ServiceError;
use schemars::{Schema, schema_for};
use serde::de::DeserializeOwned;

/// A tool of the server.
pub(crate) struct McpTool {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    /// Whether it changes nothing.
    pub(crate) only_reads: bool,
    /// The JSON Schema of its arguments.
    pub(crate) input: fn() -> Schema,
    /// Carries out a call.
    pub(crate) call: for<'a> fn(&'a Session, Json) -> BoxFuture<'a, Result<Answer, ServiceError>>,
}

/// All tools, in the order of the list that a client gets.
pub(crate) const TOOLS: &[McpTool] = &[
    McpTool {
        name: "playbook_list",
        description: "List the playbooks and workflows of the project.",
        only_reads: true,
        input: || schema_for!(Nothing),
        call: |session, args| with(args, |args| playbooks::list(session, args)),
    },
    McpTool {
        name: "playbook_show",
        description: "Show a playbook: its steps, and the JSON Schema of its parameters.",
        only_reads: true,
        input: || schema_for!(Id),
        call: |session, args| with(args, |args| playbooks::show(session, args)),
    },
    McpTool {
        name: "playbook_run",
        description: "Start a run of a playbook. Answers at once with the id of the run, which continues without this \
                      connection; run_show waits for its end.",
        only_reads: false,
        input: || schema_for!(StartRun),
        call: |session, args| with(args, |args| playbooks::run(session, args)),
    },
    McpTool {
        name: "run_list",
        description: "List runs, newest first.",
        only_reads: true,
        input: || schema_for!(ListRuns),
        call: |session, args| with(args, |args| runs::list(session, args)),
    },
    McpTool {
        name: "run_show",
        description: "Show a run with its steps, their verdicts and the evidence of each check. With waitMs, waits \
                      until the run has ended or waits for a person.",
        only_reads: true,
        input: || schema_for!(Show),
        call: |session, args| with(args, |args| runs::show(session, args)),
    },
    McpTool {
        name: "run_events",
        description: "Read the recorded events of a run in parts: `next` of an answer is `after` of the next call.",
        only_reads: true,
        input: || schema_for!(Events),
        call: |session, args| with(args, |args| runs::events(session, args)),
    },
    McpTool {
        name: "run_output",
        description: "Read the outputs of a run, or the output of one step.",
        only_reads: true,
        input: || schema_for!(Output),
        call: |session, args| with(args, |args| runs::output(session, args)),
    },
    McpTool {
        name: "run_verify",
        description: "Check the record of a run: its hash chain, its blobs, and that the recorded observations give \
                      the recorded verdicts.",
        only_reads: true,
        input: || schema_for!(Verify),
        call: |session, args| with(args, |args| runs::verify(session, args)),
    },
    McpTool {
        name: "run_cancel",
        description: "Cancel a run.",
        only_reads: false,
        input: || schema_for!(Cancel),
        call: |session, args| with(args, |args| runs::cancel(session, args)),
    },
];

/// Reads the arguments of a call and carries it out.
fn with<'a, A, F>(
    args: Json,
    call: impl FnOnce(A) -> F,
) -> BoxFuture<'a, Result<Answer, ServiceError>>
where
    A: DeserializeOwned,
    F: Future<Output = Result<Answer, ServiceError>> + Send + 'a,
{
    match serde_json::from_value(args) {
        Ok(args) => call(args).boxed(),
        Err(error) => {
            let error = refused(
                format!("the arguments do not fit: {error}"),
                "the list of tools has their schema",
            );
            std::future::ready(Err(error)).boxed()
        }
    }
}
