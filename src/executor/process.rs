//! `run:` steps: a process of the author's, its output, and what it changed.

use crate::attempt::{CommandLine, Context, Outcome, Progress, Request};
use crate::clock;
use crate::definition::OutputParse;
use crate::definition::refuse_computed_code;
use crate::diagnostic::Code;
use crate::evidence::{Invocation, InvocationStatus, Payload, Purpose, Record};
use crate::process::{ProcessEnd, ProcessResult, Spawn};
use crate::redaction::Redactor;
use crate::tool::{ProcessTrace, Toolbox};
use crate::value::{Digest, Failure, Json, OutcomeKind, Timestamp, limits};
use crate::workspace::{WorkspaceChanges, WorkspaceWatch};
use serde_json::json;
use std::sync::Arc;

/// Runs it and makes its stdout the step's output.
pub(super) async fn run(
    toolbox: &Toolbox,
    request: &Request,
    command: &CommandLine,
    parse: OutputParse,
    context: &Context,
) -> Outcome {
    let spawn = match spawn(toolbox, request, command) {
        Ok(spawn) => spawn,
        Err(failure) => return Outcome::failed(OutcomeKind::PolicyDenied, *failure),
    };
    let argv = spawn.argv.clone();
    let trace = ProcessTrace::begin(&spawn, toolbox);
    let watch = match request.evidence {
        true => Some(WorkspaceWatch::begin(toolbox.workspace(), toolbox.redactor()).await),
        false => None,
    };
    let began = clock::now();
    let recorder = context.recorder.clone();
    let on_line =
        Arc::new(move |_, line: &str| recorder.progress(Progress::Output(line.to_owned())));
    let exited = toolbox.supervisor().run(spawn, &context.cancel, Some(on_line)).await;
    let process = trace.end(&exited);
    if let Some(watch) = watch {
        let record = evidence(&argv, &exited, &process, watch.end().await, began);
        if context.recorder.record(record).await.is_err() {
            return lease_lost();
        }
    }
    Outcome { process: Some(process), ..outcome(toolbox.redactor(), &argv, exited, parse) }
}

/// Another process owns the lease of the run, so this outcome is not recorded.
pub(super) fn lease_lost() -> Outcome {
    let failure =
        Failure::new(Code::ATTEMPT_FAILED.as_str(), "another process owns the lease of the run");
    Outcome::failed(OutcomeKind::Cancelled, failure)
}

