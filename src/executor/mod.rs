//! Executes attempts and observes the workspace for gates: one request in, one [`Outcome`] out.
//!
//! An executor does not access the journal. It passes records to [`Recorder::record`], which returns
//! once they are stored, and live output to [`Recorder::progress`], which is never stored. The types of
//! requests and outcomes are in [`crate::attempt`].
//!
//! Start at [`LocalExecutor`]. Each step kind has one module: `run`, `tool`, `http`, `specialist`,
//! `child`; `gate` evaluates the checks of a gate.

mod cached;
mod child;
mod confinement;
mod gate;
mod host_access;
mod http;
mod items;
mod last_line;
mod lease;
mod local;
mod run;
mod specialist;
mod specialist_input;
mod stubs;
mod tool;

pub use cached::{CacheOptions, StepCache};
pub use child::ChildRuns;
pub use gate::{Judges, commands_before, run_gate};
pub use host_access::HostAccess;
pub use local::LocalExecutor;
pub use stubs::Stubs;

use crate::attempt::FileItems;
pub use crate::attempt::{
    Argument, CommandLine, Confined, Context, Outcome, Progress, Recorder, Request, SpecialistWork,
    StepWork, Stopped, TreeRequest,
};
use crate::definition::{Check, ClaimPolicy, NetworkAccess, Schema};
use crate::diagnostic::Code;
use crate::evidence::{Invocation, Merged, Record, Verification};
use crate::expression::Scope;
use crate::value::{Failure, InstanceKey, Json, RunId, Tier};
use futures::future::BoxFuture;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Executes attempts and evaluates gates.
pub trait Executor: Send + Sync {
    /// Executes one attempt. Never panics; ends when the work is done, at its timeout, or when
    /// `context.cancel` is cancelled.
    fn execute(&self, request: Request, context: Context) -> BoxFuture<'static, Outcome>;

    /// Lists the items of a `forEach` that are project files or lines of one.
    fn list(&self, asked: FileItems) -> BoxFuture<'static, Result<Vec<String>, Failure>> {
        let message = format!("this executor has no files: {asked:?}");
        Box::pin(async { Err(Failure::new(Code::INTERNAL_ERROR, message)) })
    }

    /// Merges the changes of worktrees and copies into the project, in this order. Each is merged whole or
    /// not at all. May be repeated after a crash, with the same result.
    fn merge(&self, trees: Vec<TreeRequest>) -> BoxFuture<'static, Merged> {
        let message = format!("this executor has no files: {trees:?}");
        let failure = Some(Failure::new(Code::INTERNAL_ERROR, message));
        Box::pin(async { Merged { trees: Vec::new(), failure } })
    }

    /// A step with `cache` ended in this iteration or pass, and its event is stored. If it succeeded, its
    /// result may be stored.
    fn ended(&self, _run: &RunId, _instance: &InstanceKey, _succeeded: bool) {}

    /// Evaluates a gate. Always ends.
    fn verify(
        &self,
        request: GateRequest,
        scope: Arc<dyn Scope + Send + Sync>,
        context: Context,
    ) -> BoxFuture<'static, Verification>;
}

/// The inputs of one gate.
#[derive(Debug, Clone)]
pub struct GateRequest {
    /// The checks, in order.
    pub checks: Vec<Check>,
    /// How strictly claims in the output are compared with the evidence.
    pub claims: ClaimPolicy,
    /// Whether an attempt without any file change is a warning.
    pub expect_changes: bool,
    /// Whether the definition of the step says that it changes files.
    pub changes_declared: bool,
    /// The output of the step.
    pub output: Arc<Json>,
    /// The output schema of the step.
    pub output_schema: Option<Schema>,
    /// The recorded tool calls of all attempts of this iteration.
    pub trace: Vec<Invocation>,
    /// Whether a command of the step ran whose changes of files were not recorded.
    pub unwatched: bool,
    /// Environment of the command checks, rendered.
    pub env: Vec<(String, String)>,
    /// Working directory of the command checks, relative to the workspace root.
    pub cwd: String,
    /// The files of its own that the step ran in; `None` if it ran in the project.
    pub tree: Option<Box<TreeRequest>>,
    /// The network of command checks that run in the sandbox, because a specialist may have written
    /// the code that they execute; `None` without a sandbox.
    pub sandboxed: Option<NetworkAccess>,
    /// Why command checks of another step run in the sandbox.
    pub confined: Option<Box<Confined>>,
    /// The schemas of the outputs of plugins, by name of the tool.
    pub plugins: BTreeMap<String, Schema>,
    /// Timeout of the whole gate.
    pub timeout: Option<Duration>,
    /// What a `judge` check needs to know, if the gate has one.
    pub judged: Option<Box<JudgeSubject>>,
}

/// What a judge needs to know of an attempt.
#[derive(Debug, Clone)]
pub struct JudgeSubject {
    /// The run that the attempt belongs to.
    pub run: RunId,
    /// Key of the step or item.
    pub instance: InstanceKey,
    /// Number of the attempt.
    pub attempt: u32,
    /// The rendered task of the specialist.
    pub task: String,
    /// The tier of the specialist.
    pub tier: Tier,
    /// Parameters of the run.
    pub params: Arc<Json>,
    /// The records since the end of the attempt: the assessment of a judge that answered before a crash.
    pub records: Vec<Record>,
}
