//! The seam between deciding and doing: one request in, one [`Outcome`] out.
//!
//! An executor never touches the journal. What must be stored on the way goes through
//! [`Recorder::record`], which returns once it is; live tokens go through [`Recorder::progress`]
//! and are never stored. The types of the seam live in [`crate::attempt`].

mod gate;
mod http;
mod input;
mod local;
mod observer;
mod process;
mod tool;

pub use gate::run_gate;
pub use local::LocalExecutor;

pub use crate::attempt::{
    Argument, CommandLine, Context, Outcome, Progress, Recorder, Request, SpecialistWork, StepWork,
    Stopped, invocations,
};
use crate::definition::{Check, ClaimPolicy, Schema};
use crate::evidence::{Invocation, Verification};
use crate::expression::Scope;
use crate::value::Json;
use futures::future::BoxFuture;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Does one attempt, and looks at what it left.
pub trait Executor: Send + Sync {
    /// Never panics and always ends: by its work, its timeout or `context.cancel`.
    fn execute(&self, request: Request, context: Context) -> BoxFuture<'static, Outcome>;

    /// Looks at the world and says whether the gate holds. Always ends.
    fn verify(
        &self,
        request: GateRequest,
        scope: Arc<dyn Scope + Send + Sync>,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Verification>;
}

/// Everything that one gate needs.
#[derive(Debug, Clone)]
pub struct GateRequest {
    /// In order.
    pub checks: Vec<Check>,
    /// How strictly the output's claims are held against the evidence.
    pub claims: ClaimPolicy,
    /// Whether no change at all is suspicious.
    pub expect_changes: bool,
    /// What the step handed out.
    pub output: Arc<Json>,
    /// What it had to look like.
    pub output_schema: Option<Schema>,
    /// What the runtime recorded over all attempts of this iteration.
    pub trace: Vec<Invocation>,
    /// Environment of its command checks, rendered.
    pub env: Vec<(String, String)>,
    /// Working directory relative to the workspace root.
    pub cwd: String,
    /// Whether its command checks are held by the sandbox: they run code that a specialist may have
    /// written.
    pub sandboxed: bool,
    /// The most that it may take.
    pub timeout: Option<Duration>,
}
