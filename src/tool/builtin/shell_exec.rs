//! `shell:exec`: runs a command and records what it changed in the workspace.

use super::sandbox_note::sandbox_note;
use crate::diagnostic::Code;
use crate::evidence::{Change, InvocationStatus};
use crate::process::{ProcessEnd, ProcessResult, Spawn};
use crate::redaction::Redactor;
use crate::tool::call::{Call, CallResult, Caller, Refusal, error_view};
use crate::tool::context::{CallContext, Tool, arguments};
use crate::value::{Failure, format_duration, is_dangerous_variable, limits};
use crate::workspace::{ProtectedWatch, Workspace, WorkspaceWatch};
use futures::future::{BoxFuture, OptionFuture};
use serde::Deserialize;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The implementation of `shell:exec`.
pub(super) struct ShellExec;

/// The default timeout of a command of a specialist: long enough for a build, and short enough that a
/// command that waits for input does not use up the attempt.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Args {
    command: Option<String>,
    argv: Option<Vec<String>>,
    cwd: Option<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    timeout_ms: Option<u64>,
}

impl Tool for ShellExec {
    fn name(&self) -> &'static str {
        "shell:exec"
    }

    fn call<'a>(
        &'a self,
        call: &'a Call,
        context: &'a CallContext<'a>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, CallResult> {
        Box::pin(async move {
            match arguments(call).and_then(|args| prepare(&args, call, context)) {
                Ok(spawn) => run(spawn, call, context, cancel).await,
                Err(refusal) => refusal.into(),
            }
        })
    }
}

/// Checks what the schema cannot express.
fn prepare(args: &Args, call: &Call, context: &CallContext<'_>) -> Result<Spawn, Refusal> {
    let bad = |code: Code, message: String| Refusal::failed(Failure::new(code, message));
    let argv = match (&args.command, &args.argv) {
        (Some(command), None) => shell(command),
        (None, Some(argv)) => argv.clone(),
        _ => {
            let message = "pass either `command` or `argv`".to_owned();
            return Err(bad(Code::BAD_ARGUMENTS, message));
        }
    };
    if let Some(name) = args.env.keys().find(|name| !may_be_set(name)) {
        let message = format!("the environment variable `{name}` cannot be set by a call");
        return Err(Refusal::denied(Failure::new(Code::BAD_ENVIRONMENT, message)));
    }
    if argv.iter().chain(args.env.values()).any(|text| text.contains('\0')) {
        let message = "a command and its environment cannot contain a NUL character".to_owned();
        return Err(bad(Code::BAD_ARGUMENTS, message));
    }
    let cwd = args.cwd.as_deref().unwrap_or(&call.cwd);
    let cwd = context.files.cwd(cwd)?;
    let own = args.env.iter().map(|(name, value)| (name.clone(), value.clone()));
    Ok(Spawn {
        argv,
        cwd,
        env: call.env.iter().cloned().chain(own).collect(),
        stdin: Vec::new(),
        timeout: timeout(args.timeout_ms, call, context.limit),
        idle: None,
        max_stream: limits::STREAM_BYTES,
    })
}

/// `bash -euo pipefail -c SCRIPT`, as in `run` steps.
fn shell(script: &str) -> Vec<String> {
    ["bash", "-euo", "pipefail", "-c", script].map(str::to_owned).to_vec()
}

/// Whether a call may set a variable: not `PATH`, not `KB_…`, and not one that makes programs run other
/// code.
fn may_be_set(name: &str) -> bool {
    let is_own = name.to_ascii_uppercase().starts_with("KB_");
    let is_valid = !name.is_empty() && !name.contains(['=', '\0']);
    is_valid && !is_own && name != "PATH" && !is_dangerous_variable(name)
}

/// The shorter of the timeout of the call and the limit of the attempt.
fn timeout(asked: Option<u64>, call: &Call, limit: Option<Duration>) -> Option<Duration> {
    let asked = asked.map(Duration::from_millis).or(match call.caller {
        Caller::Author => None,
        Caller::Specialist { .. } => Some(DEFAULT_TIMEOUT),
    });
    asked.into_iter().chain(limit).min()
}

