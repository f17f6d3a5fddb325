//! The seam between deciding and doing: one request in, one [`Outcome`] out.
//!
//! An executor never touches the journal. What must be stored on the way goes through
//! [`Recorder::record`], which returns once it is; live tokens go through [`Recorder::progress`]
//! and are never stored.

use crate::definition::{HttpStep, OutputParse, Schema, Specialist};
use crate::evidence::Invocation;
use crate::run::{Feedback, Record};
use crate::value::{Failure, InstanceKey, Json, OutcomeKind, RunId, ToolName, Usage};
use futures::future::BoxFuture;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Everything that one attempt needs, rendered.
#[derive(Debug, Clone)]
pub struct Request {
    /// The run.
    pub run: RunId,
    /// Which step or item.
    pub instance: InstanceKey,
    /// From 1.
    pub iteration: u32,
    /// From 1 in each iteration.
    pub attempt: u32,
    /// What to do.
    pub work: Work,
    /// Bound of the attempt; on expiry the outcome is `timeout`.
    pub timeout: Option<Duration>,
    /// Bound of silence: no output, token or tool call for this long is a `timeout` too.
    pub idle: Option<Duration>,
    /// Environment of its processes, rendered, secrets in the clear.
    pub env: Vec<(String, String)>,
    /// Working directory relative to the workspace root; empty is the root.
    pub cwd: String,
    /// Whether manifests are taken around its processes.
    pub evidence: bool,
}

impl Request {
    /// The same for every try of this work in this iteration (DESIGN §4 c): run/instance/iteration.
    pub fn idempotency_key(&self) -> String {
        format!("{}/{}/{}", self.run, self.instance, self.iteration)
    }
}

/// What to do.
#[derive(Debug, Clone)]
pub enum Work {
    /// Let a specialist work.
    Specialist(SpecialistWork),
    /// Run a process.
    Run {
        /// The program and its arguments, or bash with a literal script.
        command: RunWork,
        /// How stdout becomes the output.
        parse: OutputParse,
    },
    /// Call one tool, with the author's word as approval.
    Tool {
        /// Which.
        tool: ToolName,
        /// Its arguments.
        args: Json,
    },
    /// Make one request.
    Http {
        /// As defined; method and expected statuses are taken from it.
        step: Arc<HttpStep>,
        /// Rendered.
        url: String,
        /// Rendered, in order.
        headers: Vec<(String, String)>,
        /// Rendered, in order.
        query: Vec<(String, String)>,
        /// Rendered.
        body: Option<Json>,
    },
}

/// A process.
#[derive(Debug, Clone)]
pub enum RunWork {
    /// `bash -euo pipefail -c SCRIPT`.
    Shell(String),
    /// Without a shell.
    Argv(Vec<String>),
}

/// A specialist's work.
#[derive(Debug, Clone)]
pub struct SpecialistWork {
    /// Who.
    pub specialist: Arc<Specialist>,
    /// What to do, rendered.
    pub task: String,
    /// Structured input, rendered.
    pub input: Option<Json>,
    /// The step's own `output.schema`; holds over the specialist's.
    pub output_schema: Option<Schema>,
    /// What failed before.
    pub feedback: Option<Arc<Feedback>>,
    /// What this attempt had recorded before its holder died, in order; empty at first.
    pub history: Vec<Record>,
    /// The key of a script's turns: instance text and step id are derived from the request.
    pub params: Arc<Json>,
}

/// How an attempt ended.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// In one word.
    pub kind: OutcomeKind,
    /// What it handed out.
    pub output: Option<Json>,
    /// Of a process.
    pub exit_code: Option<i32>,
    /// Of a process; cut at the limit.
    pub stdout: Option<String>,
    /// Of a process; cut at the limit.
    pub stderr: Option<String>,
    /// Why it did not work; with `details.partial` where something was done (000 §12.1).
    pub failure: Option<Failure>,
    /// How long the provider wants us to wait at least.
    pub retry_after: Option<Duration>,
    /// What it took.
    pub usage: Usage,
}

impl Outcome {
    /// Done, with this output.
    pub fn ok(output: Json) -> Self {
        Outcome {
            kind: OutcomeKind::Ok,
            output: Some(output),
            exit_code: None,
            stdout: None,
            stderr: None,
            failure: None,
            retry_after: None,
            usage: Usage::NONE,
        }
    }

    /// Not done, and why.
    pub fn failed(kind: OutcomeKind, failure: Failure) -> Self {
        Outcome { kind, output: None, failure: Some(failure), ..Outcome::ok(Json::Null) }
    }
}

/// What an attempt may show while it is under way; never stored.
#[derive(Debug, Clone)]
pub enum Progress {
    /// The model wrote this.
    Token(String),
    /// A tool is running.
    Tool(String),
    /// The model that is asked.
    Model(String),
    /// A line of a process's output.
    Output(String),
}

/// Where an attempt leaves its records.
pub trait Recorder: Send + Sync {
    /// Stores a record before it returns. `Err` means that the run is no longer ours: stop at once.
    fn record(&self, record: Record) -> BoxFuture<'_, Result<(), Stopped>>;
    /// Shows something; may drop it.
    fn progress(&self, progress: Progress);
}

/// The journal takes no more from this attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the run has another holder or its journal is closed")]
pub struct Stopped;

/// What an attempt has around it.
#[derive(Clone)]
pub struct Context {
    /// Cancelled when the attempt is to stop.
    pub cancel: CancellationToken,
    /// Where records go.
    pub recorder: Arc<dyn Recorder>,
}

/// Does one attempt.
pub trait Executor: Send + Sync {
    /// Never panics and always ends: by its work, its timeout or `context.cancel`.
    fn execute(&self, request: Request, context: Context) -> BoxFuture<'static, Outcome>;
}

/// The evidence among records: the calls that have a result.
pub fn invocations(records: &[Record]) -> impl Iterator<Item = &Invocation> {
    records.iter().filter_map(|record| match record {
        Record::ToolResult { invocation, .. } => Some(invocation),
        _ => None,
    })
}
