//! The interface of a tool's implementation: what it provides and what it is given.

use super::call::{Call, CallResult, Refusal};
use super::delegates::Delegates;
use super::output_store::OutputStore;
use super::process_launcher::ProcessLauncher;
use super::run_memory::AttemptMemory;
use crate::workspace::FileAccess;
use futures::future::BoxFuture;
use kb_attempt::{Live, Recorder};
use kb_base::diagnostic::Code;
use kb_base::value::{Digest, Failure};
use kb_clock::RunClock;
use kb_core::evidence::InvocationStatus;
use kb_core::redaction::Redactor;
use kb_http::HttpClient;
use kb_language::definition::{DelegationLimits, Probe};
use kb_language::plan::Confined;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The implementation of a tool.
pub(super) trait Tool: Send + Sync {
    /// The name of the tool.
    fn name(&self) -> &str;
    /// Checks after each successful call, in order.
    fn probes(&self) -> &[Probe] {
        &[]
    }
    /// The code that a call executes, which an approval is bound to: digests by path. Empty for a tool whose code is
    /// part of `kb`.
    fn code(&self, _processes: &ProcessLauncher) -> BTreeMap<String, Digest> {
        BTreeMap::new()
    }
    /// Whether a result contains text of unknown origin, which lowers the trust of what the caller remembers.
    fn brings_text(&self) -> bool {
        true
    }
    /// Why a call requires an approval whatever the level of the tool is.
    fn widens_network(&self, _call: &Call, _processes: &ProcessLauncher) -> Option<String> {
        None
    }
    /// Executes a call. The policy has permitted it and the arguments match the schema. Paths are
    /// not resolved yet: the tool resolves them through [`CallContext::files`].
    fn call<'a>(
        &'a self,
        call: &'a Call,
        context: &'a CallContext<'a>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, CallResult>;
}

/// What a tool can use during a call.
pub(super) struct CallContext<'a> {
    /// The workspace, narrowed by the path rules of the tool.
    pub(super) files: FileAccess,
    /// Starts processes.
    pub(super) processes: &'a ProcessLauncher,
    /// Sends HTTP requests.
    pub(super) http: &'a HttpClient,
    /// The complete results of earlier calls of the attempt.
    pub(super) outputs: &'a OutputStore,
    /// The time of the run.
    pub(super) clock: &'a RunClock,
    /// Masks secrets in the result and the evidence.
    pub(super) redactor: &'a Arc<Redactor>,
    /// The longest time that a process or request of this attempt may take.
    pub(super) limit: Option<Duration>,
    /// Timeout of a process without output.
    pub(super) idle: Option<Duration>,
    /// The number of the temporary directory of its commands.
    pub(super) scratch: u64,
    /// Why a command of the author runs in the sandbox, asked when it starts.
    pub(super) confined: &'a Live<Option<Confined>>,
    /// The memory as the attempt uses it.
    pub(super) memory: &'a AttemptMemory,
    /// What the attempt stores and says goes here; `None` outside of an attempt.
    pub(super) recorder: Option<&'a Arc<dyn Recorder>>,
    /// Who executes tasks that the attempt delegates; `None` outside of an attempt of a specialist.
    pub(super) delegates: Option<&'a Arc<dyn Delegates>>,
    /// How far tasks can be delegated.
    pub(super) delegation: DelegationLimits,
}

/// Decodes the arguments of a call, which match the schema of the tool.
pub(super) fn arguments<A: DeserializeOwned>(call: &Call) -> Result<A, Refusal> {
    A::deserialize(&call.args).map_err(|error| {
        let message = format!("invalid arguments for `{}`: {error}", call.tool);
        Refusal::failed(Failure::new(Code::BAD_ARGUMENTS, message))
    })
}

/// Executes a call on a blocking thread, with its arguments decoded. It is always waited for: when the call has ended,
/// nothing of it is still running.
pub(super) async fn on_blocking_thread<A: DeserializeOwned + Send + 'static>(
    call: &Call,
    work: impl FnOnce(A) -> Result<CallResult, Refusal> + Send + 'static,
) -> CallResult {
    let args = match arguments::<A>(call) {
        Ok(args) => args,
        Err(refusal) => return refusal.into(),
    };
    let done = tokio::task::spawn_blocking(move || work(args)).await;
    done.map_or_else(|_| cancelled(), CallResult::from)
}

/// The result of a call that was cancelled.
pub(super) fn cancelled() -> CallResult {
    let failure = Failure::new(Code::TOOL_STOPPED, "the tool call was cancelled");
    CallResult::failed(InvocationStatus::Failed, failure)
}
