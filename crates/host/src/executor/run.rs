//! `run` steps: one process, its output, and the files that it changed.

use super::host_access::HostAccess;
use super::last_line::{ends, failed_line, last_line, output_suffix};
use super::lease::lease_lost;
use super::output_log::OutputLog;
use crate::tool::{MissingAccess, Origin, Ran, Records, WatchedProcess, explained};
use kb_attempt::{CommandLine, Context, Outcome, Request, Stopped, run_blocking};
use kb_base::diagnostic::Code;
use kb_base::value::{Digest, Failure, Json, OutcomeKind, Timestamp, format_duration, limits};
use kb_core::evidence::{Invocation, InvocationStatus, Payload, Purpose, Record, STEP_PROCESS};
use kb_core::redaction::Redactor;
use kb_language::definition::{OutputParse, refuse_computed_code};
use kb_language::plan::Confined;
use kb_process::{ProcessEnd, ProcessResult, Spawn};
use serde_json::json;
use std::time::Duration;

/// Runs the process. Its stdout becomes the output of the step.
pub(super) async fn run(
    host: &HostAccess,
    request: &Request,
    command: &CommandLine,
    parse: OutputParse,
    context: &Context,
) -> Outcome {
    let spawn = match spawn(host, request, command) {
        Ok(spawn) => spawn,
        Err(failure) => return Outcome::failed(OutcomeKind::PolicyDenied, *failure),
    };
    let (argv, cwd) = (spawn.argv.clone(), spawn.cwd.clone());
    let started = host.clock.now();
    let log = OutputLog::new(context.recorder.clone(), host.logs.clone());
    let start = host.start(Records::of_author(request.evidence, &request.confined));
    let origin = Origin::Author(&request.confined);
    let process = start.run(spawn, origin, &context.cancel, Some(log.listener()));
    let watched = match log.record_until(process).await {
        Ok(Ok(watched)) => watched,
        Ok(Err(failure)) => return Outcome::failed(OutcomeKind::PolicyDenied, failure),
        Err(Stopped) => return lease_lost(),
    };
    // The audit lists what may have executed the work of others, also without its changes.
    let is_foreign = watched.confined.as_ref().is_some_and(Confined::is_foreign);
    if is_foreign || watched.process.watched || !watched.changes.is_empty() {
        let record = evidence(&argv, &watched, started);
        if context.recorder.record(record).await.is_err() {
            return lease_lost();
        }
    }
    let WatchedProcess { exited, process, failure, supervisor, confined, .. } = watched;
    let missing = confined.as_ref().and_then(|confined| {
        let network = confined.opening().network;
        let ran = Ran { argv: &argv, cwd: &cwd, root: host.workspace.root(), network };
        run_blocking(|| MissingAccess::of(&supervisor, &ran, &exited)).help_for_author()
    });
    let mut outcome = outcome(&host.redactor, &argv, exited, parse, request.timeout);
    if let Some(confined) = &confined {
        outcome.failure = outcome.failure.map(|failure| explained(failure, missing, confined));
    }
    if let Some(failure) = failure {
        outcome = failed(outcome, OutcomeKind::PolicyDenied, failure);
    }
    Outcome { process: Some(Box::new(process)), ..outcome }
}

fn spawn(
    host: &HostAccess,
    request: &Request,
    command: &CommandLine,
) -> Result<Spawn, Box<Failure>> {
    let argv = match command {
        CommandLine::Shell(script) => Spawn::script(script),
        CommandLine::Argv(words) => {
            refuse_computed_code(words.iter().map(|word| (word.text.as_str(), word.computed)))?;
            words.iter().map(|word| word.text.clone()).collect()
        }
    };
    let mut env = request.env.clone();
    env.extend(request.identity());
    Ok(Spawn {
        argv,
        own_program: matches!(command, CommandLine::Shell(_)),
        cwd: host.workspace.cwd(&request.cwd).map_err(|error| {
            let failure = error.failure();
            let message = format!("`cwd` of the step: {}", failure.message);
            Box::new(Failure { message, ..failure })
        })?,
        env,
        stdin: Vec::new(),
        timeout: request.timeout,
        idle: request.idle,
        max_stream: limits::STREAM_BYTES,
    })
}