fn spawn(
    toolbox: &Toolbox,
    request: &Request,
    command: &CommandLine,
) -> Result<Spawn, Box<Failure>> {
    let argv = match command {
        CommandLine::Shell(script) => {
            ["bash", "-euo", "pipefail", "-c", script].map(str::to_owned).to_vec()
        }
        CommandLine::Argv(words) => {
            refuse_computed_code(words.iter().map(|word| (word.text.as_str(), word.computed)))?;
            words.iter().map(|word| word.text.clone()).collect()
        }
    };
    let mut env = request.env.clone();
    env.extend(request.identity());
    Ok(Spawn {
        argv,
        cwd: toolbox.workspace().cwd(&request.cwd).map_err(|error| Box::new(error.failure()))?,
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
) -> Outcome {
    let base = Outcome {
        exit_code: exit_code(&exited.end),
        stdout: Some(exited.stdout.clone()),
        stderr: Some(exited.stderr.clone()),
        cut: [exited.stdout_cut, exited.stderr_cut],
        ..Outcome::ok(Json::Null)
    };
    match &exited.end {
        ProcessEnd::Code(0) => match parsed(redactor, &exited, parse) {
            Ok(output) => Outcome { output: Some(output), ..base },
            Err(failure) => failed(base, OutcomeKind::ValidationFailed, *failure),
        },
        ProcessEnd::Code(code) => {
            let failure = Failure::new(
                Code::NON_ZERO_EXIT.as_str(),
                format!("exit code {code}{}", and_last_words(redactor, &exited)),
            );
            failed(base, OutcomeKind::Exit(*code), failure)
        }
        ProcessEnd::Signal(signal) => {
            let failure = Failure::new(
                Code::NON_ZERO_EXIT.as_str(),
                format!("killed by signal {signal}{}", and_last_words(redactor, &exited)),
            );
            failed(base, OutcomeKind::Exit(128 + signal), failure)
        }
        ProcessEnd::TimedOut => {
            let took = crate::value::format_duration(exited.duration);
            let failure = Failure::new(
                Code::TIMED_OUT.as_str(),
                format!("stopped after {took}: its time was up"),
            )
            .help("raise `timeout`, or split the step");
            failed(base, OutcomeKind::Timeout, failure)
        }
        ProcessEnd::Idle => {
            let failure =
                Failure::new(Code::TIMED_OUT.as_str(), "stopped: it was silent for too long")
                    .help("raise `timeout: {idle: …}`");
            failed(base, OutcomeKind::Timeout, failure)
        }
        ProcessEnd::Cancelled => failed(
            base,
            OutcomeKind::Cancelled,
            Failure::new(Code::ATTEMPT_FAILED.as_str(), "cancelled"),
        ),
        ProcessEnd::Lost => failed(
            base,
            OutcomeKind::Transient,
            Failure::new(Code::WORKER_KILLED.as_str(), ProcessEnd::LOST)
                .help(ProcessEnd::LOST_HELP),
        ),
        ProcessEnd::NotStarted(reason) => {
            let program = argv.first().map_or("", String::as_str);
            let failure = Failure::new(
                Code::NOT_STARTED.as_str(),
                format!("`{program}` did not start: {reason}"),
            )
            .help(
                "check the name and that it is on PATH; `run:` with a list takes no shell syntax",
            );
            failed(base, OutcomeKind::ToolError, failure)
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
        _ => None,
    }
}

/// Where it wrote any, behind a colon.
fn and_last_words(redactor: &Redactor, exited: &ProcessResult) -> String {
    last_words(redactor, exited).map_or(String::new(), |words| format!(": {words}"))
}

/// The last line that it wrote to stderr, else to stdout: most programs say there what went wrong.
pub(super) fn last_words(redactor: &Redactor, exited: &ProcessResult) -> Option<String> {
    let last = |text: &str| {
        let line = text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
        // Masked before it is cut, and it may have been cut before.
        Some(redactor.mask_cut_text(line).chars().take(200).collect())
    };
    last(&exited.stderr).or_else(|| last(&exited.stdout))
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
        let message =
            format!("stdout is longer than the {kept} bytes that are kept, so it cannot be parsed");
        let failure = Failure::new(Code::BAD_OUTPUT.as_str(), message);
        return Err(Box::new(failure.help("write large results to a file")));
    }
    match parse {
        OutputParse::Text => Ok(json!(text)),
        OutputParse::Lines if text.is_empty() => Ok(json!([])),
        OutputParse::Lines => Ok(text.lines().map(Json::from).collect()),
        OutputParse::Json => serde_json::from_str(text).map_err(|error| {
            let start: String = redactor.mask_text(text).chars().take(80).collect();
            let message =
                format!("stdout is not one JSON value: {error}; it begins with `{start}`");
            let failure = Failure::new(Code::BAD_OUTPUT.as_str(), message);
            Box::new(failure.help("print JSON alone to stdout and everything else to stderr"))
        }),
    }
}

fn evidence(
    argv: &[String],
    exited: &ProcessResult,
    process: &Json,
    watched: WorkspaceChanges,
    began: Timestamp,
) -> Record {
    let args = json!({"argv": argv});
    let status = match exited.end {
        ProcessEnd::Code(0) => InvocationStatus::Success,
        ProcessEnd::TimedOut | ProcessEnd::Idle => InvocationStatus::Timeout,
        _ => InvocationStatus::Failed,
    };
    let mut process = process.clone();
    watched.mark(&mut process);
    let invocation = Invocation {
        id: "run".to_owned(),
        tool: "run".to_owned(),
        args_hash: Digest::of_json(&args),
        args,
        at: began,
        duration_ms: exited.duration.as_millis() as u64,
        purpose: Purpose::Execution,
        status,
        changes: watched.changes,
        evidence: Vec::new(),
        process: Some(process),
        bytes: exited.stdout.len() as u64 + exited.stdout_cut,
    };
    Record::ToolResult { turn: 0, invocation, result: Payload::inline(Json::Null) }
}