async fn run(
    spawn: Spawn,
    call: &Call,
    context: &CallContext<'_>,
    cancel: &CancellationToken,
) -> CallResult {
    let (workspace, redactor) = (&context.files.workspace, context.redactor);
    let process = context.processes.trace(&spawn, redactor);
    let by_specialist = matches!(call.caller, Caller::Specialist { .. });
    let (protected, watch, hidden) = tokio::join!(
        OptionFuture::from(by_specialist.then(|| ProtectedWatch::begin(workspace))),
        OptionFuture::from(call.evidence.then(|| WorkspaceWatch::begin(workspace, redactor))),
        context.processes.hidden(&call.caller),
    );
    let hidden = match hidden {
        Ok(hidden) => hidden,
        Err(failure) => return CallResult::failed(InvocationStatus::Denied, failure),
    };
    let timeout = spawn.timeout;
    let nested = protected.as_ref().map(ProtectedWatch::nested).unwrap_or_default();
    let supervisor = context.processes.of(&call.caller, context.scratch, nested, hidden);
    let mut exited = supervisor.run(spawn, cancel, None).await;
    mask_truncated(&mut exited, redactor);
    let mut result = result_of(&exited, timeout);
    result.process = Some(Box::new(process.end(&exited)));
    if context.processes.confines(&call.caller)
        && let Some(note) = sandbox_note(&exited, &call.caller)
    {
        result.result["note"] = json!(note);
    }
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

/// The result of a process.
fn result_of(exited: &ProcessResult, timeout: Option<Duration>) -> CallResult {
    let code = match exited.end {
        ProcessEnd::Code(code) => Some(code),
        _ => None,
    };
    let mut result = CallResult::success(json!({
        "exitCode": code,
        "stdout": exited.stdout,
        "stderr": exited.stderr,
    }));
    if exited.stdout_cut + exited.stderr_cut > 0 {
        result.result["note"] = json!(format!(
            "truncated: {} more bytes of stdout, {} of stderr",
            exited.stdout_cut, exited.stderr_cut
        ));
    }
    if let Some((status, failure)) = failure(exited, timeout) {
        fail(&mut result, status, failure);
    }
    result
}

fn failure(
    exited: &ProcessResult,
    timeout: Option<Duration>,
) -> Option<(InvocationStatus, Failure)> {
    let (code, status, message) = match &exited.end {
        ProcessEnd::Code(0) => return None,
        ProcessEnd::Code(n) => {
            let message = format!("the command exited with code {n}");
            (Code::COMMAND_FAILED, InvocationStatus::Failed, message)
        }
        ProcessEnd::Signal(n) => {
            let message = format!("the command was killed by signal {n}");
            (Code::COMMAND_FAILED, InvocationStatus::Failed, message)
        }
        ProcessEnd::TimedOut => {
            let limit =
                timeout.map_or_else(String::new, |t| format!(" after {}", format_duration(t)));
            let message = format!("the command timed out{limit}");
            (Code::COMMAND_TIMED_OUT, InvocationStatus::Timeout, message)
        }
        ProcessEnd::Idle => {
            let message = "the command reached its idle timeout".to_owned();
            (Code::COMMAND_TIMED_OUT, InvocationStatus::Timeout, message)
        }
        ProcessEnd::Cancelled => {
            let message = "the tool call was cancelled".to_owned();
            (Code::TOOL_STOPPED, InvocationStatus::Failed, message)
        }
        ProcessEnd::Lost => {
            (Code::WORKER_KILLED, InvocationStatus::Failed, ProcessEnd::LOST.to_owned())
        }
        ProcessEnd::NotStarted(why) => {
            let message = format!("the command could not be started: {why}");
            (Code::COMMAND_NOT_STARTED, InvocationStatus::Failed, message)
        }
    };
    Some((status, Failure::new(code, message)))
}

/// Marks a result as failed. Every failure but a non-zero exit is also added to the result itself.
fn fail(result: &mut CallResult, status: InvocationStatus, failure: Failure) {
    if failure.code != Code::COMMAND_FAILED || result.result["exitCode"].is_null() {
        result.result["error"] = error_view(&failure);
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