fn outcome(
    redactor: &Redactor,
    argv: &[String],
    exited: ProcessResult,
    parse: OutputParse,
    timeout: Option<Duration>,
) -> Outcome {
    let base = Outcome {
        exit_code: exit_code(&exited.end),
        stdout: Some(exited.stdout.clone()),
        stderr: Some(exited.stderr.clone()),
        cut: [exited.stdout_cut, exited.stderr_cut],
        tails: tails(&exited),
        ..Outcome::ok(Json::Null)
    };
    if matches!(exited.end, ProcessEnd::Code(0)) {
        return match parsed(redactor, &exited, parse) {
            Ok(output) => Outcome { output: Some(output), ..base },
            Err(failure) => failed(base, OutcomeKind::ValidationFailed, *failure),
        };
    }
    let (kind, failure) = failure(redactor, argv, &exited, timeout);
    failed(base, kind, failure)
}

/// The last lines of the streams, if one exceeded the limit.
fn tails(exited: &ProcessResult) -> Option<Box<[String; 2]>> {
    let is_cut = exited.stdout_cut + exited.stderr_cut > 0;
    is_cut.then(|| Box::new([exited.stdout_tail.clone(), exited.stderr_tail.clone()]))
}

/// Adds how to set a variable that a script found unset. Scripts run with `bash -euo pipefail`.
fn unbound(failure: Failure, last_line: Option<&str>) -> Failure {
    let before = last_line.and_then(|line| line.strip_suffix(": unbound variable"));
    let name = before.and_then(|before| before.rsplit(' ').next());
    let is_name = |name: &&str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    match name.filter(is_name) {
        Some(name) => failure.help(format!(
            "set it with `env: {{{name}: …}}` in the step, or pass the variable of this shell on with \
             `env: {{pass: [{name}]}}` in the settings; `${{{name}:-}}` is empty if it is not set"
        )),
        None => failure,
    }
}

/// The outcome of a process that did not exit with 0.
fn failure(
    redactor: &Redactor,
    argv: &[String],
    exited: &ProcessResult,
    timeout: Option<Duration>,
) -> (OutcomeKind, Failure) {
    let failure = |code: Code, message: String| Failure::new(code, message);
    let output_suffix = || output_suffix(redactor, argv, &ends(exited));
    match &exited.end {
        ProcessEnd::Code(code) => (
            OutcomeKind::Exit(*code),
            unbound(
                failure(
                    Code::NON_ZERO_EXIT,
                    format!("exit code {code}{}{}", output_suffix(), failed_line(redactor, exited)),
                ),
                last_line(redactor, &ends(exited)).as_deref(),
            ),
        ),
        ProcessEnd::Signal(signal) => (
            OutcomeKind::Exit(128 + signal),
            failure(Code::NON_ZERO_EXIT, format!("killed by signal {signal}{}", output_suffix())),
        ),
        ProcessEnd::TimedOut => {
            // The same text as that of the engine, whose timer may expire first.
            let limit = format_duration(timeout.unwrap_or(exited.duration));
            let message = format!("the attempt took longer than {limit}");
            let failure = failure(Code::TIMED_OUT, message);
            (OutcomeKind::Timeout, failure.help("raise `timeout`, or split the step"))
        }
        ProcessEnd::Idle => {
            let message = "timed out: no output within the idle timeout".to_owned();
            let failure = failure(Code::TIMED_OUT, message);
            (OutcomeKind::Timeout, failure.help("raise `timeout: {idle: …}`"))
        }
        ProcessEnd::Cancelled => {
            (OutcomeKind::Cancelled, failure(Code::ATTEMPT_FAILED, "cancelled".to_owned()))
        }
        ProcessEnd::Lost => {
            let failure = failure(Code::WORKER_KILLED, ProcessEnd::LOST.to_owned());
            (OutcomeKind::Transient, failure.help(ProcessEnd::LOST_HELP))
        }
        ProcessEnd::NotStarted(reason) => {
            let program = argv.first().map_or("", String::as_str);
            let message = format!("`{program}` did not start: {reason}");
            let help = if program.contains('/') {
                format!("check the path; `chmod +x {program}` makes a file executable")
            } else {
                "check the name and that it is on PATH; `run` with a list takes no shell syntax"
                    .to_owned()
            };
            (OutcomeKind::ToolError, failure(Code::NOT_STARTED, message).help(help))
        }
    }
}

