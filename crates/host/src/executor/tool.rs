//! `tool` steps: one tool call, approved by the author of the playbook.

use super::host_access::HostAccess;
use super::last_line::output_suffix;
use super::lease::lease_lost;
use crate::tool::{Call, Caller, Toolbox};
use kb_attempt::{Context, Outcome, Progress, Request};
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, Json, OutcomeKind};
use kb_core::evidence::{InvocationStatus, Payload, Record};
use kb_language::toolspec::ToolSpec;
use kb_process::Spawn;

/// Calls the tool. The call is recorded before it starts, the result before the outcome is used.
pub(super) async fn call(
    host: &HostAccess,
    toolbox: &Toolbox,
    request: &Request,
    spec: &ToolSpec,
    args: &Json,
    context: &Context,
) -> Outcome {
    let tool = &*spec.name;
    let id = format!("{}-{}", request.attempt, tool.replace(':', "-"));
    let started = Record::ToolCall {
        turn: 0,
        id: id.clone(),
        tool: tool.to_owned(),
        args: Payload::inline(args.clone()),
        percent_done: None,
    };
    if context.recorder.record(started).await.is_err() {
        return lease_lost();
    }
    context.recorder.progress(Progress::Tool(tool.to_owned()));
    let mut env = request.env.clone();
    env.extend(request.identity());
    let call = Call {
        approved: false,
        answers: Default::default(),
        id,
        tool: tool.to_owned(),
        args: args.clone(),
        caller: Caller::Author,
        env,
        cwd: request.cwd.clone(),
        evidence: request.evidence,
    };
    let argv = command(spec, args);
    let attempt = toolbox
        .for_attempt(request.timeout)
        .with_idle(request.idle)
        .with_recorder(context.recorder.clone())
        .with_author_confined(request.confined.clone());
    let (result, invocation) = attempt.call(&call, &context.cancel).await;
    let status = result.status;
    let ended =
        Record::ToolResult { turn: 0, invocation, result: Payload::inline(result.result.clone()) };
    if context.recorder.record(ended).await.is_err() {
        return lease_lost();
    }
    if status == InvocationStatus::Success {
        return Outcome::ok(result.result);
    }
    let failure = result
        .failure
        .unwrap_or_else(|| Failure::new(Code::ATTEMPT_FAILED, format!("`{tool}` failed")));
    let kind = match status {
        InvocationStatus::Denied => OutcomeKind::PolicyDenied,
        InvocationStatus::Timeout => OutcomeKind::Timeout,
        InvocationStatus::Success | InvocationStatus::Failed | InvocationStatus::Unknown => {
            let transient = [Code::HTTP_FAILED, Code::WORKER_KILLED];
            if context.cancel.is_cancelled() {
                OutcomeKind::Cancelled
            } else if transient.contains(&failure.code) {
                OutcomeKind::Transient
            } else {
                OutcomeKind::ToolError
            }
        }
    };
    // The outcome of a `shell:exec` that exited includes its output.
    let exit_code = result.result.get("exitCode").and_then(Json::as_i64).map(|code| code as i32);
    let text = |key: &str| result.result.get(key).and_then(Json::as_str).map(str::to_owned);
    let (stdout, stderr) = (text("stdout"), text("stderr"));
    let mut failure = failure;
    if let Some(argv) = argv.filter(|_| failure.code == Code::COMMAND_FAILED) {
        let ends = [&stderr, &stdout].map(|text| text.as_deref().unwrap_or_default());
        failure.message += &output_suffix(&host.redactor, &argv, &ends);
    }
    Outcome { exit_code, stdout, stderr, ..Outcome::failed(kind, failure) }
}

/// The command of a call of a tool that runs processes.
fn command(spec: &ToolSpec, args: &Json) -> Option<Vec<String>> {
    spec.runs_processes.then_some(())?;
    if let Some(text) = args.get("command").and_then(Json::as_str) {
        return Some(Spawn::script(text));
    }
    let words = args.get("argv")?.as_array()?.iter();
    Some(words.filter_map(|word| word.as_str().map(str::to_owned)).collect())
}
