use super::call::{Call, CallResult, Caller, Refusal, error_view};
use super::toolbox::{Toolbox, arguments};
use super::{ProcessTrace, Tool, ToolLevel, ToolSpec};
use crate::definition::ApprovalLevel;
use crate::diagnostic::Code;
use crate::evidence::{Change, InvocationStatus};
use crate::process::{ProcessEnd, ProcessResult, Spawn};
use crate::value::{Failure, format_duration, is_dangerous_variable, limits};
use crate::workspace::{ProtectedWatch, Workspace, WorkspaceWatch};
use futures::future::{BoxFuture, OptionFuture};
use serde::Deserialize;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// `shell:exec`: a shell line or a program, with what it changed in the workspace.
pub(super) struct ShellExec {
    spec: ToolSpec,
}

/// What a specialist's command may take where it says nothing: long enough for a build, short
/// enough that a command which waits for input does not use up the attempt.
const UNLESS_SAID: Duration = Duration::from_secs(120);

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

impl ShellExec {
    pub(super) fn new() -> Self {
        let spec = ToolSpec {
            name: "shell:exec",
            level: ToolLevel::Critical,
            description: "Run a command and wait until it exits. Pass either command (a script for \
                          bash -euo pipefail) or argv (a program with its arguments, without a \
                          shell). Background processes are stopped when the command exits.",
            input: json!({
                "type": "object",
                "properties": {
                    "command": {"type": "string", "minLength": 1},
                    "argv": {"type": "array", "items": {"type": "string"}, "minItems": 1},
                    "cwd": {"type": "string", "description": "Working directory relative to the project root; default: the working directory of the step."},
                    "env": {"type": "object", "additionalProperties": {"type": "string"}},
                    "timeoutMs": {"type": "integer", "minimum": 1},
                },
                "additionalProperties": false,
            }),
            output: json!({
                "type": "object",
                "properties": {
                    "exitCode": {"type": ["integer", "null"], "description": "Exit code; null if the process was stopped."},
                    "stdout": {"type": "string"},
                    "stderr": {"type": "string"},
                    "note": {"type": "string", "description": "What was omitted."},
                    "error": {"type": "object"},
                },
                "required": ["exitCode", "stdout", "stderr"],
            }),
            only_reads: false,
        };
        ShellExec { spec }
    }
}

impl Tool for ShellExec {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        call: &'a Call,
        toolbox: &'a Toolbox,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, CallResult> {
        Box::pin(async move {
            match arguments(call).and_then(|args| prepare(&args, call, toolbox)) {
                Ok(spawn) => run(spawn, call, toolbox, cancel).await,
                Err(refusal) => refusal.into(),
            }
        })
    }
}

/// Checks everything that the schema cannot say.
fn prepare(args: &Args, call: &Call, toolbox: &Toolbox) -> Result<Spawn, Refusal> {
    let bad = |code: Code, message: String| Refusal::failed(Failure::new(code.as_str(), message));
    let argv = match (&args.command, &args.argv) {
        (Some(command), None) => shell(command),
        (None, Some(argv)) => argv.clone(),
        _ => {
            let message = "give either `command` or `argv`, and not both".to_owned();
            return Err(bad(Code::BAD_ARGUMENTS, message));
        }
    };
    if let Some(name) = args.env.keys().find(|name| !may_be_set(name)) {
        let message = format!("the variable `{name}` may not be set by a call");
        return Err(Refusal::denied(Failure::new(Code::BAD_ENVIRONMENT.as_str(), message)));
    }
    if argv.iter().chain(args.env.values()).any(|text| text.contains('\0')) {
        let message = "a command and its environment hold no NUL character".to_owned();
        return Err(bad(Code::BAD_ARGUMENTS, message));
    }
    let cwd = args.cwd.as_deref().unwrap_or(&call.cwd);
    let cwd = toolbox.files("shell:exec").cwd(cwd)?;
    let own = args.env.iter().map(|(name, value)| (name.clone(), value.clone()));
    Ok(Spawn {
        argv,
        cwd,
        env: call.env.iter().cloned().chain(own).collect(),
        stdin: Vec::new(),
        timeout: timeout(args.timeout_ms, call, toolbox.limit()),
        idle: None,
        max_stream: limits::STREAM_BYTES,
    })
}

/// `bash -euo pipefail -c SCRIPT`, which is what `run:` steps and `shell:exec` mean by a shell.
fn shell(script: &str) -> Vec<String> {
    ["bash", "-euo", "pipefail", "-c", script].map(str::to_owned).to_vec()
}

/// Names that a value may set: not those that make programs run other code, and not ours.
fn may_be_set(name: &str) -> bool {
    let ours = name.to_ascii_uppercase().starts_with("KB_");
    let formed = !name.is_empty() && !name.contains(['=', '\0']);
    formed && !ours && name != "PATH" && !is_dangerous_variable(name)
}

/// The shortest of what the call asks for and what the attempt may take.
fn timeout(asked: Option<u64>, call: &Call, limit: Option<Duration>) -> Option<Duration> {
    let asked = asked.map(Duration::from_millis).or(match call.caller {
        Caller::Author => None,
        Caller::Specialist { .. } => Some(UNLESS_SAID),
    });
    asked.into_iter().chain(limit).min()
}

