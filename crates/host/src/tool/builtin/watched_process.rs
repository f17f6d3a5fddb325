//! One process of a tool call, with the files of the workspace watched around it.

use crate::tool::call::{Call, CallResult, Caller, error_view};
use crate::tool::context::CallContext;
use crate::workspace::{ProtectedWatch, Workspace, WorkspaceWatch};
use futures::future::OptionFuture;
use kb_attempt::run_blocking;
use kb_base::diagnostic::Code;
use kb_base::value::Failure;
use kb_core::evidence::{Change, InvocationStatus};
use kb_core::redaction::Redactor;
use kb_process::{ProcessResult, Spawn, Supervisor};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

/// Runs a process and records what it changed. `supervisor` gets the protected paths below the
/// workspace and the paths that the caller cannot read, `result` makes the result of the call.
pub(super) async fn run_watched(
    spawn: Spawn,
    call: &Call,
    context: &CallContext<'_>,
    supervisor: impl FnOnce(Vec<PathBuf>, Vec<PathBuf>) -> Supervisor,
    result: impl FnOnce(&ProcessResult, &Supervisor) -> CallResult,
    cancel: &CancellationToken,
) -> CallResult {
    let (workspace, redactor) = (&context.files.workspace, context.redactor);
    let process = context.processes.trace(&spawn, redactor);
    let by_specialist = matches!(call.caller, Caller::Specialist { .. });
    let clock = context.clock.system();
    let (protected, watch, hidden) = tokio::join!(
        OptionFuture::from(by_specialist.then(|| ProtectedWatch::begin(workspace))),
        OptionFuture::from(
            call.evidence.then(|| WorkspaceWatch::begin(workspace, redactor, clock))
        ),
        context.processes.hidden(&call.caller),
    );
    let hidden = match hidden {
        Ok(hidden) => hidden,
        Err(failure) => return CallResult::failed(InvocationStatus::Denied, failure),
    };
    let nested = protected.as_ref().map(ProtectedWatch::nested).unwrap_or_default();
    let supervisor = supervisor(nested, hidden);
    let mut exited = supervisor.run(spawn, cancel, None).await;
    mask_truncated(&mut exited, redactor);
    let mut result = run_blocking(|| result(&exited, &supervisor));
    result.process = Some(Box::new(process.end(&exited)));
    let (protected, watched) = tokio::join!(
        OptionFuture::from(protected.map(ProtectedWatch::end)),
        OptionFuture::from(watch.map(WorkspaceWatch::end)),
    );
    if let Some(watched) = watched {
        result.process.iter_mut().for_each(|process| watched.mark(process));
        result.changes = watched.changes;
    }
    if let Some(found) = protected {
        let known: BTreeSet<String> = result.changes.iter().map(|c| c.path.clone()).collect();
        result.changes.extend(found.into_iter().filter(|change| !known.contains(&change.path)));
        fail_on_protected_changes(&mut result, workspace).await;
    }
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

/// Fails a command of a specialist that changed protected paths, which the sandbox cannot always
/// prevent. The change is not undone, because a person may have edited the file meanwhile.
async fn fail_on_protected_changes(result: &mut CallResult, workspace: &Workspace) {
    const SHOWN: usize = 20;
    let changed = protected_among(&result.changes, workspace).await;
    if changed.is_empty() {
        return;
    }
    let named = changed[..changed.len().min(SHOWN)].join("`, `");
    let more = match changed.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let message = format!("the command changed protected paths: `{named}`{more}");
    let help = "undo the change; only people change definitions and settings";
    let failure = Failure::new(Code::PATH_PROTECTED, message).help(help);
    fail(result, InvocationStatus::Failed, failure);
}

/// The changed paths that are protected; all of them if that cannot be determined.
async fn protected_among(changes: &[Change], workspace: &Workspace) -> Vec<String> {
    let paths: Vec<String> = changes.iter().map(|change| change.path.clone()).collect();
    let (asked, workspace) = (paths.clone(), workspace.clone());
    let is_protected =
        move |path: &String| workspace.check_writable(path, Path::new(path)).is_err();
    let look = move || asked.into_iter().filter(is_protected).collect();
    tokio::task::spawn_blocking(look).await.unwrap_or(paths)
}
