//! The process of a tool call.

use crate::tool::call::{Call, CallResult, Caller, error_view};
use crate::tool::confinement;
use crate::tool::context::CallContext;
use crate::tool::watched_process::{Origin, Records, WatchedProcess, WatchedStart};
use kb_attempt::run_blocking;
use kb_base::diagnostic::Code;
use kb_base::value::Failure;
use kb_core::evidence::InvocationStatus;
use kb_core::redaction::Redactor;
use kb_process::{ProcessResult, Spawn};
use tokio_util::sync::CancellationToken;

/// Runs a process and records what it changed. `result` makes the result of the call.
pub(super) async fn run_watched(
    spawn: Spawn,
    (call, context): (&Call, &CallContext<'_>),
    origin: Origin<'_>,
    result: impl FnOnce(&WatchedProcess) -> CallResult,
    cancel: &CancellationToken,
) -> CallResult {
    let start = WatchedStart {
        workspace: &context.files.workspace,
        processes: context.processes,
        redactor: context.redactor,
        clock: context.clock.system(),
        records: match &call.caller {
            Caller::Author => Records::of_author(call.evidence, context.confined),
            Caller::Specialist { .. } if call.evidence => Records::All,
            Caller::Specialist { .. } => Records::Protected,
        },
    };
    let mut watched = match start.run(spawn, origin, cancel, None).await {
        Ok(watched) => watched,
        Err(failure) => return CallResult::failed(InvocationStatus::Denied, failure),
    };
    mask_truncated(&mut watched.exited, context.redactor);
    let mut result = run_blocking(|| result(&watched));
    let WatchedProcess { process, changes, failure, confined, .. } = watched;
    result.process = Some(Box::new(process));
    result.changes = changes;
    if let Some(failure) = failure {
        fail(&mut result, InvocationStatus::Failed, failure);
    }
    let explained = |failure: Failure| match (&confined, failure.code == Code::PATH_PROTECTED) {
        (Some(confined), false) => {
            let missing = failure.help.clone();
            confinement::explained(Failure { help: None, ..failure }, missing, confined)
        }
        (Some(_), true) | (None, _) => failure,
    };
    result.failure = result.failure.map(explained);
    result
}

/// Masks a secret that truncation has split. Whole secrets are masked with the result.
fn mask_truncated(exited: &mut ProcessResult, redactor: &Redactor) {
    for (text, cut) in
        [(&mut exited.stdout, exited.stdout_cut), (&mut exited.stderr, exited.stderr_cut)]
    {
        if cut > 0 {
            *text = redactor.mask_cut_text(text).into_owned();
        }
    }
}

/// Marks a result as failed. Every failure but a non-zero exit is also added to the result itself.
pub(super) fn fail(result: &mut CallResult, status: InvocationStatus, failure: Failure) {
    let is_exit = failure.code == Code::COMMAND_FAILED
        && result.result.get("exitCode").is_some_and(|code| !code.is_null());
    if !is_exit {
        match result.result.as_object_mut() {
            Some(map) => {
                map.insert("error".to_owned(), error_view(&failure));
            }
            None => result.result = serde_json::json!({"error": error_view(&failure)}),
        }
    }
    result.status = status;
    result.failure = Some(failure);
}