async fn run(
    spawn: Spawn,
    call: &Call,
    toolbox: &Toolbox,
    cancel: &CancellationToken,
) -> CallResult {
    let process = ProcessTrace::begin(&spawn, toolbox);
    let workspace = toolbox.workspace();
    let by_specialist = matches!(call.caller, Caller::Specialist { .. });
    let (protected, watch) = tokio::join!(
        OptionFuture::from(by_specialist.then(|| ProtectedWatch::begin(workspace))),
        OptionFuture::from(
            call.evidence.then(|| WorkspaceWatch::begin(workspace, toolbox.redactor()))
        ),
    );
    let timeout = spawn.timeout;
    let mut exited = toolbox.supervisor_for(&call.caller).run(spawn, cancel, None).await;
    mask_ends(&mut exited, toolbox);
    let mut result = ended(&exited, timeout);
    result.process = Some(process.end(&exited));
    if is_leased(call, toolbox) && was_refused(&exited) {
        result.result["note"] = json!(CLOSED);
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
        hold_to_protected(&mut result, workspace).await;
    }
    result
}

/// What a command that met a closed place is told.
const CLOSED: &str = "the sandbox lets this command read and write the project, its TMPDIR and \
                      package caches, and read programs; `sandbox.read` and `sandbox.write` in the \
                      settings open further places. Definitions, settings and hooks are a \
                      person's to change";

fn is_leased(call: &Call, toolbox: &Toolbox) -> bool {
    let by_specialist = matches!(call.caller, Caller::Specialist { .. });
    by_specialist && toolbox.sandbox() == ApprovalLevel::Kernel
}

/// Whether it failed and speaks of a permission that it has not.
fn was_refused(exited: &ProcessResult) -> bool {
    let words = [
        "Permission denied",
        "Operation not permitted",
        "Read-only file system",
        "EACCES",
        "EPERM",
        "EROFS",
    ];
    exited.end != ProcessEnd::Code(0) && words.iter().any(|word| exited.stderr.contains(word))
}

/// A stream that was cut may end in the middle of a secret; what is whole is masked with the result.
fn mask_ends(exited: &mut ProcessResult, toolbox: &Toolbox) {
    for (text, cut) in
        [(&mut exited.stdout, exited.stdout_cut), (&mut exited.stderr, exited.stderr_cut)]
    {
        if cut > 0 {
            *text = toolbox.redactor().mask_cut_text(text).into_owned();
        }
    }
}

/// The end of a process as a result.
fn ended(exited: &ProcessResult, timeout: Option<Duration>) -> CallResult {
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
            let message = format!("the command ended with exit code {n}");
            (Code::COMMAND_FAILED, InvocationStatus::Failed, message)
        }
        ProcessEnd::Signal(n) => {
            let message = format!("the command was ended by signal {n}");
            (Code::COMMAND_FAILED, InvocationStatus::Failed, message)
        }
        ProcessEnd::TimedOut => {
            let time = timeout.map_or_else(String::new, |t| format!(" {}", format_duration(t)));
            let message = format!("the command took longer than{time} and was stopped");
            (Code::COMMAND_TIMED_OUT, InvocationStatus::Timeout, message)
        }
        ProcessEnd::Idle => {
            let message = "the command was silent for too long and was stopped".to_owned();
            (Code::COMMAND_TIMED_OUT, InvocationStatus::Timeout, message)
        }
        ProcessEnd::Cancelled => {
            let message = "the call was stopped".to_owned();
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
    Some((status, Failure::new(code.as_str(), message)))
}

/// A non-zero exit speaks for itself; every other failure stands in the result too.
fn fail(result: &mut CallResult, status: InvocationStatus, failure: Failure) {
    if failure.code != Code::COMMAND_FAILED.as_str() || result.result["exitCode"].is_null() {
        result.result["error"] = error_view(&failure);
    }
    result.status = status;
    result.failure = Some(failure);
}

/// A shell can write where tools may not, as far as the sandbox lets it. A specialist's command
/// that changed definitions or settings has failed, and people see which. Nothing is put back: a
/// person may have edited the file meanwhile, and that would be lost.
async fn hold_to_protected(result: &mut CallResult, workspace: &Workspace) {
    const NAMED: usize = 20;
    let changed = protected_among(&result.changes, workspace).await;
    if changed.is_empty() {
        return;
    }
    let named = changed[..changed.len().min(NAMED)].join("`, `");
    let more = match changed.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let message = format!("the command changed `{named}`{more}, which tools may not");
    let help = "undo the change; a person decides about definitions and settings";
    let failure = Failure::new(Code::PATH_PROTECTED.as_str(), message).help(help);
    fail(result, InvocationStatus::Failed, failure);
}

/// The changed paths that tools may not write; all of them where that could not be looked at.
async fn protected_among(changes: &[Change], workspace: &Workspace) -> Vec<String> {
    let paths: Vec<String> = changes.iter().map(|change| change.path.clone()).collect();
    let (asked, workspace) = (paths.clone(), workspace.clone());
    let is_protected =
        move |path: &String| workspace.check_writable(path, Path::new(path)).is_err();
    let look = move || asked.into_iter().filter(is_protected).collect();
    tokio::task::spawn_blocking(look).await.unwrap_or(paths)
}
