//! `shell:exec`: runs a command and records what it changed in the workspace.

use super::tool_process::{fail, run_watched};
use crate::tool::call::{Call, CallResult, Caller, Refusal};
use crate::tool::context::{CallContext, Tool, arguments};
use crate::tool::missing_access::{MissingAccess, Ran};
use crate::tool::watched_process::{Origin, WatchedProcess};
use futures::future::BoxFuture;
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, format_duration, limits};
use kb_core::evidence::InvocationStatus;
use kb_process::{ProcessEnd, ProcessResult, Spawn};
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;
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
        (Some(command), None) => Spawn::script(command),
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
        own_program: args.command.is_some(),
        cwd,
        env: call.env.iter().cloned().chain(own).collect(),
        stdin: Vec::new(),
        timeout: timeout(args.timeout_ms, call, context.limit),
        idle: context.idle,
        max_stream: limits::STREAM_BYTES,
    })
}

/// Whether a call may set a variable: not `PATH`, by which `kb` finds the program, and not `KB_…`. What a program
/// loads because of another one, it loads in the sandbox.
fn may_be_set(name: &str) -> bool {
    let is_own = name.to_ascii_uppercase().starts_with("KB_");
    let is_valid = !name.is_empty() && !name.contains(['=', '\0']);
    is_valid && !is_own && name != "PATH"
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
    let timeout = spawn.timeout;
    let hidden = match context.processes.hidden(&call.caller).await {
        Ok(hidden) => hidden,
        Err(failure) => return CallResult::failed(InvocationStatus::Denied, failure),
    };
    let of_specialist =
        |nested| context.processes.of(&call.caller, context.scratch, nested, hidden.clone());
    let origin = match &call.caller {
        Caller::Author => Origin::Author(context.confined),
        Caller::Specialist { .. } => Origin::Others(&of_specialist),
    };
    let (argv, cwd) = (spawn.argv.clone(), spawn.cwd.clone());
    let result = |ended: &WatchedProcess| {
        let mut result = result_of(&ended.exited, timeout);
        let missing = |network| {
            let ran = Ran { argv: &argv, cwd: &cwd, root: context.files.workspace.root(), network };
            MissingAccess::of(&ended.supervisor, &ran, &ended.exited)
        };
        match (&call.caller, &ended.confined) {
            (Caller::Author, Some(confined)) => {
                let help = missing(confined.opening().network).help_for_author();
                result.failure = result.failure.map(|failure| match help {
                    Some(help) => failure.help(help),
                    None => failure,
                });
            }
            (Caller::Specialist { id, network, .. }, _)
                if context.processes.confines(&call.caller) =>
            {
                if let Some(note) = missing(*network).note_for_specialist(id.as_str()) {
                    result.result["note"] = json!(note);
                }
            }
            (Caller::Author | Caller::Specialist { .. }, _) => {}
        }
        result
    };
    run_watched(spawn, (call, context), origin, result, cancel).await
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
            let at = exited.failed.as_ref();
            let at = at.map(|at| format!(" (line {}: {})", at.line, at.command));
            let message = format!("the command exited with code {n}{}", at.unwrap_or_default());
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