fn failed(base: Outcome, kind: OutcomeKind, failure: Failure) -> Outcome {
    Outcome { kind, output: None, failure: Some(failure), ..base }
}

fn exit_code(end: &ProcessEnd) -> Option<i32> {
    match end {
        ProcessEnd::Code(code) => Some(*code),
        ProcessEnd::Signal(signal) => Some(128 + signal),
        ProcessEnd::TimedOut
        | ProcessEnd::Idle
        | ProcessEnd::Cancelled
        | ProcessEnd::Lost
        | ProcessEnd::NotStarted(_) => None,
    }
}

fn parsed(
    redactor: &Redactor,
    exited: &ProcessResult,
    parse: OutputParse,
) -> Result<Json, Box<Failure>> {
    let text = exited.stdout.strip_suffix('\n').unwrap_or(&exited.stdout);
    let text = text.strip_suffix('\r').unwrap_or(text);
    if parse != OutputParse::Text && exited.stdout_cut > 0 {
        let kept = limits::STREAM_BYTES;
        let message = format!("stdout exceeds the limit of {kept} bytes, so it cannot be parsed");
        let failure = Failure::new(Code::BAD_OUTPUT, message);
        return Err(Box::new(failure.help("write large results to a file")));
    }
    match parse {
        OutputParse::Text => Ok(json!(text)),
        OutputParse::Lines if text.is_empty() => Ok(json!([])),
        OutputParse::Lines => Ok(text.lines().map(Json::from).collect()),
        OutputParse::Json if text.trim().is_empty() => {
            let message = "stdout is empty, and `parse: json` needs one JSON value".to_owned();
            let help = "print a JSON value to stdout, or remove `parse: json`";
            Err(Box::new(Failure::new(Code::BAD_OUTPUT, message).help(help)))
        }
        OutputParse::Json => serde_json::from_str(text).map_err(|error| {
            let start: String = redactor.mask_text(text).chars().take(80).collect();
            let message =
                format!("stdout is not one JSON value: {error}; it starts with `{start}`");
            let failure = Failure::new(Code::BAD_OUTPUT, message);
            Box::new(failure.help("print only JSON to stdout and everything else to stderr"))
        }),
    }
}

fn evidence(
    argv: &[String],
    WatchedProcess { exited, process, changes, .. }: &WatchedProcess,
    started: Timestamp,
) -> Record {
    let args = json!({"argv": argv});
    let status = match exited.end {
        ProcessEnd::Code(0) => InvocationStatus::Success,
        ProcessEnd::TimedOut | ProcessEnd::Idle => InvocationStatus::Timeout,
        ProcessEnd::Code(_)
        | ProcessEnd::Signal(_)
        | ProcessEnd::Cancelled
        | ProcessEnd::Lost
        | ProcessEnd::NotStarted(_) => InvocationStatus::Failed,
    };
    let invocation = Invocation {
        id: "run".to_owned(),
        tool: STEP_PROCESS.to_owned(),
        args_hash: Digest::of_json(&args),
        args,
        at: started,
        duration_ms: exited.duration.as_millis() as u64,
        purpose: Purpose::Execution,
        status,
        changes: changes.clone(),
        evidence: Vec::new(),
        process: Some(Box::new(process.clone())),
        output: None,
        bytes: exited.stdout.len() as u64 + exited.stdout_cut,
    };
    Record::ToolResult { turn: 0, invocation, result: Payload::inline(Json::Null) }
}
